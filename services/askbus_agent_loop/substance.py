"""Whether a final answer says anything (C34). Pure.

It does not where it is empty, or where all of it is one short sentence that announces what comes next, when nothing can come next: the
model called no tool. An answer taken for an announcement costs a model call and may cost the turn, one that is missed costs nothing that
was not lost already, so whatever is in doubt is an answer.
"""

import re
import unicodedata

LONGEST = 200
"""Characters; what is longer says something."""

_OPENINGS = (
    r"(?:(?:sure|okay|ok|alright|all right|certainly|of course|great|got it|understood|right|klar|gern|gerne|natürlich|bien sûr|d'accord|"
    r"claro|por supuesto)[,.!:;]?\s+)?"
)
_BEFORE = r"(?:(?:first|now|next|then|zuerst|jetzt|nun)[,]?\s+)?"

_ENGLISH = (
    r"(?:let me|i will|i'll|i am going to|i'm going to|allow me to)\s+(?:first\s+|now\s+|just\s+|quickly\s+)*"
    r"(?:look|check|search|find|query|fetch|read|pull|get|retrieve|see|examine|review|gather|list|resolve|inspect|verify|investigate)\b.*"
    r"|(?:looking|checking|searching|querying|fetching)\b.*\b(?:now|up|for you|moment)\W*"
    r"|(?:just\s+)?(?:one|a) (?:moment|second)(?:,?\s+please)?\W*"
)
_GERMAN = (
    r"ich\s+(?:schaue|sehe|prüfe|suche|frage|lese|rufe|überprüfe|hole|werde)\b.*\b(?:nach|an|ab|auf|durch|jetzt|gleich|kurz|heraus|nachsehen|"
    r"nachschauen|prüfen|suchen|abfragen|abrufen)\W*"
    r"|lass(?:en sie)? mich\s+.*\b(?:nachsehen|nachschauen|prüfen|suchen|abfragen|ansehen|schauen)\W*"
    r"|(?:einen\s+)?moment(?:,?\s+bitte)?\W*"
)
_FRENCH = (
    r"(?:je vais|laissez-moi|laisse-moi|permettez-moi de)\s+(?:d'abord\s+)?"
    r"(?:vérifier|chercher|rechercher|regarder|consulter|examiner)\b.*"
)
_SPANISH = (
    r"(?:voy a|déjame|déjeme|permíteme|permítame)\s+(?:primero\s+)?(?:buscar|revisar|consultar|verificar|ver|comprobar)\b.*"
)
_ANNOUNCEMENT = re.compile(rf"{_OPENINGS}{_BEFORE}(?:{_ENGLISH}|{_GERMAN}|{_FRENCH}|{_SPANISH})", re.IGNORECASE)

_SOMETHING_ELSE = re.compile(
    r"\d|\?|\b(?:you|your|if|once|when|after|as soon as|tomorrow|later|unless|until|because|but|not|cannot|can't|won't|"
    r"du|dir|dich|ihnen|ihre?|sie|wenn|sobald|falls|morgen|später|nicht|kein\w*|aber|weil|"
    r"vous|votre|si|quand|dès|demain|pas|usted|tú|cuando|mañana|no)\b",
    re.IGNORECASE,
)
"""A figure, a question, a condition, an address to the reader: that is more than an announcement."""

_POLITE = re.compile(r"\b(?:for you|für sie|für dich|lassen sie mich|pour vous|para ti|para usted)\b", re.IGNORECASE)


def lacks_substance(text: str) -> bool:
    """Whether a final answer is empty, or nothing but the announcement of one."""
    if not any(_says(character) for character in text):
        return True
    said = " ".join(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").strip(" \t\n*_#>`").split())
    if len(said) > LONGEST or "\n\n" in text.strip() or _sentences(said) > 1:
        return False
    return _ends_open(said) or _announces(said)


def _says(character: str) -> bool:
    """Letters, figures and pictures do; punctuation and the marks of Markdown do not."""
    category = unicodedata.category(character)
    return category[0] in "LN" or category in {"So", "Sm", "Sc"}


def _ends_open(said: str) -> bool:
    """`Here are the orders:` and nothing after it."""
    return said.endswith((":", "\N{FULLWIDTH COLON}")) and not re.search(r"\d", said)


def _announces(said: str) -> bool:
    return _ANNOUNCEMENT.fullmatch(said) is not None and _SOMETHING_ELSE.search(_POLITE.sub("", said)) is None


def _sentences(said: str) -> int:
    """How many sentences, a word of agreement in front not counted."""
    opened = re.match(_OPENINGS, said, re.IGNORECASE)
    rest = said[opened.end() :] if opened else said
    return len([part for part in re.split(r"[.!?…:;]+(?:\s+|$)", rest) if part])
