"""The words around a number that say how much it is, or that it is no figure. Data; the first two tables are CLDR's.

tests/grounding/test_words.py holds them against Babel's CLDR for LANGUAGES.
"""

import re

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "pl", "sv", "da", "nb")

_BY_POWER = {
    3: "k thousand tausend tsd millier milliers mille mil mila duizend tys tysiąc tysiąca tysiące tysięcy tn tusen tusind",
    6: "m mm mn mi million millions mio millionen mln millón millones milione milioni miljoen milhão milhões milion miliona miliony "
    "milionów mill miljon miljoner millioner milj",
    9: "b bn bi billion billions mrd milliarde milliarden md milliard milliards mld miliardo miliardi miljard bilhão bilhões miliard "
    "miliarda miliardy miliardów mdr mia milliarder miljarder milmillones",
    12: "t bio bil billion billionen billón billones biljoen bln bn trilhão trilhões bilion biliona biliony bilionów tri trillion "
    "trillions biljon biljoner bill billioner billions bilj milamiliardi millemiliardi",
}
_ALSO = {3: "thousands grand", 6: "mios mill millón", 9: "bln billones", 12: "tn trn"}


def _scales() -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for table in (_BY_POWER, _ALSO):
        for power, words in table.items():
            for word in words.split():
                found.setdefault(word, set()).add(10**power)
    return {word: tuple(sorted(factors)) for word, factors in found.items()}


SCALES = _scales()
"""What multiplies the number before it, in lower case. A billion is 10^9 or 10^12, depending on who writes it."""
LETTERS = {"k": "kK", "m": "mM", "b": "B", "t": "T"}
"""Single letters that may scale, as they may be written; they may also be units, so the number by itself counts too."""

_MONTHS = (
    "January February March April May June July August September October November December "
    "Januar Februar März Mai Juni Juli Oktober Dezember Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mär Okt Dez "
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "
    "januari februari maart april mei juni juli augustus september oktober november december "
    "janeiro fevereiro março maio junho julho setembro outubro novembro dezembro "
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia "
    "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień "
    "augusti januar februar marts august desember"
)
MONTHS = tuple(sorted(set(_MONTHS.split()), key=lambda name: (-len(name), name)))
SHORT_MONTHS = (
    "janv févr avr juil août sept oct nov déc ene feb mar abr may jun jul ago sep dic gen mag giu lug set ott jan fev mai out dez "
    "mrt apr aug okt dec des sty lut kwi cze lip sie wrz paź lis gru"
)
"""In lower case they are words of other languages too, so they count before a year alone."""

_UNITS = (
    "g kg t mg lb lbs oz m km cm mm ft in mi l ml cl h hr hrs hours min mins s sec ms d day days w wk y yr yrs x pp bp bps pt pts "
    "b kb mb gb tb kib mib gib kw mw kwh mwh gwh wh v kv hz khz mhz ghz c f px pcs stk st std tage jahre"
)
UNITS = frozenset(_UNITS.split())
"""What may stand right behind a number's digits and leave it a number; other letters make it part of a name, such as 4711A."""

_ORDINALS = "st nd rd th er ère ere re e è ème eme de te ste º ª o a"
ORDINALS = frozenset(_ORDINALS.split())

HEDGES = re.compile(
    r"(?i:\b(?:about|around|approx(?:imately)?\.?|roughly|some|nearly|almost|circa|c?ca\.|etwa|rund|ungefähr|zirka|fast|environ|presque|"
    r"à peu près|unos|unas|casi|aproximadamente|alrededor de|quasi|ungeveer|bijna|cerca de|około)|[~≈])\s*$"
)
OVER = re.compile(r"(?i:\b(?:over|more than|above|at least|über|mehr als|mindestens|gut|plus de|au moins|más de|al menos)|>)\s*$")
UNDER = re.compile(
    r"(?i:\b(?:under|less than|below|nearly|almost|just short of|unter|weniger als|knapp|fast|moins de|presque|menos de|casi)|<)\s*$"
)

LABELS = re.compile(
    r"(?i:(?<![^\W_])(?:steps?|options?|part|phase|section|chapter|pages?|tables?|figure|fig|level|tier|version|release|v|schritt|teil|"
    r"abschnitt|kapitel|seite|tabelle|abbildung|stufe|étape|partie|tableau|paso|parte|página|tabla|iso|rfc|din|artikel|article|art|kw|week|"
    r"woche|quarter)|§)\.?[ \u00a0#]*$"
)
"""What is numbered so is a place in a text, a standard or a version, and no figure."""
IN_A_YEAR = re.compile(
    r"(?i:(?<![^\W_])(?:in|since|until|till|during|year|years|fy|im jahr|im jahre|jahr|seit|en|depuis|desde|hasta|año|nel|dal|"
    r"early|mid|late|spring|summer|autumn|fall|winter|q[1-4]|h[12]))[ \u00a0'\u2019-]*$"
)
DASHES = r"\-\u2013\u2014"
MORE_YEARS = re.compile(rf"(?:19|20)\d\d\s*(?:[{DASHES}/]|to|and|bis|und|à|et|a|y)\s*$")
