"""The first owner signs in by a one-time link, the operator lets a second person in, and an agent gets a token."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from pydantic import BaseModel

from askbus.access.model import Role, Scope
from askbus.cli.first_start import first_owner
from askbus.demo.browser import Browser, code_of
from askbus.demo.ground import Ground
from askbus.demo.transcript import NotSo, brief

MIA = "mia@kestrel.example"


class NewToken(BaseModel):
    """What the gateway says of a token that was just made, as far as the demo needs it."""

    secret: str


@dataclass(frozen=True)
class Cast:
    """Who plays: two people in their browsers, and the token of an agent that acts for the owner."""

    owner: Browser
    mia: Browser
    token: str
    project: UUID


@asynccontextmanager
async def signed_in_owner(ground: Ground) -> AsyncIterator[tuple[Browser, UUID]]:
    """The first owner's browser, and the project there is."""
    t = ground.transcript
    link = await first_owner(ground.stack.database_url, ground.stack.http_url)
    if link is None:
        raise NotSo("a new installation has no sign-in link")
    async with Browser(ground.stack.http_url, "Owner") as owner:
        t.said("Owner", f"opens {link.partition('=')[0]}=…, which `askbus up` prints at the first start")
        me = await owner.sign_in(link)
        t.holds(me.principal.role is Role.OWNER, f"signed in as {me.email}, owner of “{me.workspace}”")
        status = await owner.status("POST", "/v1/session", code=code_of(link))
        t.holds(status == 401, f"the same link a second time: {status}, it worked once")
        yield owner, me.projects[0].id


@asynccontextmanager
async def arrive(ground: Ground) -> AsyncIterator[Cast]:
    """Everybody is here inside."""
    async with AsyncExitStack() as open_browsers:
        owner, project = await open_browsers.enter_async_context(signed_in_owner(ground))
        mia = await open_browsers.enter_async_context(Browser(ground.stack.http_url, "Mia"))
        await _let_in(ground, mia, project)
        yield Cast(owner, mia, await _make_token(ground, owner, project), project)


async def _let_in(ground: Ground, mia: Browser, project: UUID) -> None:
    t = ground.transcript
    await ground.command("admin", "user", "create", MIA, "Mia Brandt")
    await ground.command("admin", "member", "set", "My team", MIA, Role.MEMBER.value)
    await ground.command("admin", "project", "add", "Main", MIA, "--workspace", "My team")
    link = await ground.command("admin", "login-link", MIA, "--workspace", "My team")
    me = await mia.sign_in(link)
    t.said("Mia", "signs in by her own link")
    sees = [one.id for one in me.projects]
    t.holds(
        (me.principal.role, sees) == (Role.MEMBER, [project]), f"{me.name} is a member and sees project “{me.projects[0].name}”"
    )


async def _make_token(ground: Ground, owner: Browser, project: UUID) -> str:
    t = ground.transcript
    made = await owner.post(
        "/v1/tokens", NewToken, name="nightly import", scopes=[Scope.QUESTIONS_ASK.value], projects=[str(project)]
    )
    t.said("Owner", f"makes a token “nightly import” for an agent: it may ask questions in project {brief(project)}")
    async with Browser(ground.stack.http_url, "agent", token=made.secret) as agent:
        status = await agent.status("POST", "/v1/threads", project_id=str(project))
        t.holds(status == 403, f"and nothing else: it may not even begin a chat ({status})")
    return made.secret
