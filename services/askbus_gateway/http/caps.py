"""What every request is held to before a door sees it: the size of its body, and that the body comes as it is."""

from collections.abc import Sequence
from typing import Any

from starlette.routing import BaseRoute, Match

from askbus.errors import InvalidInput, TooLarge
from askbus.incoming import LARGEST_BODY
from askbus.runtime.health import Receive
from askbus_gateway.http.described import DescribedRoute

AS_IT_IS = frozenset({b"", b"identity"})


def route_of(scope: dict[str, Any], routes: Sequence[BaseRoute]) -> BaseRoute | None:
    """The route that answers, or one of the address with another method, or none."""
    partly = None
    for route in routes:
        match route.matches(scope)[0]:
            case Match.FULL:
                return route
            case Match.PARTIAL:
                partly = partly or route
            case Match.NONE:
                pass
    return partly


def held(scope: dict[str, Any], receive: Receive, route: BaseRoute | None) -> Receive:
    """`receive`, which raises TooLarge once more than the route takes has come.

    Raises TooLarge for what announces too much, and InvalidInput for what is compressed: a few bytes could unfold to gigabytes, so that no
    door unfolds any.
    """
    most = route.description.most if isinstance(route, DescribedRoute) else LARGEST_BODY
    announced = None
    for name, value in scope["headers"]:
        if name == b"content-encoding" and value.strip().lower() not in AS_IT_IS:
            raise InvalidInput("Send the body as it is, without Content-Encoding.")
        if name in {b"content-length", b"transfer-encoding"}:
            announced = value
    if announced is None or most is None:
        return receive
    too_large = TooLarge(f"A request's body has at most {most} bytes here.")
    if announced.isdigit() and int(announced[:20]) > most:
        raise too_large
    left = most

    async def counted() -> dict[str, Any]:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise too_large
        return message

    return counted
