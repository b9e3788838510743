"""Pictures that a tool makes."""

import pytest
from tests.doors.files.stage import Chat


@pytest.mark.requirement("C29")
async def test_a_picture_is_made_kept_and_shown(chat: Chat) -> None:
    """At the endpoint's own version, once for the call; people see it in the thread, and what it cost is recorded."""
    thread_id = await chat.thread()
    done = await chat.say(thread_id, "paint stripes")
    assert "a dot.png" in done["answer"]
    made = next(request for request in await chat.model.requests() if request.path and "stripes" in str(request.body))
    assert (made.path, made.body) == ("/v1/images/generations", {"model": "gpt-image-1", "prompt": "stripes", "n": 1})
    messages = (await chat.client.get(f"/v1/threads/{thread_id}")).json()["messages"]
    [shown] = [file for message in messages for file in message["attachments"]]
    assert (shown["name"], shown["media_type"]) == ("a dot.png", "image/png")
    content = await chat.client.get(f"/v1/attachments/{shown['id']}/content")
    assert (content.status_code, content.content[:4]) == (200, b"\x89PNG")
    async with chat.running.client(chat.company["max"]) as max_:
        assert (await max_.get(f"/v1/attachments/{shown['id']}/content")).status_code == 404
    spent = await chat.pool.fetchrow(
        "SELECT outcome, input_tokens, output_tokens FROM usage WHERE kind = 'image' AND thread_id = $1", thread_id
    )
    assert spent is not None
    assert dict(spent) == {"outcome": "done", "input_tokens": 11, "output_tokens": 272}


@pytest.mark.requirement("C29")
async def test_a_picture_that_is_not_made_is_said_in_our_own_words(chat: Chat) -> None:
    """Refused, garbled or only linked to: the model can go on, and reads nothing of what the provider wrote."""
    thread_id = await chat.thread()
    for prompt, code in (("refuse", "invalid_input"), ("garble", "unavailable"), ("link", "unavailable")):
        answer = (await chat.say(thread_id, f"paint {prompt}"))["answer"]
        assert code in answer
        assert "sk-secret" not in answer
        assert "elsewhere.example" not in answer
    assert await chat.pool.fetchval("SELECT count(*) FROM pictures WHERE thread_id = $1", thread_id) == 0
    each = "SELECT DISTINCT ON (source_id) outcome FROM usage WHERE kind = 'image' AND thread_id = $1 ORDER BY source_id, at"
    outcomes = await chat.pool.fetch(each, thread_id)
    assert [row["outcome"] for row in outcomes] == ["failed", "done", "failed"]
