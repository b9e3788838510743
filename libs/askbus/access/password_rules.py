"""What a password must be (NIST SP 800-63B, 5.1.1.2): long enough, known to no list, and otherwise whatever its owner likes. Pure."""

import itertools
import unicodedata
from collections.abc import Iterable

from askbus.errors import InvalidInput

SHORTEST, LONGEST = 8, 1000
"""Characters, counted after normalisation."""

COMMON = frozenset(
    """
    password password1 password12 password123 password1234 passw0rd p@ssw0rd p@ssword pa55word passwort passwort1 motdepasse
    contraseña 12345678 123456789 1234567890 12345678910 87654321 987654321 0987654321 11223344 1122334455 123123123 12341234
    qwertyui qwertyuiop qwerty123 qwerty12 qwertz123 qwertzui azertyui azerty123 asdfghjk asdfghjkl zxcvbnm1 1q2w3e4r 1q2w3e4r5t
    1qaz2wsx qazwsxedc q1w2e3r4 abcd1234 abc12345 abcdefgh abcdefghi a1b2c3d4 iloveyou iloveyou1 sunshine sunshine1 princess
    princess1 football football1 baseball superman batman123 starwars trustno1 welcome1 welcome123 willkommen changeme changeme1
    letmein1 letmein123 whatever computer internet michelle jennifer jonathan alexander samantha dragon123 monkey123 master123
    shadow123 admin123 administrator adminadmin root1234 toor1234 test1234 testtest guest123 user1234 login123 secret123 default1
    summer2024 summer2025 summer2026 winter2024 winter2025 winter2026 spring2025 spring2026 autumn2025 autumn2026 liverpool
    manchester chocolate butterfly elephant corvette mercedes maverick midnight michael1 charlie1 bailey12 passpass qwerqwer
    asdfasdf zaq12wsx zaq1zaq1 !qaz2wsx 1234qwer qwer1234 asdf1234 correcthorsebatterystaple correct horse battery staple
    """.split()  # noqa: SIM905  # a list to be read
)
"""The start of every list of passwords that were found out, of eight characters and more; case counts for nothing."""


def normalised(password: str) -> str:
    """What is hashed: the same however a keyboard composes its characters (Unicode NFKC, as SP 800-63B asks)."""
    return unicodedata.normalize("NFKC", password)


def check_password(password: str, about: Iterable[str] = ()) -> str:
    """The password, normalised. `about` is what others know of its owner: address and name. Raises InvalidInput with what to do."""
    text = normalised(password)
    if not SHORTEST <= len(text) <= LONGEST:
        raise InvalidInput(f"A password has {SHORTEST} to {LONGEST} characters.", {"field": "password"})
    folded = text.casefold()
    if folded in COMMON or len(set(folded)) < 3 or _runs(folded):
        raise InvalidInput("This password is among the first that anybody tries. Choose another.", {"field": "password"})
    known = {part.casefold() for one in about for part in (one, *one.split("@")) if part} | {"askbus"}
    if any(folded.strip("0123456789!.?-_") == part for part in known):
        raise InvalidInput("This password is your name or address. Choose another.", {"field": "password"})
    return text


def _runs(text: str) -> bool:
    """Whether it only counts, up or down: abcdefgh, 23456789."""
    steps = {ord(second) - ord(first) for first, second in itertools.pairwise(text)}
    return steps in ({1}, {-1})
