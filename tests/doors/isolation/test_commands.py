"""The table of commands, tried: sent to their owners over NATS as the gateway sends them, with ids that are real and made up."""

from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from tests.doors.isolation.commands import CALLERS_OF_COMMANDS, COMMANDS
from tests.doors.isolation.furnished import Furnished
from tests.doors.isolation.table import Got, Row, filled, problems

from askbus.access import verbs as access
from askbus.access.model import Principal, Role
from askbus.bus.accounts import VERBS
from askbus.bus.commands import Commands
from askbus.bus.connection import connect
from askbus.bus.envelope import Command, Service
from askbus.errors import AskbusError
from askbus.testing.people import hire

PATIENT = 20
"""Seconds."""


def commands_below(kind: type[Command[Any]]) -> Iterator[type[Command[Any]]]:
    for one in kind.__subclasses__():
        yield one
        yield from commands_below(one)


ANSWERED = {verb for verbs in VERBS.values() for verb in verbs}
KINDS = {
    kind.__name__: kind for kind in commands_below(Command) if kind.__module__.startswith("askbus.") and kind.__name__ in ANSWERED
}


@pytest.fixture
async def gateway(bus: str) -> AsyncIterator[Commands]:
    """Where the gateway sends from."""
    nc = await connect(bus, Service.GATEWAY.value)
    yield Commands(nc, PATIENT)
    await nc.close()


@pytest.fixture
async def principals(furnished: Furnished) -> Mapping[str, Principal]:
    """Everybody, as the gateway had them before some went away."""
    company, pool = furnished.company, furnished.pool
    known = {name: who.principal for name, who in furnished.callers.items()}
    for name in ("left", "gone"):
        person = await hire(pool, company.workspace_id, name, Role.MEMBER, projects=(company.north,))
        known[name] = person.principal
        await access.remove_from_project(pool, company.workspace_id, company.north, person.id)
    await pool.execute("DELETE FROM memberships WHERE user_id = $1", known["gone"].user_id)
    return known


async def sent(gateway: Commands, principals: Mapping[str, Principal], caller: str, row: Row, ids: Mapping[str, str]) -> Got:
    """The row's command, in this caller's name."""
    said = {"command_id": str(uuid4()), "by": principals[caller].model_dump(mode="json"), **filled(row.body, ids)}
    command = KINDS[row.name].model_validate(said)
    try:
        return Got(None, (await gateway.ask(command)).model_dump_json())
    except AskbusError as error:
        return Got(error.code, error.body().model_dump_json())


@pytest.mark.requirement("I6", "I3", "I4")
async def test_no_owner_answers_whoever_it_is_not_for(
    furnished: Furnished, gateway: Commands, principals: Mapping[str, Principal]
) -> None:
    """Cell by cell, every command that there is: the owner itself refuses, as if nothing were there, whatever the gateway let through."""
    assert ANSWERED == KINDS.keys() == {row.name for row in COMMANDS}, "each command has a row, and each row a command"
    send = partial(sent, gateway, principals)
    wrong = [one for row in COMMANDS for one in await problems(furnished, CALLERS_OF_COMMANDS, row, send, shown=False)]
    assert not wrong, "\n".join(wrong)
