"""A request to somebody else's server, under the policy: the name is looked up once, checked, and that address is connected to."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from time import time

import httpx2

from askbus.outbound.policy import IpAddress, Policy, Refused, Target

Resolve = Callable[[str, int], Awaitable[Sequence[IpAddress]]]

MOST_TRIED = 3
"""Addresses of one name: the first that can be connected to is used."""

READ_AT_ONCE = 16_384
"""Bytes of an answer, after decompression: what is small on the wire and large unpacked is left in time."""


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


@dataclass(frozen=True)
class Fetched(Answer):
    """The same with what the other side said: `body` where there is a status, and the `content_type` of it.

    `cache_control` is what it says of keeping that (RFC 9111, section 5.2).
    """

    body: bytes = b""
    content_type: str = ""
    cache_control: str = ""


class Outbound:
    """Sends requests to addresses that the policy allows. Nothing is followed or kept open, and of an answer to `post` nothing is read
    but the status and the headers.

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
        sent = await self._send(_Sent("POST", url, body, headers, seconds, most=None))
        return Answer(sent.status, sent.error, sent.retry_after)

    async def fetch(
        self, method: str, url: str, *, seconds: float, most: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Fetched:
        """The same with any method, reading the answer: past `most` bytes it is none (`too_large`). Raises InvalidInput likewise."""
        return await self._send(_Sent(method, url, body, headers or {}, seconds, most))

    async def _send(self, sent: "_Sent") -> Fetched:
        target = self.policy.check_url(sent.url)
        try:
            async with asyncio.timeout(sent.seconds):
                found = self.policy.check_addresses(target, await self._resolve(target.host, target.port))
                return await self._send_to_any(target, found, sent)
        except TimeoutError:
            return Fetched(error="timeout")
        except Refused:
            return Fetched(error="address_refused")
        except (OSError, UnicodeError):  # the resolver has no name that it could not encode
            return Fetched(error="name_not_found")

    async def _send_to_any(self, target: Target, found: Sequence[IpAddress], sent: "_Sent") -> Fetched:
        answer = Fetched(error="name_not_found")
        for address in found[:MOST_TRIED]:
            try:
                return await self._send_to(target, address, sent)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                # Nothing was sent yet: another address of the same name may be tried.
                answer = Fetched(error="tls" if isinstance(error.__cause__, ssl.SSLError) or "SSL" in str(error) else "connect")
            except httpx2.TimeoutException:
                return Fetched(error="timeout")
            except (httpx2.HTTPError, httpx2.InvalidURL):
                return Fetched(error="connection")
        return answer

    async def _send_to(self, target: Target, address: IpAddress, sent: "_Sent") -> Fetched:
        url = httpx2.URL(target.url)
        request = self._http.build_request(
            sent.method,
            url.copy_with(host=str(address)),
            content=sent.body,
            headers={**sent.headers, "host": url.netloc.decode("ascii")},
            timeout=httpx2.Timeout(sent.seconds, pool=None),
            # The certificate must be the name's, though the address is what is connected to.
            extensions={"sni_hostname": target.host},
        )
        response = await self._http.send(request, stream=True)
        try:
            answer = Fetched(
                status=response.status_code,
                retry_after=_pause(response.headers.get("retry-after")),
                content_type=response.headers.get("content-type", ""),
                cache_control=response.headers.get("cache-control", ""),
            )
            if sent.most is None:  # unread: what a stranger answers is of no interest, and may have no end
                return answer
            body = bytearray()
            async for piece in response.aiter_bytes(READ_AT_ONCE):
                body += piece
                if len(body) > sent.most:
                    return Fetched(error="too_large")
            return replace(answer, body=bytes(body))
        finally:
            await response.aclose()


@dataclass(frozen=True)
class _Sent:
    """A request as it leaves; `most` bytes of the answer are read, or none of it."""

    method: str
    url: str
    body: bytes
    headers: Mapping[str, str]
    seconds: float
    most: int | None


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
