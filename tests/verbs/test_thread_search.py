"""The search over one's own threads: every word as it is written, in any language, and nobody else's."""

from uuid import UUID

import pytest
from tests.verbs.thread_rows import begin, message, rename_command, thread_of
from tests.verbs.turn_rows import said, taken

from askbus.db.pool import Pool
from askbus.testing.people import Company
from askbus.threads import reads, verbs
from askbus.threads.lines import patterns
from askbus.threads.model import Hit, Search
from askbus.turns.verbs import finish_model_step


async def says(loop: Pool, company: Company, text: str, *, who: str = "mia", thread_id: UUID | None = None) -> UUID:
    """A message in a thread of this person's; the thread's id."""
    by = company[who].principal
    thread = thread_id or (await thread_of(loop, company, by=by)).id
    async with loop.acquire() as db, db.transaction():
        await begin(db, message(by, thread, text))
    return thread


async def find(pool: Pool, company: Company, q: str, *, who: str = "mia", **wanted: object) -> list[Hit]:
    search = Search.model_validate({"q": q, **wanted})
    return list((await reads.search(pool, company[who].principal, search)).hits)


@pytest.mark.requirement("C9")
async def test_words_are_found_in_any_language_and_case_and_form(loop: Pool, pool: Pool, company: Company) -> None:
    """Cyrillic, Greek, Chinese without spaces, German with its sharp s, an accent that was typed by itself, Arabic."""
    texts = {
        "привет": "Приветствую вас, Москва",
        "ΣΊΣΥΦΟΣ": "ο Σίσυφος ανεβαίνει",  # noqa: RUF001
        "发票": "请把这张发票发给我",
        "STRASSE": "in der Straße",
        "cafe\u0301": "im Café am Markt",
        "قيمة": "ما هي قيمة الطلب",
    }
    for q, text in texts.items():
        thread_id = await says(loop, company, text)
        assert [hit.thread.id for hit in await find(pool, company, q)] == [thread_id], q


@pytest.mark.requirement("C9")
async def test_every_word_must_be_there_in_any_order_and_the_answer_is_searched_too(
    loop: Pool, pool: Pool, company: Company
) -> None:
    """In one message, or in the title; the latest message that has them is shown."""
    thread_id = await says(loop, company, "the invoice of the north warehouse")
    await says(loop, company, "the invoice of the south")
    assert [hit.thread.id for hit in await find(pool, company, "warehouse  invoice")] == [thread_id]
    turn_id = await pool.fetchval("SELECT id FROM turns WHERE thread_id = $1", thread_id)
    assert await finish_model_step(loop, await taken(loop, turn_id), said(), trace=None)
    [hit] = await find(pool, company, "WORDS")
    assert (hit.thread.id, hit.role, hit.snippet) == (thread_id, "assistant", "words")
    await verbs.rename(loop, rename_command(company["mia"].principal, thread_id, "Quarterly accounts"), trace=None)
    [hit] = await find(pool, company, "accounts quarterly")
    assert (hit.message_id, hit.snippet) == (None, "Quarterly accounts")


@pytest.mark.requirement("C9")
async def test_wildcards_are_letters_like_any_other(loop: Pool, pool: Pool, company: Company) -> None:
    """Each is found where it stands, and stands for nothing else."""
    await says(loop, company, "plain words")
    thread_id = await says(loop, company, r"up by 100%, see a_b and c:\temp")
    for q in ("%", "_", "\\", "100%", "a_b", r"c:\t"):
        assert [hit.thread.id for hit in await find(pool, company, q)] == [thread_id], q
    assert await find(pool, company, "p%n") == []
    assert await find(pool, company, "w_rds") == []


@pytest.mark.requirement("C9", "I6")
async def test_nobody_finds_what_is_not_theirs_or_not_any_more(loop: Pool, pool: Pool, company: Company) -> None:
    """Neither a colleague nor an owner; and its own user not after leaving the project."""
    thread_id = await says(loop, company, "secret plan")
    for who in ("max", "owner", "admin", "stranger"):
        assert await find(pool, company, "secret", who=who) == []
    assert await find(pool, company, "secret", project_id=company.south) == []
    assert [hit.thread.id for hit in await find(pool, company, "secret", project_id=company.north)] == [thread_id]
    await pool.execute("DELETE FROM project_members WHERE user_id = $1", company["mia"].id)
    assert await find(pool, company, "secret") == []


@pytest.mark.requirement("C9")
async def test_pages_of_what_was_found_follow_each_other_without_a_gap(loop: Pool, pool: Pool, company: Company) -> None:
    """Latest made first, each thread once however often the word stands in it."""
    threads = [await says(loop, company, "needle") for _ in range(5)]
    await says(loop, company, "needle needle", thread_id=threads[0])
    seen: list[UUID] = []
    before = None
    while True:
        page = await reads.search(pool, company["mia"].principal, Search(q="needle", limit=2, before=before))
        seen += [hit.thread.id for hit in page.hits]
        before = page.next
        if before is None:
            break
    assert seen == threads[::-1]


@pytest.mark.requirement("C9")
async def test_a_search_reads_its_own_users_messages_alone(pool: Pool, company: Company) -> None:
    """By the indexes that lead from the user to their threads, latest first, and from each to its messages: other people's cost nothing."""
    given: dict[str, object] = {
        "words": patterns("needle"),
        "user_id": company["mia"].id,
        "workspace_id": company.workspace_id,
        "projects": None,
        "project_id": None,
        "before": None,
        "limit": 20,
    }
    arguments = [given[name] for name in reads.SEARCH.parameters]
    plan = "\n".join(row[0] for row in await pool.fetch(f"EXPLAIN {reads.SEARCH.sql}", *arguments))
    assert "threads_own" in plan
    assert "messages_thread_id_seq_key" in plan
    assert "Seq Scan on messages" not in plan
    assert "Sort" not in plan.partition("Limit")[2].partition("->")[0]
