"""Where a request comes from: the socket, and what named proxies say of it, read from the right."""

import random
from ipaddress import ip_network

import pytest

from askbus.limits.address import Proxies

pytestmark = pytest.mark.requirement("I8")

INSIDE = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def client(header: str, *values: str, peer: str | None = "10.0.0.1", proxies: Proxies | None = None) -> str:
    name = (b"X-Forwarded-For" if header == "x-forwarded-for" else b"Forwarded").lower()
    believed = proxies or Proxies(INSIDE, header)
    return believed.client(peer, [(b"host", b"x"), *((name, value.encode("latin-1")) for value in values)])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], "10.0.0.1"),
        (["203.0.113.9"], "203.0.113.9"),
        (["6.6.6.6, 203.0.113.9"], "203.0.113.9"),
        (["203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        (["203.0.113.9", "10.0.0.2"], "203.0.113.9"),
        (["203.0.113.9:4711"], "203.0.113.9"),
        (["::ffff:203.0.113.9"], "203.0.113.9"),
        (["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::/64"),
        (["[2001:db8:1:2::7]:4711"], "2001:db8:1:2::/64"),
        (["unknown"], "10.0.0.1"),
        (["6.6.6.6, garbage"], "10.0.0.1"),
        (["6.6.6.6,"], "10.0.0.1"),
        (["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ([",".join(["10.0.0.2"] * 5000)], "10.0.0.2"),
    ],
)
def test_x_forwarded_for_is_read_from_the_right(values: list[str], expected: str) -> None:
    """The last word is the nearest proxy's; what stands left of the first stranger is the stranger's own, and so nothing."""
    assert client("x-forwarded-for", *values) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["for=203.0.113.9"], "203.0.113.9"),
        (["For=6.6.6.6, for=203.0.113.9;proto=https;by=10.0.0.1"], "203.0.113.9"),
        (["by=10.0.0.1;for=203.0.113.9", 'for="10.0.0.2:80"'], "203.0.113.9"),
        (['for="[2001:db8:1:2::7]:4711"'], "2001:db8:1:2::/64"),
        (['for="_hidden"'], "10.0.0.1"),
        (["for=unknown"], "10.0.0.1"),
        (["for=203.0.113.9, proto=https"], "10.0.0.1"),
        (['for=", for=203.0.113.9'], "10.0.0.1"),
        (['for=6.6.6.6;a="', 'for="203.0.113.9"'], "10.0.0.1"),
        (["nonsense"], "10.0.0.1"),
        (["for = 6.6.6.6, ,"], "10.0.0.1"),
    ],
)
def test_forwarded_is_read_as_its_standard_says(values: list[str], expected: str) -> None:
    """RFC 7239: pairs, quoted texts, ports, obfuscated names; what is malformed says nothing at all."""
    assert client("forwarded", *values) == expected


def test_nobody_is_believed_who_was_not_named() -> None:
    """A client that connects by itself, whatever it claims; and a header that the proxy does not write, though it passes it on."""
    assert client("x-forwarded-for", "1.2.3.4", peer="203.0.113.5") == "203.0.113.5"
    assert client("x-forwarded-for", "1.2.3.4", proxies=Proxies()) == "10.0.0.1"
    assert client("forwarded", "for=1.2.3.4", proxies=Proxies(INSIDE)) == "10.0.0.1"
    assert client("x-forwarded-for", "1.2.3.4", peer=None) == "unknown"
    assert (
        client("x-forwarded-for", peer="2001:db8:1:2:ffff::1")
        == client("x-forwarded-for", peer="2001:db8:1:2::")
        == "2001:db8:1:2::/64"
    )


@pytest.mark.parametrize("seed", range(3))
def test_no_client_moves_what_the_proxy_adds(seed: int) -> None:
    """Whatever a client sends before it, the address is the one that the proxy saw, or the proxy's own: never the client's choice."""
    rng = random.Random(seed)
    pieces = ['for="', "for=6.6.6.6", "6.6.6.6", ",", ";", '"', "\\", " ", "=", "[", "]", ":", "10.0.0.2", "by=x", "\t", "%", "é"]
    for _ in range(2000):
        noise = "".join(rng.choice(pieces) for _ in range(rng.randint(0, 12)))
        for header, own in (("x-forwarded-for", "203.0.113.9"), ("forwarded", "for=203.0.113.9;proto=https")):
            assert client(header, noise, own) in {"203.0.113.9", "10.0.0.1"}, (header, noise)
