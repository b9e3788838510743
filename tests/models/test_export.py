"""Written exports: what somebody said stays what they said, and acts on nobody who reads it."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from askbus_gateway.export.markdown import disarmed, quoted, to_markdown
from askbus_gateway.export.pdf import to_pdf
from askbus_gateway.export.transcript import Exchange, Transcript, Words

NOW = datetime(2026, 3, 2, 14, 5, 9, tzinfo=UTC)
ID = UUID(int=1)
COMMONMARK = MarkdownIt("commonmark").enable("table")
COMMONMARK.validateLink = lambda url: True  # type: ignore[method-assign]  # a reader that takes any link
HOSTILE = st.lists(
    st.sampled_from(
        ["```", "~~~", "````", "`", "<b onclick=x>", "</div>", "<!--", "![p](http://e.example)", "[a](javascript:x)",
         "\n[a]: javascript:x\n",
         "[a]", "](", "\n", "\n\n", " ", "    ", "\t", "- ", "> ", "1. ", "# ", "===", "---", "word", "\\", "&lt;", "&#106;", "<", "|", "<http://e>"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


def transcript(said: str, answer: str = "", *, times: int = 1, title: str = "A title") -> Transcript:
    def words(role: str, text: str) -> Words:
        return Words.model_validate(
            {"id": ID, "role": role, "at": NOW, "text": text, "model": "m", "cut": None, "files": (), "activity": ()}
        )

    exchange = Exchange(
        id=ID,
        state="completed",
        error=None,
        cancel_reason=None,
        retry_of=None,
        at=NOW,
        settled_at=NOW,
        messages=(words("user", said), words("assistant", answer)),
    )
    return Transcript(
        id=ID,
        title=title,
        project="north",
        created_at=NOW,
        updated_at=NOW,
        temporary=False,
        dropped_turns=0,
        earlier_changes=(),
        exchanges=(exchange,) * times,
    )


@pytest.mark.requirement("C9")
@settings(max_examples=400, deadline=None)
@given(HOSTILE)
def test_an_answer_acts_on_nobody_whatever_stands_in_it(answer: str) -> None:
    """Rendered by CommonMark it holds no HTML of its own, no picture and no link but to http, https and mail; and nothing of it stands
    outside of its quotation."""
    rendered = COMMONMARK.parse(to_markdown(transcript("hello", answer)))
    inner = [*rendered, *(child for token in rendered for child in token.children or ())]
    assert {token.type for token in inner}.isdisjoint({"html_block", "html_inline", "image"})
    links = [str(token.attrs["href"]) for token in inner if token.type == "link_open"]
    assert all(link.startswith(("http://", "https://", "mailto:")) for link in links)
    outside = [token.tag for token in rendered if token.type == "heading_open" and token.level == 0]
    assert outside == ["h1", "h2", *(["h2"] if answer else [])]


@pytest.mark.requirement("C9")
@settings(max_examples=400, deadline=None)
@given(HOSTILE)
def test_what_a_person_wrote_is_shown_as_it_was_written(said: str) -> None:
    """Every line of it, as text and nothing else."""
    tokens = COMMONMARK.parse("\n".join(quoted(said)))
    inner = [*tokens, *(child for token in tokens for child in token.children or ())]
    structure = {"blockquote_open", "blockquote_close", "paragraph_open", "paragraph_close", "inline", "hardbreak"}
    assert {token.type for token in inner} <= structure | {"text", "text_special"}
    seen = "".join(token.content for token in inner if token.type in {"text", "text_special"})
    assert "".join(seen.split()) == "".join(said.split())


@pytest.mark.requirement("C9")
def test_code_in_fences_stays_as_the_model_wrote_it() -> None:
    """Outside of them the same is disarmed."""
    lines = ["```html", "<b>![x](y)</b>", "```", "<b>![x](y)</b>"]
    assert list(disarmed(lines)) == ["```html", "<b>![x](y)</b>", "```", "&lt;b>!\\[x]\\(y)&lt;/b>"]
    assert list(disarmed(["- ```", *lines]))[2] == "&lt;b>!\\[x]\\(y)&lt;/b>"


@pytest.mark.requirement("C9")
def test_a_printed_export_is_the_same_bytes_and_marks_what_its_fonts_lack() -> None:
    """No text is too odd, no word too long for a line, and none of it is left out without a mark."""
    odd = "Ünïcode Привет Ωμέγα → ✓ ≤ 中文 😀👨‍👩‍👧 قيمة हिन्दी \x00\x07 e\u0301 " + "x" * 4000 + "\n\n\t" + "\ud7ff\ufffd"
    first = to_pdf(transcript(odd, odd, title=odd[:80]))
    assert first == to_pdf(transcript(odd, odd, title=odd[:80]))
    assert first.startswith(b"%PDF-")
    assert len(to_pdf(transcript("short", "line\n" * 500))) > 0
