"""Where a request comes from: the socket's address, or what proxies that the operator named say of it. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, PlainSerializer

Address: TypeAlias = IPv4Address | IPv6Address

CUSTOMER = 64
"""Bits of an IPv6 address that name whoever pays for it (RFC 6177): they have all the addresses below."""
MOST_HOPS = 32
"""Proxies between a client and here: whoever names more of them, made them up."""


def _network(value: object) -> object:
    return ip_network(value.strip()) if isinstance(value, str) else value


Network: TypeAlias = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network), PlainSerializer(str)]

_PAIR = re.compile(r'\s*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))\s*')
"""One `name=value` of Forwarded (RFC 7239, section 4)."""


@dataclass(frozen=True)
class Proxies:
    """The proxies that are believed, and the one header in which they say whom they speak for. A proxy passes on headers that it does not
    know, so what another header says may be anybody's word."""

    networks: Sequence[IPv4Network | IPv6Network] = ()
    header: str = "x-forwarded-for"

    def client(self, peer: str | None, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """The text that stands for the client's address: an IPv4 address, or the network of an IPv6 customer.

        From the socket's address on, right to left, as long as whoever speaks is believed; what is no address ends the walk.
        """
        address = _read(peer or "")
        if address is None:
            return "unknown"
        if self._believed(address):
            for said in reversed(self._said(headers)[-MOST_HOPS:]):
                before = _read(said)
                if before is None:
                    break
                address = before
                if not self._believed(address):
                    break
        return str(address) if isinstance(address, IPv4Address) else str(ip_network((address, CUSTOMER), strict=False))

    def _believed(self, address: Address) -> bool:
        return any(address in network for network in self.networks)

    def _said(self, headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
        """Whom each hop spoke for, the client's own word first; several headers of the name are one list."""
        name = self.header.encode()
        text = ",".join(value.decode("latin-1") for key, value in headers if key.lower() == name)
        if not text:
            return []
        return _forwarded(text) if self.header == "forwarded" else text.split(",")


def _forwarded(text: str) -> list[str]:
    """The `for` of each element; an element without one, or what is no list of them, says nothing, which ends the walk there."""
    said: list[str] = []
    element, at = "", 0
    while at <= len(text):
        pair = _PAIR.match(text, at)
        if pair is None:
            return [] if text[at:].strip(" ,\t") else [*said, element]
        if pair[1].lower() == "for":
            element = re.sub(r"\\(.)", r"\1", pair[2]) if pair[2] is not None else pair[3]
        at = pair.end()
        if text[at : at + 1] == ",":
            said.append(element)
            element = ""
        elif text[at : at + 1] != ";":
            return [*said, element] if at >= len(text) else []
        at += 1
    return said


def _read(text: str) -> Address | None:
    """An address as proxies write it: with a port, in brackets, with a zone, an IPv4 address in IPv6's clothes."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
