"""E-mail addresses as the database compares them: letter by letter, without case. Pure."""


def folded(email: str) -> str:
    """The one text for all ways to write an address that find the same account. Each letter by itself, as Postgres does it: Python would
    make two of one capital letter, and another of one at the end of a word (SpecialCasing of the Unicode Character Database)."""
    return "".join(letter.lower()[0] for letter in email.strip())


def looks_like_another(email: str) -> bool:
    """Whether it has letters that become ASCII without case, such as the sign for kelvin: a mailbox of its own, which the database takes
    for somebody else's."""
    return any(not letter.isascii() and letter.lower()[0].isascii() for letter in email)
