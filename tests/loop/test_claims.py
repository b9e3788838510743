"""Which answers claim that a change is done, and which do not: a false mark is worse than a missed one."""

import pytest

from askbus_agent_loop.claims import says_done

CLAIMS = [
    "Done.",
    "Done! Ada's address is new.",
    "I've updated Ada's e-mail to ada@lovelace.example.",
    "I have now changed the country to SE.",
    "The e-mail of **Ada Lovelace** has been updated.",
    "Sure.\n\n- The record has been successfully created.",
    "Ada's country is now set to Sweden.",
    "Erledigt!",
    "Ich habe die E-Mail-Adresse von Ada geändert.",
    "Die Adresse ist jetzt aktualisiert.",
    "C\u2019est fait.",
    "J'ai mis à jour l'adresse.",
    "L'adresse a été modifiée.",
    "Hecho.",
    "He actualizado el correo.",
    "Se ha cambiado el país.",
]
NONE = [
    "",
    "I have prepared it; it is applied once you confirm it.",
    "I've updated it: please confirm on the card.",
    "I proposed to change Ada's e-mail.",
    "I've created a proposal.",
    "The change is pending. I have added the country too.",
    "I have not changed anything.",
    "Nothing has been updated.",
    "Es ist jetzt nichts geändert.",
    "Rien n'a été modifié.",
    "If it has been updated, you will see it.",
    "Should the e-mail be updated?",
    "Has it been updated?",
    "The record was last updated in 2023.",
    "Her address has already been updated earlier.",
    "I've updated the table below.",
    'The note says "Done. It has been updated".',
    "```\nI have updated it.\n```",
    "> I have updated it.",
    "Ada is done with it.",
    "The orders are now 4.",
    "Ich habe einen Vorschlag erstellt.",
    "Ich habe nichts geändert, es wartet auf Ihre Bestätigung.",
    "Ich habe den Vertrag gelesen. Er wurde 2021 geändert.",
    "J'ai créé une proposition.",
    "Je n'ai pas modifié l'adresse.",
    "He creado una propuesta.",
    "No se ha cambiado nada.",
    "Todavía no se ha actualizado.",
]


@pytest.mark.requirement("R19")
@pytest.mark.parametrize("text", CLAIMS)
def test_a_plain_claim_is_found(text: str) -> None:
    """In English, German, French and Spanish, with emphasis and in lists too."""
    assert says_done(text)


@pytest.mark.requirement("R19")
@pytest.mark.parametrize("text", NONE)
def test_what_claims_nothing_is_not_marked(text: str) -> None:
    """Proposals, negations, conditions, questions, quotations, earlier times, and talk about the answer itself."""
    assert not says_done(text)


@pytest.mark.requirement("R19")
def test_a_long_answer_is_read_in_time_that_grows_with_its_length() -> None:
    """A hundred thousand characters that almost match, again and again."""
    assert not says_done("ich habe " * 12_000)
    assert not says_done('"' * 100_000 + "I have " * 10_000)
