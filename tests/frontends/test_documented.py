"""The code that docs/frontends.md shows runs as it stands."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from tests.frontends.stage import JS, Stage, a_name, node

pytestmark = pytest.mark.requirement("C26", "C36")

DOCUMENT = (Path(__file__).parents[2] / "docs/frontends.md").read_text("utf-8")
AG_UI, AI_SDK = re.findall(r"```js\n(.*?)```", DOCUMENT, re.DOTALL)[:2]
"""The third is a page's: tests/browser runs it."""
GIVEN = """\
const { ASKBUS, PROJECT, HEADERS, THREAD, TEXT } = JSON.parse(process.argv[1]);
const ask = async (interrupt) => interrupt.responseSchema.enum[1];
"""
SEND = """
const said = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: TEXT }] };
const stream = await transport.sendMessages({ chatId: THREAD, messages: [said], trigger: "submit-message" });
let text = "";
for await (const chunk of stream) if (chunk.type === "text-delta") text += chunk.delta;
if (sendAutomaticallyWhen({ messages: [said] })) throw new Error("nothing is complete");
console.log(text);
"""


@pytest.mark.parametrize(
    ("shown", "text", "answer"),
    [
        (AG_UI + "console.log(agent.messages.at(-1).content);", "colour", "You said: blue"),
        (AI_SDK + SEND, "good day", "Good day to you, and to all the others."),
    ],
    ids=["AG-UI", "AI SDK"],
)
async def test_the_code_in_the_document_runs(stage: Stage, shown: str, text: str, answer: str) -> None:
    """As a server in between would run it."""
    headers = stage.headers(stage.company["mia"])
    given = {"ASKBUS": stage.running.http, "PROJECT": str(stage.company.north), "HEADERS": headers}
    process = await asyncio.create_subprocess_exec(
        node(),
        *("--input-type=module", "--eval", GIVEN + shown, json.dumps({**given, "THREAD": a_name("t"), "TEXT": text})),
        cwd=JS,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, complaints = await process.communicate()
    assert out.decode().strip().splitlines()[-1:] == [answer], complaints.decode()
