"""Which final answers say nothing: a table, because each row is a judgement."""

import pytest

from askbus_agent_loop.substance import lacks_substance

pytestmark = pytest.mark.requirement("C34")


@pytest.mark.parametrize("text", ["", " ", "\n\n", "…", "...", "**", "```\n```", "—", "\u200b", "- "])
def test_an_answer_without_a_word_says_nothing(text: str) -> None:
    """Marks of Markdown and punctuation are not words."""
    assert lacks_substance(text)


@pytest.mark.parametrize(
    "text",
    [
        "Let me look.",
        "Let me check the orders.",
        "Let me check the orders for you.",
        "Let me look into that...",
        "I'll look that up.",
        "I\N{RIGHT SINGLE QUOTATION MARK}ll look that up.",
        "I will now query the records.",
        "I'm going to search for the customer.",
        "First, let me find the largest invoices.",
        "Sure! Let me pull the numbers.",
        "Sure, I'll check.",
        "OK. Now I will fetch the list of suppliers.",
        "Of course. Let me see what the records say.",
        "**Let me check that.**",
        "One moment, please.",
        "Just a moment.",
        "Checking the orders now.",
        "Here are the orders:",
        "The two largest are:",
        "Here is what I found\N{FULLWIDTH COLON}",
        "Ich schaue kurz nach.",
        "Ich prüfe das jetzt.",
        "Lassen Sie mich das prüfen.",
        "Lass mich nachsehen.",
        "Einen Moment, bitte.",
        "Klar, ich sehe das gleich nach.",
        "Hier sind die Bestellungen:",
        "Je vais vérifier les commandes.",
        "Laissez-moi chercher.",
        "Voy a consultar los pedidos.",
        "Déjame revisar.",
    ],
)
def test_one_short_sentence_about_what_comes_next_says_nothing(text: str) -> None:
    """Nothing comes next: the model called no tool."""
    assert lacks_substance(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hello.",
        "Done.",
        "No.",
        "Yes, it is.",
        "👍",
        "42",
        "The total is 600.60.",
        "I looked at the record.",
        "I have proposed it, and it waits for you.",
        "I will propose the change.",
        "Let me know if you need more.",
        "Let me know which one you mean.",
        "Let me check one thing first: which customer do you mean?",
        "Should I look that up?",
        "I'll check again once the import has run.",
        "I will look at it again when you have confirmed the change.",
        "I'll see to it that you are asked before anything changes.",
        "I cannot find an order of that name.",
        "I will not read that.",
        "Let me get this straight: you want order 17 cancelled.",
        "Let me check. There are three open orders.",
        "Let me check the orders. Together they come to 12.",
        "I'll list them:\n\n- Miller\n- Smith",
        "Here are the orders:\n1. A\n2. B",
        "There are 3 orders, as follows:",
        "It says: nothing.",
        "Looking at the orders, the north grew most.",
        "Finding the customer was not possible.",
        "Ich schlage die Änderung vor.",
        "Ich sehe keine Bestellung auf diesen Namen, schaue aber nicht nach.",
        "Ich sehe nach, sobald der Import fertig ist.",
        "Sehen Sie sich die Karte an.",
        "Moment mal, das stimmt nicht.",
        "Je vais bien.",
        "Voy a proponer el cambio.",
        "Let me look " + "at this and that " * 15,
    ],
)
def test_whatever_is_in_doubt_is_an_answer(text: str) -> None:
    """An answer that is sent back costs more than an announcement that is let through."""
    assert not lacks_substance(text)
