"""`make fuzz`: the stack, a company, and Schemathesis as its owner, as a token and as a viewer. SECONDS says for how long in all."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence

from tests.fuzz.scene import Scene, scene

from askbus.testing.people import Agent, Person

SECONDS = 600
CALM = (
    *("--no-color", "--continue-on-failure", "--suppress-health-check", "all"),
    *("--request-timeout", "60"),
    *("--generation-database", "none", "--generation-with-security-parameters", "false"),
)
LEFT_OUT = (
    "--exclude-path-regex",
    "^/v1/session(/workspace)?$",
    "--exclude-checks",
    "positive_data_acceptance,negative_data_rejection",
)
"""Signing out, and going on elsewhere, would end the session that all of it runs with. What a schema allows may still be refused: rules go
further than schemas. Nonsense is looked for by a check of hooks.py."""
ITSELF = ("--exclude-path-regex", r"^/v1/tokens/\{id\}$")
"""A token can revoke itself, and would be nobody from then on."""


def headers(who: Person | Agent, cookie: str) -> list[str]:
    """Who it calls as."""
    if isinstance(who, Agent):
        return ["-H", f"Authorization: Bearer {who.token}"]
    return ["-H", f"Cookie: {cookie}={who.cookie}", "-H", "X-Askbus: 1"]


async def fuzz(stage: Scene, caller: str, *options: str) -> tuple[int, str]:
    """One run of Schemathesis as this caller: its exit status and its report."""
    who = stage.callers[caller]
    argv = ["run", f"{stage.services.http}/v1/openapi.json", *headers(who, "askbus_session"), *CALM, *LEFT_OUT, *options]
    if isinstance(who, Agent):
        argv += ITSELF
    env = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks", "ASKBUS_FUZZ_KNOWN": json.dumps(stage.known)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", *argv),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=env,
    )
    assert process.stdout is not None
    report = (await process.stdout.read()).decode(errors="replace")
    async with stage.services.client(who) as client:
        assert (await client.get("/v1/me")).status_code == 200, "the caller lost its session or token on the way"
    return await process.wait(), report


async def main(seconds: int, only: Sequence[str]) -> int:
    """All callers, one after the other."""
    worst = 0
    async with scene() as stage:
        callers = only or list(stage.callers)
        for caller in callers:
            status, report = await fuzz(stage, caller, "--max-time", str(max(1, seconds // len(callers))))
            print(f"=== as {caller}\n{report}", flush=True)  # noqa: T201  # people watch it
            worst = max(worst, status)
    return worst


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main(int(os.environ.get("SECONDS") or SECONDS), sys.argv[1:])))
