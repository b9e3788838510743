"""/oauth/authorize and /oauth/consent: an app brings a person here, and they say what it may do.

Until the app and its redirect URI are known, what is wrong is shown to the person and told to nobody. Afterwards the app is told, with the
issuer's name on every answer (RFC 9207); to an address on the Internet the person goes by their own click, as anybody may register one.
"""

from urllib.parse import quote
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from askbus.access import reads as access
from askbus.access.model import Principal, Scope
from askbus.errors import AskbusError, NotFound
from askbus.oauth import reads, verbs
from askbus.oauth.model import GRANTABLE, Client, asked_scopes, is_challenge, runs_workspace
from askbus.oauth.redirects import is_local, matches, with_answer
from askbus_gateway.http.gate import Endpoint, Gate, is_ours, refusal_of
from askbus_gateway.oauth import page
from askbus_gateway.oauth.addresses import AUTHORIZE, CONSENT, NEEDS_HTTPS, Addresses
from askbus_gateway.oauth.clients import Clients
from askbus_gateway.oauth.doors import FORM, MOST_FIELDS, OAuthError, fields, once, posted

LONGEST_QUERY = 8000
LONGEST_STATE = 2000
MOST_PROJECTS = 100

GONE = "This page is too old, was answered already, or was opened by somebody else. Go back to the app and connect again."
SIGN_IN = "/?return_to="


class Refused(Exception):
    """The app is told, at its redirect URI: `error` is a code of RFC 6749, section 4.1.2.1, or of an extension."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


class Authorize:
    """The routes that a browser goes through."""

    def __init__(self, addresses: Addresses, gate: Gate, clients: Clients) -> None:
        self.addresses = addresses
        self.gate = gate
        self.clients = clients

    def routes(self) -> list[Route]:
        return [
            Route(AUTHORIZE, self._shown(self.authorize), methods=["GET"]),
            Route(CONSENT, self._shown(self.decide), methods=["POST"]),
        ]

    def _shown(self, endpoint: Endpoint) -> Endpoint:
        """What an endpoint raises, on a page."""

        async def shown(request: Request) -> Response:
            try:
                if not self.addresses.served:
                    return page.trouble(NEEDS_HTTPS, 503)
                return await endpoint(request)
            except OAuthError as error:
                return page.trouble(error.why, 400 if error.status == 401 else error.status)
            except AskbusError as error:
                return page.trouble(error.message, error.http_status)
            except Exception as error:  # noqa: BLE001  # the last resort of this door
                response = refusal_of(error, request)
                return page.trouble("Something went wrong on our side. Try again.", response.status_code)

        return shown

    async def _person(self, request: Request) -> Principal | None:
        """Who sits at this browser: its cookie says so, and no token can."""
        cookie = request.cookies.get(self.gate.cookie)
        return None if cookie is None else await access.principal_of_session(self.gate.pool, cookie)

    async def authorize(self, request: Request) -> Response:
        query = request.url.query
        if len(query) > LONGEST_QUERY:
            raise OAuthError("invalid_request", "The app sent more than fits into an address.", 414)
        by = await self._person(request)
        if by is None:
            return _to(SIGN_IN + quote(f"{AUTHORIZE}?{query}", safe=""))
        said = once(fields(query))
        if len(said.get("state", "")) > LONGEST_STATE:
            raise OAuthError("invalid_request", f"The app's state has more than {LONGEST_STATE} characters.")
        client = await self.clients.named(_needed(said, "client_id"), by)
        redirect_uri = _redirect_uri(client, said)
        try:
            return await self._ask(by, client, redirect_uri, said)
        except Refused as error:
            back = self._answer(redirect_uri, said.get("state"), error=error.error, error_description=str(error))
            return _to(back) if is_local(redirect_uri) else page.trouble(str(error), back=back)

    async def _ask(self, by: Principal, client: Client, redirect_uri: str, said: dict[str, str]) -> Response:
        challenge = self._check(said)
        if by.demo:
            raise Refused("access_denied", "This is a demo account: it can look at everything and connect nothing.")
        if not await reads.mcp_is_on(self.gate.pool, by.workspace_id):
            raise Refused("access_denied", reads.mcp_is_off().message)
        words = said.get("scope", "").split()
        scopes = asked_scopes(said.get("scope"))
        allowed = [scope for scope in scopes if by.may(scope)]
        if not scopes:
            raise Refused("invalid_scope", "None of the scopes that the app asks for exist here.")
        if not allowed:
            raise Refused("access_denied", "Your role in this workspace allows none of what the app asks for.")
        me = await access.me(self.gate.pool, by)
        if not me.projects:
            raise Refused("access_denied", "You are in no project of this workspace, so there is nothing to connect.")
        ticket = await verbs.begin(
            self.gate.pool,
            by,
            client,
            redirect_uri=redirect_uri,
            code_challenge=challenge,
            resource=self.addresses.resource,
            state=said.get("state"),
            scopes=allowed,
        )
        asked = page.Request(
            client=client,
            redirect_uri=redirect_uri,
            me=me,
            scopes=allowed,
            denied=[scope for scope in scopes if scope not in allowed],
            ticket=ticket,
            foreign=sorted(word for word in set(words) & set(Scope) if Scope(word) not in GRANTABLE),
        )
        return page.consent(asked)

    def _check(self, said: dict[str, str]) -> str:
        """The challenge of a request that is in order."""
        if said.get("response_type") != "code":
            raise Refused("unsupported_response_type", "The app must ask for response_type=code.")
        if said.get("response_mode", "query") != "query":
            raise Refused("invalid_request", "The app must take the answer in the query.")
        challenge = said.get("code_challenge", "")
        if said.get("code_challenge_method") != "S256" or not is_challenge(challenge):
            raise Refused("invalid_request", "The app must use PKCE: a code_challenge with code_challenge_method=S256.")
        if said.get("resource", self.addresses.resource) != self.addresses.resource:
            raise Refused("invalid_target", f"The app asks for another resource than {self.addresses.resource}.")
        return challenge

    async def decide(self, request: Request) -> Response:
        """The person's answer: from our own page, in the session that it was shown to, once."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
            raise OAuthError("invalid_request", "This is no answer of our page.", 415)
        origin = request.headers.get("origin")
        if origin is not None and not is_ours(origin, request.headers.get("host")):
            raise OAuthError("access_denied", "Requests from pages of another origin are refused.", 403)
        if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            raise OAuthError("access_denied", "Requests from pages of another origin are refused.", 403)
        sent = await posted(request, MOST_PROJECTS + MOST_FIELDS)
        said = once([(name, value) for name, value in sent if name not in {"scope", "project"}])
        by = await self._person(request)
        ticket = _needed(said, "ticket")
        asked = None if by is None else await reads.asked(self.gate.pool, by, ticket)
        if by is None or asked is None:
            raise NotFound(GONE)
        if said.get("decision") != "allow":
            return await self._deny(by, ticket)
        return await self._allow(by, ticket, asked, sent, said.get("where"))

    async def _deny(self, by: Principal, ticket: str) -> Response:
        denied = await verbs.deny(self.gate.pool, by, ticket)
        if denied is None:
            raise NotFound(GONE)
        redirect_uri, state = denied
        why = "The person did not allow it."
        return _to(self._answer(redirect_uri, state, error="access_denied", error_description=why))

    async def _allow(
        self, by: Principal, ticket: str, asked: reads.Asked, sent: list[tuple[str, str]], where: str | None
    ) -> Response:
        scopes = [scope for scope in asked.scopes if ("scope", scope.value) in sent and by.may(scope)]
        projects = _projects(sent)
        whole = where == "workspace" and runs_workspace(by)
        problem = None
        if len(scopes) < len({value for name, value in sent if name == "scope"}):
            raise OAuthError("invalid_scope", GONE)
        if not scopes:
            problem = "Tick at least one thing that the app may do, or do not allow it."
        elif not whole and not projects:
            problem = "Choose where the app may work."
        elif not whole and len(projects) > MOST_PROJECTS:
            problem = f"Choose at most {MOST_PROJECTS} projects."
        if problem is not None:
            shown = page.Request(
                client=asked.client,
                redirect_uri=asked.redirect_uri,
                me=await access.me(self.gate.pool, by),
                scopes=[scope for scope in asked.scopes if by.may(scope)],
                denied=(),
                ticket=ticket,
                ticked=scopes,
                chosen=projects,
                whole=whole,
                problem=problem,
            )
            return page.consent(shown)
        allowed = await verbs.allow(self.gate.pool, by, ticket, scopes, None if whole else projects)
        if allowed is None:
            raise NotFound(GONE)
        redirect_uri, code, state = allowed
        return _to(self._answer(redirect_uri, state, code=code))

    def _answer(self, redirect_uri: str, state: str | None, **said: str) -> str:
        return with_answer(redirect_uri, {**said, "state": state, "iss": self.addresses.issuer})


def _to(address: str) -> Response:
    return RedirectResponse(address, 303, headers=page.ON_THE_WAY)


def _needed(said: dict[str, str], name: str) -> str:
    if name not in said:
        raise OAuthError("invalid_request", f"The app did not send what it must: {name}.")
    return said[name]


def _redirect_uri(client: Client, said: dict[str, str]) -> str:
    """Where the app wants the person back. Raises OAuthError where it did not register that: nobody is sent anywhere then."""
    asked = said.get("redirect_uri")
    if asked is None and len(client.redirect_uris) == 1:
        return client.redirect_uris[0]
    if asked is None or not any(matches(registered, asked) for registered in client.redirect_uris):
        raise OAuthError("invalid_request", "The app wants you back at an address that it did not register.")
    return asked


def _projects(sent: list[tuple[str, str]]) -> list[UUID]:
    values = [value for name, value in sent if name == "project"]
    try:
        return list(dict.fromkeys(UUID(value) for value in values))
    except ValueError:
        raise NotFound(GONE) from None
