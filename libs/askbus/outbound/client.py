"""One POST to somebody else's server, under the policy: the name is looked up once, checked, and that address is connected to."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from time import time

import httpx2

from askbus.outbound.policy import IpAddress, Policy, Refused, Target

Resolve = Callable[[str, int], Awaitable[Sequence[IpAddress]]]

MOST_TRIED = 3
"""Addresses of one name: the first that can be connected to is used."""


@dataclass(frozen=True)
class Answer:
    """What came back: `status`, or else `error`, a word for what failed and never what the other side said.

    `retry_after` is in seconds, where the other side asked for a pause (RFC 9110, 10.2.3).
    """

    status: int | None = None
    error: str | None = None
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Outbound:
    """Sends requests to addresses that the policy allows. Nothing is followed, kept open or read but the status and the headers.

    The certificates trusted are the system's, or those of SSL_CERT_FILE, unless `tls` says otherwise. Proxies of the environment
    are not used: they would look the name up anew, past the check.
    """

    def __init__(self, policy: Policy, *, tls: ssl.SSLContext | None = None, resolve: Resolve | None = None) -> None:
        self.policy = policy
        self._resolve = resolve or addresses_of
        self._http = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(
                verify=True if tls is None else tls,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
            ),
            follow_redirects=False,
            headers={"user-agent": "askbus", "accept": "*/*"},
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
        """Sends `body` once, within `seconds`, looking up and connecting included. Raises InvalidInput for a forbidden URL."""
        target = self.policy.check_url(url)
        try:
            async with asyncio.timeout(seconds):
                found = self.policy.check_addresses(target, await self._resolve(target.host, target.port))
                return await self._post(target, found, body, headers, seconds)
        except TimeoutError:
            return Answer(error="timeout")
        except Refused:
            return Answer(error="address_refused")
        except (OSError, UnicodeError):  # the resolver has no name that it could not encode
            return Answer(error="name_not_found")

    async def _post(
        self, target: Target, found: Sequence[IpAddress], body: bytes, headers: Mapping[str, str], seconds: float
    ) -> Answer:
        answer = Answer(error="name_not_found")
        for address in found[:MOST_TRIED]:
            try:
                return await self._post_to(target, address, body, headers, seconds)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                # Nothing was sent yet: another address of the same name may be tried.
                answer = Answer(error="tls" if isinstance(error.__cause__, ssl.SSLError) or "SSL" in str(error) else "connect")
            except httpx2.TimeoutException:
                return Answer(error="timeout")
            except (httpx2.HTTPError, httpx2.InvalidURL):
                return Answer(error="connection")
        return answer

    async def _post_to(
        self, target: Target, address: IpAddress, body: bytes, headers: Mapping[str, str], seconds: float
    ) -> Answer:
        url = httpx2.URL(target.url)
        request = self._http.build_request(
            "POST",
            url.copy_with(host=str(address)),
            content=body,
            headers={**headers, "host": url.netloc.decode("ascii")},
            timeout=httpx2.Timeout(seconds, pool=None),
            # The certificate must be the name's, though the address is what is connected to.
            extensions={"sni_hostname": target.host},
        )
        response = await self._http.send(request, stream=True)
        try:
            return Answer(status=response.status_code, retry_after=_pause(response.headers.get("retry-after")))
        finally:
            await response.aclose()  # unread: what a stranger answers is of no interest, and may have no end


async def addresses_of(host: str, port: int) -> Sequence[IpAddress]:
    """What the system's resolver says, as `connect` would get it: also for names such as 0x7f.1. Raises OSError where there is none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


def _pause(header: str | None) -> float | None:
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header.strip()[:9])
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (ValueError, OverflowError):
        return None
