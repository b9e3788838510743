"""`askbus probes`, as an operator runs it."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic import JsonValue

from askbus.cli import main
from askbus.probes.model import probes
from askbus.testing.model_process import ScriptedModel

pytestmark = pytest.mark.requirement("C32")

SCRIPTS = Path(__file__).parents[1] / "probes"
NOTHING = {"ASKBUS_MODEL_API_KEY": None, "ASKBUS_MODEL_BASE_URL": None, "ASKBUS_MODELS": None}


def test_the_probes_are_listed_with_what_they_hold() -> None:
    """Without a model, and at once."""
    listed = CliRunner(env=NOTHING).invoke(main, ["probes", "--list"])
    assert listed.exit_code == 0
    assert [line.partition(":")[0] for line in listed.output.splitlines()] == [probe.name for probe in probes()]


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (["nonsense"], {}, "There is no probe 'nonsense'"),
        ([], {}, "No model is named"),
        (["--model", "other"], {"ASKBUS_MODEL_BASE_URL": "http://127.0.0.1:9/v1"}, "There is no model 'other'"),
    ],
)
def test_what_is_missing_is_named_before_anything_starts(arguments: list[str], env: dict[str, str], said: str) -> None:
    """In a line that says what there is, or what to set."""
    refused = CliRunner(env={**NOTHING, **env}).invoke(main, ["probes", *arguments])
    assert refused.exit_code == 2
    assert said in refused.output


async def test_a_probe_that_does_not_hold_is_shown_and_ends_the_command_with_1() -> None:
    """A whole askbus of its own, a model that is right once and wrong once, and a table that tells which."""
    entries: dict[str, list[dict[str, JsonValue]]] = {
        name: json.loads((SCRIPTS / f"{name}.json").read_text("utf-8")) for name in ("good", "bad")
    }
    wrong: list[JsonValue] = [entry for entry in entries["bad"] if entry["when"] == "standard deviation"]
    async with ScriptedModel([*wrong, *entries["good"]]) as model:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from askbus.cli import main; main()", "probes", "context_exact", "figure_not_available"),
            env={**os.environ, "ASKBUS_MODEL_BASE_URL": model.base_url, "COLUMNS": "200"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        output = (await process.communicate())[0].decode()
    assert process.returncode == 1, output
    lines = output.splitlines()
    assert any("context_exact" in line and "holds" in line for line in lines), output
    assert any("figure_not_available" in line and "FAILS" in line for line in lines), output
    assert "says 79.04, which no result holds" in output
    assert lines[-1] == "1 of 2 hold."
