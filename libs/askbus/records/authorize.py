"""The one permission seam of every write: asked when a change is proposed, and again when it is applied or undone."""

from typing import Protocol

from askbus.access.model import Principal, Role
from askbus.errors import PermissionDenied
from askbus.records.changes import Change
from askbus.records.schema import Schema


class Write(Protocol):
    """What a write touches: an operation as proposed, or as prepared."""

    @property
    def kind(self) -> Change: ...
    @property
    def collection(self) -> str: ...
    @property
    def fields(self) -> tuple[str, ...]: ...


def require_writer(principal: Principal) -> None:
    """Raises PermissionDenied for those who may change nothing at all."""
    if principal.demo or principal.role is Role.VIEWER:
        raise PermissionDenied("Your role can look at records and change nothing. An admin of the workspace can change that.")


def authorize(principal: Principal, operation: Write, schema: Schema) -> None:
    """Lets it pass, or raises: PermissionDenied for the role, the collection or a field; NotFound for names that do not exist.

    System catalogues and askbus's own tables are not in `schema` at all; the deny list and the collections that are never
    written are marked in it.
    """
    require_writer(principal)
    collection = schema.collection(operation.collection)
    if collection.read_only:
        raise PermissionDenied(f"{collection.read_only}.", {"collection": collection.name})
    creating = operation.kind is Change.CREATE
    if not (collection.insertable if creating else collection.updatable):
        raise PermissionDenied(
            f"Records of {collection.name} cannot be {operation.kind.value}d.", {"collection": collection.name}
        )
    for name in operation.fields:
        column = collection.column(name)
        if column.never_written:
            raise PermissionDenied(
                f"{name!r} of {collection.name} is never changed here: the deployment lists it.",
                {"collection": collection.name, "field": name},
            )
        if column.computed:
            raise PermissionDenied(
                f"The database itself fills {name!r} of {collection.name}; leave it out.",
                {"collection": collection.name, "field": name},
            )
        if not (column.may_insert if creating else column.may_update):
            raise PermissionDenied(
                f"The database does not let askbus write {name!r} of {collection.name}.",
                {"collection": collection.name, "field": name},
            )
