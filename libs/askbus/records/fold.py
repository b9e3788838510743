"""When two names are the same to a reader: case, accents, spelling variants, blanks, invisible characters, look-alike letters.

The same folding runs on the server, over the column and over what was asked for, and here, to say how a hit differs.
Case folding and normal forms are Unicode's (chapter 3.13, UAX 15); look-alikes are the common part of UTS 39's confusables.
"""

import re
import unicodedata
from typing import Any

from sqlalchemy import ColumnElement, Text, and_, case, cast, collate, func, literal_column

from askbus.records.schema import Abilities

MARKS = r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]"
"""Combining marks that sit on a letter; the vowel signs of Indic scripts are letters of their own and stay."""
_MARKS = re.compile(MARKS)
_NFKD: ColumnElement[Any] = literal_column("NFKD")
INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
BLANKS = r"[\s\u00a0\u2000-\u200a\u202f\u205f\u3000]+"
SPACES = "\t\n\v\f\r"
UNDIVIDED = str.maketrans("øłđħŧıς", "oldhti\u03c3")
"""Letters that no normal form takes apart, and the sigma at the end of a word."""
LONGER = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"}
LOOK_ALIKES = str.maketrans("аеорсухіјѕԁһԛԝӏвкмнтαονρτυχικ", "aeopcyxijsdhqwlbkmhtaovptuxik")
"""Cyrillic and Greek letters that read as Latin ones."""


def fold_case(text: str) -> str:
    """Equal for names that differ in normal form and case alone."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def fold(text: str) -> str:
    """Equal for names that differ in case and accents."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", apart))
    for letter, spelled in LONGER.items():
        bare = bare.replace(letter, spelled)
    return bare.translate(UNDIVIDED)


def skeleton(text: str) -> str:
    """Equal for names that a reader could take for the same: invisible characters, blanks and look-alikes aside."""
    visible = "".join(character for character in fold(text) if character not in INVISIBLE)
    return " ".join(visible.split()).translate(LOOK_ALIKES)


def skeleton_on_server(expression: ColumnElement[Any], abilities: Abilities) -> ColumnElement[Any]:
    """`skeleton` as SQL. A database that is not UTF-8 has no normal forms; there only case is folded.

    Everything in it is immutable and every constant is written out, so that an index on it serves every statement; and it is
    compared by code points, whatever the column's collation.
    """
    made: ColumnElement[Any] = cast(expression, Text())
    if not abilities.utf8 or abilities.version < 130000:
        return func.lower(made)
    made = collate(made, "C")
    # Most names are ASCII in single blanks; the whole way costs ten times as much.
    plain = func.translate(made, _constant(SPACES), _constant(" " * len(SPACES)))
    is_plain = and_(func.octet_length(made) == func.length(made), func.strpos(plain, _constant("  ")) == literal_column("0"))
    lowered = func.btrim(func.lower(plain))
    return case((is_plain, lowered), else_=collate(_whole_way(made, abilities), "C"))


def _whole_way(made: ColumnElement[Any], abilities: Abilities) -> ColumnElement[Any]:
    made = _without(func.normalize(made, _NFKD), MARKS)
    made = _without(_lower(made, abilities), MARKS)
    for letter, spelled in LONGER.items():
        made = func.replace(made, _constant(letter), _constant(spelled))
    made = _translate(made, UNDIVIDED)
    made = func.translate(made, _constant(INVISIBLE), _constant(""))
    made = func.btrim(_without(made, BLANKS, " "))
    return _translate(made, LOOK_ALIKES)


def _constant(text: str) -> ColumnElement[Any]:
    """Written out, in ASCII: an index on an expression serves those statements alone that have its very constants."""
    escaped = (one if " " <= one <= "~" and one != "\\" else "\\\\" if one == "\\" else f"\\u{ord(one):04x}" for one in text)
    return literal_column(f"E'{''.join(escaped)}'", Text())


def _without(text: ColumnElement[Any], pattern: str, instead: str = "") -> ColumnElement[Any]:
    return func.regexp_replace(text, _constant(pattern), _constant(instead), _constant("g"))


def _lower(text: ColumnElement[Any], abilities: Abilities) -> ColumnElement[Any]:
    """Case folding that does not depend on the database's locale, as far as the server has it."""
    if abilities.version >= 180000:
        return func.casefold(collate(text, "pg_unicode_fast"))
    if abilities.version >= 170000:
        return func.lower(collate(text, "pg_c_utf8"))
    return func.lower(collate(text, "und-x-icu")) if abilities.icu else func.lower(text)


def _translate(text: ColumnElement[Any], table: dict[int, int]) -> ColumnElement[Any]:
    return func.translate(text, _constant("".join(map(chr, table))), _constant("".join(map(chr, table.values()))))


def difference(found: str, asked: str) -> str:
    """How `found` differs from `asked`, in words, where a reader may not see it; empty when they are the same characters."""
    if found == asked:
        return ""
    if unicodedata.normalize("NFC", found) == unicodedata.normalize("NFC", asked):
        return "the same letters, stored as other code points: " + _points(found, asked)
    if fold_case(found) == fold_case(asked):
        return "upper and lower case differ"
    if fold(found) == fold(asked):
        return "accents or letter variants differ"
    if skeleton(found) != skeleton(asked):
        return ""
    return _unseen(found, asked)


def _unseen(found: str, asked: str) -> str:
    """What is in one name and not in the other, by name: blanks, invisible characters, look-alikes."""
    notes = []
    if found.strip() != found:
        notes.append("it begins or ends with a blank")
    notes += [
        f"it holds an invisible {_name(character)}" for character in INVISIBLE if character in found and character not in asked
    ]
    folded, wanted = fold(found), fold(asked)
    strange = [character for character in dict.fromkeys(folded) if ord(character) in LOOK_ALIKES and character not in wanted]
    notes += [f"{_name(character)} instead of {_name(chr(LOOK_ALIKES[ord(character)]))}" for character in strange]
    return "; ".join(notes) or "blanks or invisible characters differ"


def _points(found: str, asked: str) -> str:
    here = [character for character in found if character not in asked]
    return ", ".join(_name(character) for character in dict.fromkeys(here)) or "a precomposed character"


def _name(character: str) -> str:
    return unicodedata.name(character, f"U+{ord(character):04X}")
