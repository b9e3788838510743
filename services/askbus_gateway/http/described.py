"""A route with what is said of it in the served OpenAPI document: what it takes, what it answers and whom it refuses."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel
from starlette.routing import Route

from askbus.access.model import Scope
from askbus.errors import (
    AskbusError,
    Conflict,
    Internal,
    InvalidInput,
    NotFound,
    PermissionDenied,
    RateLimited,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from askbus.incoming import LARGEST_BODY
from askbus_gateway.http.gate import SAFE_METHODS, guarded

_SAID: Final = "askbus_said"
"""The attribute under which an endpoint keeps what is said of it."""
_PARAMETER: Final = re.compile(r"\(\?P<(\w+)>[^)]*\)")
"""A parameter of the path in Starlette's pattern."""


class Caller(Enum):
    """Who is let in at all."""

    KNOWN = auto()
    """A session or a token."""
    PERSON = auto()
    """A session: somebody is present."""
    ANYBODY = auto()
    """Also those who have no credentials yet."""


@dataclass(frozen=True)
class Media:
    """A body that is no JSON of ours: its media types, and what is in it."""

    types: tuple[str, ...]
    says: str


def event_stream(says: str) -> Media:
    """Server-sent events (HTML Living Standard, section 9.2)."""
    return Media(("text/event-stream",), says)


Content: TypeAlias = "type[BaseModel] | Media | None"
Answers: TypeAlias = "Content | Mapping[int, Content | tuple[Content, ...]]"
"""What is answered with 200, or by status; several where the request chooses among media types, None for no content."""


@dataclass(frozen=True)
class Description:
    """All that the document says of one operation. The errors that follow from the rest are not repeated in `refuses`."""

    method: str
    path: str
    says: str
    body: Content
    query: type[BaseModel] | None
    headers: Mapping[str, str]
    params: Mapping[str, Any]
    answers: Mapping[int, tuple[Content, ...]]
    refuses: tuple[type[AskbusError], ...]
    caller: Caller
    scope: Scope | None
    idempotent: bool
    limited: bool
    most: int | None

    @property
    def changes(self) -> bool:
        return self.method not in SAFE_METHODS

    def errors(self) -> list[type[AskbusError]]:
        """Everything that it can be refused with, by status."""
        found = {*self.refuses, InvalidInput, TooLarge, Internal, Unavailable}
        if self.caller is not Caller.ANYBODY:
            found |= {Unauthenticated, PermissionDenied}  # the latter for an issuer's token alone
        if self.changes or self.caller is Caller.PERSON or self.scope is not None:
            found.add(PermissionDenied)
        if self.limited:
            found.add(RateLimited)
        if "{" in self.path:
            found.add(NotFound)
        if self.idempotent:
            found |= {Conflict, TimedOut}
        return sorted(found, key=lambda kind: (kind.http_status, kind.code))


class DescribedRoute(Route):
    """Starlette's route with its description."""

    description: Description


@dataclass(frozen=True)
class _Said:
    answers: Answers
    rest: Mapping[str, Any]


E = TypeVar("E", bound=Callable[..., Any])


def described(
    answers: Answers,
    *,
    body: Content = None,
    query: type[BaseModel] | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    refuses: Sequence[type[AskbusError]] = (),
    caller: Caller = Caller.KNOWN,
    scope: Scope | None = None,
    idempotent: bool = False,
    limited: bool = False,
    most: int | None = LARGEST_BODY,
) -> Callable[[E], E]:
    """Says of an endpoint what it takes and answers; its docstring is what it does, in the words of docs/api.md.

    `answers`: the model of a 200, or what there is by status. `body`, `query`: the models of the JSON body and of the query.
    `headers`: those that it reads, and what each is for. `params`: the types of what stands in the path and is no UUID.
    `refuses`: errors beyond those that follow from the rest, as `Description.errors` has them. `idempotent`: it takes
    `Idempotency-Key` and asks the owner of a state. `limited`: a rate limit counts it. `most`: bytes of its body; None where the
    endpoint has caps of its own.
    """
    rest = {
        "body": body,
        "query": query,
        "headers": headers or {},
        "params": params or {},
        "refuses": tuple(refuses),
        "caller": caller,
        "scope": scope,
        "idempotent": idempotent,
        "limited": limited,
        "most": most,
    }

    def mark(endpoint: E) -> E:
        vars(endpoint)[_SAID] = _Said(answers, rest)
        return endpoint

    return mark


def route(method: str, path: str, endpoint: Any) -> DescribedRoute:
    """One method of one path, answered by a described endpoint.

    A coroutine function is guarded here; any other ASGI application, which shows the description of what it wraps, guards itself. A
    parameter of the path is a UUID, unless `params` says what it is. Raises TypeError for an endpoint that nothing is said of.
    """
    function = endpoint if hasattr(endpoint, _SAID) else endpoint.__call__
    said: _Said | None = getattr(function, _SAID, None)
    if said is None or not function.__doc__:
        raise TypeError(f"{method} {path} has no description: give its endpoint @described(...) and a docstring.")
    made = DescribedRoute(path, guarded(endpoint) if inspect.iscoroutinefunction(endpoint) else endpoint, methods=[method])
    texts = said.rest["params"]
    made.path_regex = re.compile(
        _PARAMETER.sub(lambda name: name[0] if name[1] in texts else _an_id(name[1]), made.path_regex.pattern)
    )
    says = inspect.cleandoc(function.__doc__)
    made.description = Description(method=method, path=path, says=says, answers=_by_status(said.answers), **said.rest)
    return made


def _an_id(name: str) -> str:
    """What a parameter of the path matches that is an id: so `/v1/questions/seen` is no question, whatever the method."""
    return f"(?P<{name}>[0-9a-fA-F-]{{32,36}})"


def _by_status(answers: Answers) -> dict[int, tuple[Content, ...]]:
    given = answers if isinstance(answers, Mapping) else {HTTPStatus.OK.value: answers}
    return {status: content if isinstance(content, tuple) else (content,) for status, content in given.items()}
