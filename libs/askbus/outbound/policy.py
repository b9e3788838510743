"""Which addresses of others the deployment sends requests to. Pure.

A URL that somebody typed may name a server inside the operator's own network: its database, the metadata of a cloud. So the scheme
is https, and the address that the name stands for, at the moment of connecting, is one that the whole Internet can reach. Hosts
that the operator lists are exempt from both (server-side request forgery, OWASP Top Ten 2021, A10).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from askbus.errors import InvalidInput

LONGEST_URL = 2000
LONGEST_NAME, LONGEST_LABEL = 253, 63

IpAddress = IPv4Address | IPv6Address

NAT64 = IPv6Network("64:ff9b::/96")
"""Stands for the IPv4 address in its last 32 bits (RFC 6052)."""


class Refused(Exception):
    """The policy forbids this address. Its text names no address that the asker did not name."""


@dataclass(frozen=True)
class Target:
    """A checked URL in parts. `port` is the scheme's own where the URL says none."""

    url: str
    scheme: str
    host: str
    port: int
    listed: bool
    """Whether the operator lists the host."""


class Policy:
    """What may be reached. `listed` are host names, or addresses, as they stand in URLs; `host:port` lists that port alone."""

    def __init__(self, listed: Iterable[str] = ()) -> None:
        self._listed = frozenset(name.strip().lower() for name in listed)

    def check_url(self, url: str) -> Target:
        """The URL in parts. Raises InvalidInput, saying what to send instead."""
        parts, host, port = _parted(url)
        if parts.scheme not in {"http", "https"}:
            raise InvalidInput("The address must start with https://.", {"field": "url"})
        port = port or (443 if parts.scheme == "https" else 80)
        listed = host in self._listed or f"{host}:{port}" in self._listed
        if parts.scheme == "http" and not listed:
            raise InvalidInput(
                "The address must start with https://; http:// is for hosts that the operator lists in ASKBUS_OUTBOUND_HOSTS.",
                {"field": "url"},
            )
        literal = _literal(host)
        if literal is not None and not listed and not is_public(literal):
            raise InvalidInput("The address is inside a private network.", {"field": "url"})
        return Target(url=url, scheme=parts.scheme, host=host, port=port, listed=listed)

    def check_addresses(self, target: Target, found: Sequence[IpAddress]) -> Sequence[IpAddress]:
        """The addresses that may be connected to. Raises Refused where any of them may not: a name that stands for both kinds is
        somebody's attempt."""
        if not target.listed and not all(is_public(address) for address in found):
            raise Refused("the host stands for an address inside a private network")
        return found


def is_public(address: IpAddress) -> bool:
    """Whether the whole Internet can reach it: not private, loopback, link-local (metadata services), shared, reserved or multicast, nor an
    IPv6 form of such an IPv4 address. Per IANA's special-purpose registries, as the standard library knows them."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in NAT64:
            inner = IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return address.ipv4_mapped is None and not address.teredo and is_public(inner)
        if address.is_site_local or address.is_reserved:
            return False
    return address.is_global and not address.is_multicast and not address.is_unspecified


def _parted(url: str) -> tuple[SplitResult, str, int | None]:
    if len(url) > LONGEST_URL or not url.isascii() or any(sign.isspace() or not sign.isprintable() for sign in url):
        raise InvalidInput(
            f"An address has at most {LONGEST_URL} characters, all of them ASCII, and no blanks.", {"field": "url"}
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidInput("This is no address: send one such as https://example.com/hooks.", {"field": "url"}) from None
    host = host and host.removesuffix(".")
    if not host or "\\" in parts.netloc or "%" in host or not (":" in host or _is_name(host)):
        raise InvalidInput("This is no address: send one such as https://example.com/hooks.", {"field": "url"})
    if "@" in parts.netloc:
        raise InvalidInput("The address must hold no user and no password.", {"field": "url"})
    if parts.fragment:
        raise InvalidInput("The address must have no fragment (#…): it would not be sent.", {"field": "url"})
    return parts, host, port


def _is_name(host: str) -> bool:
    """Whether it can be looked up at all: labels of 1 to 63 characters, 253 together (RFC 1035, 2.3.4)."""
    return len(host) <= LONGEST_NAME and all(1 <= len(label) <= LONGEST_LABEL for label in host.split("."))


def _literal(host: str) -> IpAddress | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
