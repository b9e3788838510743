"""Requests to addresses of others: which are refused, and that what was checked is what is connected to."""

import ipaddress
from collections.abc import Sequence
from pathlib import Path

import pytest

from askbus.errors import InvalidInput
from askbus.outbound.client import Answer, Outbound, addresses_of
from askbus.outbound.policy import IpAddress, Policy, is_public
from askbus.testing.certificates import certificate
from askbus.testing.receiver import receiving

pytestmark = pytest.mark.requirement("X6")

INSIDE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
    "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:0:7f00:1::", "64:ff9b:1::1", "2001:db8::1",
]  # fmt: skip
OUTSIDE = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808"]


def test_only_what_the_whole_internet_reaches_is_public() -> None:
    """Private, loopback, link-local, shared, reserved, multicast: none, nor their forms inside IPv6."""
    assert [text for text in INSIDE if is_public(ipaddress.ip_address(text))] == []
    assert [text for text in OUTSIDE if not is_public(ipaddress.ip_address(text))] == []


@pytest.mark.parametrize("url", [f"https://{f'[{ip}]' if ':' in ip else ip}/" for ip in INSIDE])
def test_a_private_address_in_a_url_is_refused(url: str) -> None:
    """Spelled out, before anything is looked up."""
    with pytest.raises(InvalidInput):
        Policy().check_url(url)


@pytest.mark.parametrize("name", ["127.1", "2130706433", "0x7f.1", "localhost", "127.0.0.1"])
async def test_a_private_address_by_another_name_is_never_connected_to(name: str) -> None:
    """Numbers that the system's resolver takes for loopback, and names that stand for it."""
    assert any(not is_public(address) for address in await addresses_of(name, 443))
    async with receiving() as receiver:
        client = Outbound(Policy([f"{name}:1"]))
        try:
            if name != "127.0.0.1":
                assert await client.post(f"https://{name}:{receiver.port}/", b"", {}, 2) == Answer(error="address_refused")
            assert receiver.received == []
        finally:
            await client.close()


async def test_the_address_that_was_checked_is_the_one_connected_to(tmp_path: Path) -> None:
    """The name is looked up once, though it would stand for another address the next time; the certificate must still be the name's."""
    server, trust = certificate(tmp_path, "hooks.example")
    looked_up: list[str] = []

    async def rebinding(host: str, _port: int) -> Sequence[IpAddress]:
        looked_up.append(host)
        return [ipaddress.ip_address("127.0.0.1" if len(looked_up) == 1 else "127.0.0.99")]

    async with receiving(tls=server) as receiver:
        client = Outbound(Policy(["hooks.example", "other.example"]), tls=trust, resolve=rebinding)
        answer = await client.post(f"https://hooks.example:{receiver.port}/in?a=b", b"{}", {"webhook-id": "1"}, 5)
        assert (answer, looked_up) == (Answer(status=200), ["hooks.example"])
        (request,) = receiver.received
        assert (request.path, request.headers["host"]) == ("/in?a=b", f"hooks.example:{receiver.port}")
        looked_up.clear()
        assert await client.post(f"https://other.example:{receiver.port}/in", b"{}", {}, 5) == Answer(error="tls")
        await client.close()


async def test_a_name_that_stands_for_both_kinds_is_refused() -> None:
    """One public address beside a private one is an attempt, not a coincidence."""

    async def both(_host: str, _port: int) -> Sequence[IpAddress]:
        return [ipaddress.ip_address("8.8.8.8"), ipaddress.ip_address("10.0.0.1")]

    client = Outbound(Policy(), resolve=both)
    assert await client.post("https://hooks.example/", b"", {}, 2) == Answer(error="address_refused")
    await client.close()


async def test_the_next_address_of_a_name_is_tried_where_nothing_listens() -> None:
    """Nothing was sent to the first; and where none listens, that is what is said."""

    async def two(_host: str, _port: int) -> Sequence[IpAddress]:
        return [ipaddress.ip_address("127.0.0.99"), ipaddress.ip_address("127.0.0.1")]

    async with receiving(503, extra={"retry-after": "120"}) as receiver:
        client = Outbound(Policy([f"hooks.example:{receiver.port}"]), resolve=two)
        answer = await client.post(f"http://hooks.example:{receiver.port}/", b"x", {}, 5)
        assert answer == Answer(status=503, retry_after=120)
    assert (await client.post(f"http://hooks.example:{receiver.port}/", b"x", {}, 5)).error == "connect"
    await client.close()


@pytest.mark.parametrize("host", ["a..b", ".example.com", ".", "..", "a" * 64, f"{'a.' * 130}b"])
async def test_a_host_that_no_resolver_can_be_asked_for_is_no_address(host: str) -> None:
    """Refused when it is given; and a name that the resolver cannot encode is one that it does not find, however it came there."""
    with pytest.raises(InvalidInput):
        Policy([host]).check_url(f"https://{host}/")

    async def strict(host: str, _port: int) -> Sequence[IpAddress]:
        raise UnicodeEncodeError("idna", host, 0, 1, "label empty or too long")

    client = Outbound(Policy(), resolve=strict)
    assert await client.post("https://hooks.example./", b"", {}, 2) == Answer(error="name_not_found")
    await client.close()
