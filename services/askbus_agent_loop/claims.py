"""Whether an answer says that a change is done (R19). Pure, and narrow: a false mark is worse than a missed one.

Plain forms of English, German, French and Spanish. Nothing is found where the answer also speaks of confirming, proposing or waiting,
nor in questions, conditions and quotations.
"""

import re

_QUOTED = re.compile(
    r"```[\s\S]*?```|`[^`\n]*`|^[ \t]*>[^\n]*|\"[^\"\n]*\"|“[^”\n]*”|„[^“\n]*“|«[^»\n]*»",
    re.MULTILINE,
)
LONGEST_READ = 20_000
"""Characters of an answer that are looked at."""

_SENTENCE = re.compile(r"(?<=[.!?…:;])\s+|\n+")

_OPEN = re.compile(
    r"confirm|propos|pending|wait|await|approv|suggest|draft|review|prepar|not yet|once you|"
    r"bestätig|vorschlag|vorgeschlagen|wart|freigab|freigeb|genehmig|vorbereit|entwurf|noch nicht|sobald|"
    r"attend|attent|valid|approuv|suggér|brouillon|prépar|pas encore|dès que|"
    r"propuest|pendiente|esper|aprob|apruebe|sugier|borrador|todavía no|aún no|en cuanto",
    re.IGNORECASE,
)
"""An answer that says anywhere that the change is still open is not marked, whatever else it says."""

_UNSURE = re.compile(
    r"\?|\b(?:if|when|whether|unless|until|after|before|would|could|should|will|cannot|can't|not|never|no|nothing|none|nobody|neither|earlier|previously|already|"
    r"wenn|falls|ob|bis|nachdem|würde|könnte|soll|wird|nicht|nichts|niemand|nie|kein\w*|früher|bereits|schon|"
    r"si|quand|lorsque|avant|après|pas|rien|aucun\w*|personne|jamais|sera|serait|déjà|"
    r"cuando|antes|después|hasta|nada|nadie|ning\w*|nunca|será|sería|ya)\b",
    re.IGNORECASE,
)
"""A sentence with a condition, a negation or an earlier time claims nothing about now."""

_DID = "updated|changed|created|added|saved|applied|set|corrected|renamed|moved|recorded|entered"
_HAT = "aktualisiert|geändert|angelegt|erstellt|hinzugefügt|gespeichert|angewendet|eingetragen|korrigiert|umbenannt|gesetzt"
_FAIT = "mis à jour|modifié|créé|ajouté|enregistré|appliqué|changé|corrigé|renommé"
_HECHO = "actualizado|cambiado|creado|añadido|agregado|guardado|aplicado|modificado|corregido|renombrado"

_CLAIM = re.compile(
    rf"^(?:all )?(?:done|erledigt|c['\u2019]est fait|hecho)\s*[.!,:\u2014\u2013-]|^(?:done|erledigt|c['\u2019]est fait|hecho)$|"
    rf"\bI(?:['\u2019]ve| have)(?: now| successfully| just)? (?:{_DID})\b|"
    rf"\b(?:has|have)(?: now)? been(?: successfully)? (?:{_DID})\b|"
    rf"\b(?:is|are) now (?:{_DID})\b|"
    rf"\bich habe\b[^.,;!?]{{0,120}}\b(?:{_HAT})\b|\b(?:ist|sind) (?:jetzt|nun) (?:{_HAT})\b|"
    rf"\bj['\u2019]ai(?: bien)? (?:{_FAIT})(?:e|s|es)?\b|\b(?:a|ont)(?: bien)? été (?:{_FAIT})(?:e|s|es)?\b|"
    rf"\bhe (?:{_HECHO})\b|\b(?:se ha|se han|ha sido|han sido) (?:{_HECHO})\b",
    re.IGNORECASE,
)
_ABOUT_ITSELF = re.compile(
    r"\b(?:answer|reply|summary|table|chart|plan|list|calculation|antwort|tabelle|réponse|respuesta)\b", re.IGNORECASE
)


def says_done(text: str) -> bool:
    """Whether it claims plainly that something was changed just now, and says nowhere that it is still open."""
    plain = _QUOTED.sub(" ", text[:LONGEST_READ]).replace("*", "").replace("_", " ")
    if _OPEN.search(plain):
        return False
    sentences = (sentence.strip(" -•✅✓") for sentence in _SENTENCE.split(plain))
    return any(
        _CLAIM.search(sentence) and not _UNSURE.search(sentence) and not _ABOUT_ITSELF.search(sentence) for sentence in sentences
    )
