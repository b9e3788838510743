"""Apps to test with: registered by themselves, allowed something by somebody, with tokens to show."""

from dataclasses import dataclass
from uuid import UUID

from askbus.access.credentials import new_secret
from askbus.access.model import Scope
from askbus.db.statements import Executor
from askbus.oauth import verbs
from askbus.oauth.model import GRANTABLE, AuthMethod, Client, Issued, challenge_of
from askbus.testing.people import Person

RESOURCE = "http://localhost/mcp"
"""The audience, as the gateways of tests are configured."""

CALLBACK = "http://127.0.0.1/callback"


@dataclass(frozen=True)
class App:
    """An app, with its secret where it has one."""

    client: Client
    secret: str | None


async def register_app(
    db: Executor, name: str = "Claude Code", *, redirect_uris: tuple[str, ...] = (CALLBACK,), method: AuthMethod = AuthMethod.NONE
) -> App:
    """As if it had registered itself."""
    made = await verbs.register(db, name=name, redirect_uris=redirect_uris, auth_method=method, refreshes=True)
    assert made is not None
    return App(*made)


@dataclass(frozen=True)
class Code:
    """A code that a person's consent made, and the verifier of its challenge."""

    code: str
    verifier: str

    @property
    def challenge(self) -> str:
        challenge = challenge_of(self.verifier)
        assert challenge is not None
        return challenge


async def consent(
    db: Executor,
    person: Person,
    client: Client,
    *,
    scopes: tuple[Scope, ...] = GRANTABLE,
    projects: tuple[UUID, ...] | None = None,
    resource: str = RESOURCE,
) -> Code:
    """The person allows the app what it asked for; without projects, the whole workspace."""
    verifier = new_secret()
    challenge = challenge_of(verifier)
    assert challenge is not None
    ticket = await verbs.begin(
        db,
        person.principal,
        client,
        redirect_uri=client.redirect_uris[0],
        code_challenge=challenge,
        resource=resource,
        state="state",
        scopes=scopes,
    )
    allowed = await verbs.allow(db, person.principal, ticket, scopes, projects)
    assert allowed is not None
    return Code(allowed[1], verifier)


async def connect(
    db: Executor,
    person: Person,
    client: Client,
    *,
    scopes: tuple[Scope, ...] = GRANTABLE,
    projects: tuple[UUID, ...] | None = None,
    resource: str = RESOURCE,
) -> Issued:
    """The same, and the app fetches its tokens."""
    code = await consent(db, person, client, scopes=scopes, projects=projects, resource=resource)
    return await verbs.redeem(db, client, code.code, challenge=code.challenge, redirect_uri=None, resource=None)
