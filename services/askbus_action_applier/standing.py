"""Standing approvals: made by people, and looked at once for each proposal, when it is stored and everybody can see it pending."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import structlog
from pydantic import JsonValue, ValidationError

from askbus.access.model import Principal, Role
from askbus.approvals import reads, verbs
from askbus.approvals.cover import Cover, FieldCover, FieldWish, Wish
from askbus.approvals.model import Approval, MakeApproval, RevokeApproval
from askbus.bus.fact import Fact
from askbus.db.pool import Pool
from askbus.errors import InvalidInput
from askbus.records.authorize import authorize
from askbus.records.changes import Change
from askbus.records.schema import Column, Schema
from askbus.records.values import Unsuitable, to_text
from askbus.runtime import crash
from askbus.runtime.telemetry import traceparent
from askbus_action_applier.target import Target

log = structlog.get_logger()


class Standing:
    """`longest_days`: how long an approval may last here; 0: none is made, and none that was made before confirms anything."""

    def __init__(self, pool: Pool, target: Target, confirm_role: Role, longest_days: int) -> None:
        self.pool = pool
        self.target = target
        self.confirm_role = confirm_role
        self.longest_days = longest_days

    async def on_make_approval(self, command: MakeApproval) -> Approval:
        """What it is to cover is checked against the live schema, with the rights of whoever makes it."""
        verbs.require_person(command.by)
        verbs.require_allowed(command, self.longest_days)
        schema = await self.target.within(command.terms.project_id).schema(look=True)
        cover = cover_of(command.terms.allow, command.by, schema)
        crash.point("applier.make_approval.before_commit")
        approval = await verbs.make(self.pool, command, cover, trace=traceparent(), confirm_role=self.confirm_role)
        crash.point("applier.make_approval.after_commit")
        return approval

    async def on_revoke_approval(self, command: RevokeApproval) -> Approval:
        return await verbs.revoke(self.pool, command, trace=traceparent())

    async def on_action_proposed(self, fact: Fact) -> None:
        """Whoever watches has been told that it is pending; nothing is confirmed before that."""
        await self.weigh(fact.entity_id)

    async def weigh(self, action_id: UUID) -> None:
        """Confirms the action by the oldest standing approval that covers it and may be used; where none may, it waits for people.

        What is confirmed is applied like anything else. Safe to call twice: an action is weighed once.
        """
        if self.longest_days == 0:
            return
        candidates = await reads.candidates(self.pool, action_id)
        if not candidates:
            return
        _ = self.target.records  # without a database nothing could be applied, so nothing is confirmed
        crash.point("applier.weigh.before_commit")
        for candidate in candidates:
            if candidate.holds and await self._confirm(action_id, candidate):
                log.info("action.confirmed", action_id=str(action_id), approval_id=str(candidate.id))
                break
        else:
            await verbs.weighed(self.pool, action_id)
        crash.point("applier.weigh.after_commit")

    async def end(self, action_id: UUID) -> None:
        """It was tried several times: the action waits for people from now on."""
        log.error("action.not_weighed", action_id=str(action_id))
        await verbs.weighed(self.pool, action_id)

    async def _confirm(self, action_id: UUID, candidate: reads.Candidate) -> bool:
        return await verbs.confirm(
            self.pool, action_id, candidate.id, candidate.digest, trace=traceparent(), confirm_role=self.confirm_role
        )


@dataclass(frozen=True)
class _Write:
    """What would be written, for the permission seam."""

    kind: Change
    collection: str
    fields: tuple[str, ...]


def cover_of(wish: Wish, by: Principal, schema: Schema) -> Cover:
    """The wish with its names and values as the database has them.

    Raises PermissionDenied and NotFound for what this person may not change themselves, InvalidInput for a limit that cannot be one.
    """
    kinds = tuple(sorted(wish.kinds))
    for kind in kinds:
        authorize(by, _Write(kind, wish.collection, tuple(each.field for each in wish.fields)), schema)
    collection = schema.collection(wish.collection)
    fields = tuple(_field(each, collection.column(each.field)) for each in wish.fields)
    return Cover(collection=collection.name, kinds=kinds, fields=fields, most_records=wish.most_records)


def _field(wish: FieldWish, column: Column) -> FieldCover:
    try:
        return FieldCover(
            field=column.name,
            kind=column.kind,
            values=None if wish.values is None else tuple(_texts(wish.values, column)),
            minimum=to_text(wish.minimum, column),
            maximum=to_text(wish.maximum, column),
        )
    except Unsuitable as error:
        raise _refused(wish.field, str(error)) from None
    except ValidationError as error:
        raise _refused(wish.field, "; ".join(problem["msg"] for problem in error.errors())) from None


def _texts(values: Iterable[JsonValue], column: Column) -> Iterable[str | None]:
    return (to_text(value, column) for value in values)


def _refused(field: str, why: str) -> InvalidInput:
    return InvalidInput(f"No standing approval was made. {field}: {why}.", {"errors": [{"field": field, "problem": why}]})
