"""Each user of NATS at each subject that any of them has: let through where its own permissions say so, refused everywhere else."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from tests.bus.test_permissions import EVERY_SUBSCRIPTION, EVERYTHING_ELSE, trying

from askbus.bus.accounts import Permissions, agent_permissions, permissions
from askbus.bus.callout import Callout, Known
from askbus.bus.envelope import Service
from askbus.runtime.secrets import callout_seed
from askbus.testing.bus import Bus
from askbus.testing.servers import SECRET

pytestmark = pytest.mark.requirement("I7")

AGENTS = {f"token-{n}": UUID(f"0199a0e0-0000-7000-8000-00000000000{n}") for n in (1, 2)}
USERS: dict[str, Permissions] = {
    **{service.value: permissions(service) for service in Service},
    **{token: agent_permissions(str(agent)) for token, agent in AGENTS.items()},
}
"""Every service, and two agents by their tokens."""


def one_of(pattern: str) -> str:
    """A subject that the pattern stands for."""
    return pattern.replace("*", "1").replace(">", "1.1")


def covers(pattern: str, subject: str) -> bool:
    """Whether the pattern stands for the subject, or for all that another pattern does (NATS, subject-based messaging)."""
    wanted, given = pattern.split("."), subject.split(".")
    for place, token in enumerate(wanted):
        if token == ">":
            return len(given) > place
        if place >= len(given) or given[place] == ">" or (token != "*" and token != given[place]):
            return False
    return len(wanted) == len(given)


PUBLISHED = sorted({*EVERYTHING_ELSE, *(one_of(pattern) for user in USERS.values() for pattern in user.publish)})
HEARD = sorted({*EVERY_SUBSCRIPTION, *(pattern for user in USERS.values() for pattern in user.subscribe)})


@pytest.fixture
async def gateway(guarded: Bus) -> AsyncIterator[Callout]:
    """A gateway that knows the two agents."""

    async def authenticate(token: str) -> Known | None:
        return Known(AGENTS[token]) if token in AGENTS else None

    callout = Callout(await guarded.connect(Service.GATEWAY), callout_seed(SECRET), authenticate)
    await callout.start()
    yield callout
    await callout.stop()


@pytest.mark.usefixtures("gateway")
async def test_each_user_reaches_its_own_subjects_and_none_of_the_others(guarded: Bus) -> None:
    """All pairs, tried on a server with a deployment's accounts; neither of two agents reaches the other's."""
    assert len(PUBLISHED) > 100
    assert len(HEARD) > 60
    for user, own in USERS.items():
        if user in AGENTS:
            url, inbox, token = guarded.server.url, f"agent.{AGENTS[user]}", user
        else:
            url, inbox, token = guarded.url(user), user, None
        async with trying(url, inbox, token) as tried:
            published = await tried.publish(PUBLISHED)
            assert published == {one for one in PUBLISHED if any(covers(pattern, one) for pattern in own.publish)}, user
            heard = await tried.subscribe(HEARD)
            assert heard == {one for one in HEARD if any(covers(pattern, one) for pattern in own.subscribe)}, user
