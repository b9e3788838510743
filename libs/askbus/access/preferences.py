"""What people say of themselves: the language in which values are shown to them, and where they are."""

from collections.abc import Callable, Mapping
from uuid import UUID

from askbus.access.locales import known_locale
from askbus.access.model import Principal
from askbus.access.zones import known_zone
from askbus.db.statements import Executor, Statement
from askbus.errors import InvalidInput, PermissionDenied

SET_OWN = Statement("askbus.access", "sql/set_own.sql")
SET_USER_LOCALE = Statement("askbus.access", "sql/set_user_locale.sql")


async def set_user_locale(db: Executor, user_id: UUID, locale: str | None) -> None:
    """The language in which values are shown to somebody; None leaves it to the deployment. Raises InvalidInput for what is none."""
    await SET_USER_LOCALE.run(db, id=user_id, locale=_known(known_locale, locale))


async def set_own(db: Executor, principal: Principal, said: Mapping[str, str | None]) -> None:
    """What somebody says of themselves: `locale`, `time_zone`, or both; None takes it back, what is missing stays.

    Raises InvalidInput for what is no language or time zone, PermissionDenied for those who change nothing.
    """
    if principal.demo:
        raise PermissionDenied("You see everything here and change nothing.")
    await SET_OWN.run(
        db,
        id=principal.user_id,
        says_locale="locale" in said,
        locale=_known(known_locale, said.get("locale")),
        says_time_zone="time_zone" in said,
        time_zone=_known(known_zone, said.get("time_zone")),
    )


def _known(check: Callable[[str], str], name: str | None) -> str | None:
    try:
        return name and check(name)
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None
