"""`python -m tests.bench [--quick] [--json]`: what a turn and an event cost here and now, beside floors measured in the same run.

It asserts nothing about time. docs/performance.md explains the lines and keeps the numbers of one run.
"""

import argparse
import asyncio
import logging
import os
import resource
import sys
from dataclasses import replace
from time import monotonic

import structlog
import uvloop
from tests.bench import machine, mcp_door, measuring, team
from tests.bench.plan import QUICK, WHOLE, Plan
from tests.bench.report import Report
from tests.bench.stage import stage


async def records(plan: Plan) -> Report:
    """A run of what reading and changing records costs, and nothing else."""
    report = Report(machine.facts() | {"Postgres": "fsync is on"})
    began = monotonic()
    report.sections |= await team.sections(plan)
    report.machine["took"] = f"{monotonic() - began:.0f} s"
    return report


async def bench(plan: Plan) -> Report:
    """One run."""
    report = Report(machine.facts() | {"tracing": f"{plan.trace_ratio:g} of all traces are kept", "Postgres": "fsync is on"})
    began = monotonic()
    _say("starting Postgres, NATS and the six services")
    async with stage(plan.trace_ratio) as on:
        _say("warming up")
        await measuring.warm_up(on, plan)
        before = on.meter.read()
        await asyncio.sleep(plan.idle)
        idle = on.meter.read().since(before)
        start = on.meter.read()
        work: dict[int, measuring.Work] = {}
        for at_once, count in plan.at_once:
            _say(f"turns, {at_once} at once")
            work[at_once] = await measuring.turns(on, plan.blocks, count, at_once)
        others = on.meter.read().since(start).others
        report.machine["meanwhile"] = f"other work on this machine took about {others:.1f} of its {os.cpu_count()} cores"
        report.sections["a turn"] = measuring.turn_measures(work, idle)
        memory = on.meter.memory()
        _say("answers to turns that wait")
        report.sections["a turn"] += await measuring.resumed(on, plan)
        report.sections[f"CPU a turn by process, {plan.steady} at once"] = measuring.process_measures(
            work, plan.steady, idle, memory
        )
        _say("events")
        report.sections["an event"] = await measuring.events(on, plan)
    _say("calls over MCP")
    report.sections["a call over MCP"] = await mcp_door.measures(plan.mcp_calls)
    _say(f"records, and a table of {plan.large:,} rows")
    report.sections |= await team.sections(plan)
    report.machine["took"] = f"{monotonic() - began:.0f} s"
    return report


def _say(what: str) -> None:
    sys.stderr.write(f"… {what}\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="CPU a turn, first token, commit to SSE.")
    parser.add_argument("--quick", action="store_true", help="less of everything, to see that it works")
    parser.add_argument("--records", action="store_true", help="only what reading and changing records costs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--trace-ratio", type=float, default=WHOLE.trace_ratio, help="the part of traces that is kept (%(default)s)"
    )
    options = parser.parse_args()
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (hard, hard)
    )  # a thousand streams are as many files; the services inherit the limit
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    report = uvloop.run(
        (records if options.records else bench)(replace(QUICK if options.quick else WHOLE, trace_ratio=options.trace_ratio))
    )
    sys.stdout.write(f"{report.as_json() if options.json else report.as_text()}\n")


if __name__ == "__main__":
    main()
