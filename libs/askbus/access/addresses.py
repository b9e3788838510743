"""E-mail addresses as the database compares them: letter by letter, without case; and what none, and no name, is made of. Pure."""

TURNS = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
"""Within a class of a pattern: controls, ends of lines, and what turns the rest of a line round (Unicode Standard Annex 9)."""
UNSEEN = TURNS + r"\u00ad\u200b-\u200f\u2060-\u2065\ufeff\u0130\u212a"
"""The same with what cannot be seen, and the letters of `looks_like_another`."""
SHOWN = rf"^[^{TURNS}]*$"
"""The pattern of names that people are shown."""


def folded(email: str) -> str:
    """The one text for all ways to write an address that find the same account. Each letter by itself, as Postgres does it: Python would
    make two of one capital letter, and another of one at the end of a word (SpecialCasing of the Unicode Character Database)."""
    return "".join(letter.lower()[0] for letter in email.strip())


def looks_like_another(email: str) -> bool:
    """Whether it has letters that become ASCII without case, such as the sign for kelvin: a mailbox of its own, which the database takes
    for somebody else's."""
    return any(not letter.isascii() and letter.lower()[0].isascii() for letter in email)
