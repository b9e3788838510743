"""The parts of a run, each ending in the lines that it adds to the report."""

from functools import reduce
from operator import add
from uuid import UUID

from tests.bench.events import Audience, Deliveries, Server, answers, deliver, notifications
from tests.bench.meter import CLIENT, Reading
from tests.bench.notify_floor import QUIET, TOLD
from tests.bench.plan import Plan
from tests.bench.report import Measure, percentile
from tests.bench.script import CONSTANT, QUESTION, RECORDS
from tests.bench.stage import COUNTED, SERVICES, STORES, Stage
from tests.bench.turns import Turns, answer_and_resume, run_turns

CPU = 16.0
CPU_IN_WORDS = "stretch 12 ms; where these were set the floor was 10.8 ms: 1.48 and 1.11 of it"
FIRST_TOKEN = 1.5
RESUMED = 20.0
FLOOR = ("sdk-loop",)
MANY = 100
"""From so many streams on, what one of them costs is worth a line."""

PEER = ("durable-peer", "postgres")
FLOOR_WORK, PEER_WORK = "floor", "peer"

Work = dict[str, Turns]
"""By what the user said; the floor's and the peer's under names of their own."""


async def warm_up(stage: Stage, plan: Plan) -> None:
    """Connections, statements, caches: what only the first turns pay."""
    for work in (CONSTANT, RECORDS, FLOOR_WORK, PEER_WORK):
        await _block(stage, work, plan.warm_up, plan.steady)


async def turns(stage: Stage, blocks: int, count: int, at_once: int) -> Work:
    """The same number of turns of each kind, in blocks that take turns."""
    done: dict[str, list[Turns]] = {CONSTANT: [], FLOOR_WORK: [], PEER_WORK: [], RECORDS: []}
    for _ in range(blocks):
        for work, some in done.items():
            some.append(await _block(stage, work, count, at_once))
    return {work: reduce(add, some) for work, some in done.items()}


async def _block(stage: Stage, work: str, count: int, at_once: int) -> Turns:
    others = {FLOOR_WORK: stage.sdk_loop, PEER_WORK: stage.durable_peer}
    requests = await stage.turns(CONSTANT if work in others else work, count)
    port = others[work].hello["port"] if work in others else stage.port
    return await run_turns(stage.meter, port, requests, at_once)


def turn_measures(work: dict[int, Work], idle: Reading) -> list[Measure]:
    """CPU, speed and first tokens. What the six services make Postgres do without any turn is no cost of the peer's."""
    measures = []
    for at_once, done in work.items():
        rest = 1000 * idle.of(("postgres",)) / idle.at / done[PEER_WORK].per_second
        target = CPU if at_once > 1 else None
        measures.append(
            Measure(
                f"CPU a turn, {at_once} at once", "ms", done[CONSTANT].cpu_ms(COUNTED), done[FLOOR_WORK].cpu_ms(FLOOR),
                done[PEER_WORK].cpu_ms(PEER) - rest, most=target, also=CPU_IN_WORDS if target else "",
            )
        )  # fmt: skip
        measures.append(Measure("  the same with tools that read records", "ms", done[RECORDS].cpu_ms(COUNTED)))
    for at_once, done in work.items():
        ours, floor, peer = (done[kind].per_second for kind in (CONSTANT, FLOOR_WORK, PEER_WORK))
        measures.append(Measure(f"turns a second, {at_once} at once", "1/s", ours, floor, peer))
    for at_once, done in work.items():
        for percent in (50, 99):
            ours, floor, peer = (
                1000 * percentile(done[kind].first_tokens, percent) for kind in (CONSTANT, FLOOR_WORK, PEER_WORK)
            )
            most_ratio = FIRST_TOKEN if (at_once, percent) == (1, 50) else None
            measures.append(Measure(f"first token p{percent}, {at_once} at once", "ms", ours, floor, peer, most_ratio=most_ratio))
    return measures


def process_measures(work: dict[int, Work], at_once: int, idle: Reading, memory: dict[str, tuple[float, float]]) -> list[Measure]:
    """Where the CPU went, and what each process holds."""
    one, many = work[1], work[at_once]
    measures = []
    for name in (*SERVICES, *STORES, CLIENT, "model", "durable-peer"):
        rss, pss = memory.get(name, (0.0, 0.0))
        held = f"; {rss:.0f} MiB RSS, {pss:.0f} PSS" if rss else ""
        counted = "" if name in COUNTED else "not counted; "
        also = (
            f"{counted}{one[CONSTANT].cpu_ms((name,)):.1f} one at a time, {many[RECORDS].cpu_ms((name,)):.1f} reading records, "
            f"idle {1000 * idle.processes[name] / idle.at:.1f} ms/s{held}"
        )
        measures.append(Measure(name, "ms", many[CONSTANT].cpu_ms((name,)), also=also))
    return measures


async def resumed(stage: Stage, plan: Plan) -> list[Measure]:
    """From a person's answer to the text that follows it."""
    headers = stage.headers(stage.company["mia"])
    requests = await stage.turns(QUESTION, plan.resumed)
    took = [1000 * await answer_and_resume(stage.port, request, headers) for request in requests]
    return [
        Measure("answer to resumed first token p50", "ms", percentile(took, 50), most=RESUMED),
        Measure("answer to resumed first token p99", "ms", percentile(took, 99)),
    ]


async def events(stage: Stage, plan: Plan) -> list[Measure]:
    """From COMMIT to the bytes, to all of the streams and to one of them."""
    mia, admin, company = stage.company["mia"], stage.company["admin"], stage.company
    measures: list[Measure] = []
    for streams, rounds in plan.audiences:
        ours = Audience([(streams, stage.watching(mia))], hears=streams)
        floor = Audience([(streams, TOLD)], hears=streams)
        measures += await _both(stage, ours, floor, company.north, rounds)
    streams, rounds = plan.to_one
    ours = Audience([(streams - 1, stage.watching(mia)), (1, stage.watching(admin))], hears=1)
    floor = Audience([(streams - 1, QUIET), (1, TOLD)], hears=1)
    return measures + await _both(stage, ours, floor, company.south, rounds)


async def _both(stage: Stage, ours: Audience, floor: Audience, project_id: UUID, rounds: int) -> list[Measure]:
    gateway = Server("gateway", stage.port, stage.db, stage.meter)
    bare = Server("notify-floor", stage.notify_floor.hello["port"], stage.floor_db, stage.meter)
    questions = answers(stage.company["admin"].principal, project_id, rounds)
    return _event_measures(
        ours,
        await deliver(gateway, stage.watchers, ours, questions),
        await deliver(bare, stage.watchers, floor, notifications(rounds)),
    )


def _event_measures(audience: Audience, ours: Deliveries, floor: Deliveries) -> list[Measure]:
    whom = f"{audience.hears} of {audience.streams} streams" if audience.hears < audience.streams else f"to {audience.streams}"
    measures = [
        Measure(
            f"COMMIT to SSE p{percent}, {whom}", "ms",
            percentile(ours.arrivals, percent) * 1000, percentile(floor.arrivals, percent) * 1000,
            also=f"the commit itself {percentile(ours.commits, percent) * 1000:.2f}, floor {percentile(floor.commits, percent) * 1000:.2f}",
        )
        for percent in (50, 99)
    ]  # fmt: skip
    if audience.streams >= MANY:
        held, floors = (1024 * told.memory / audience.streams for told in (ours, floor))
        measures.append(Measure(f"  memory a stream, {whom}", "KiB", held, floors))
    if audience.hears >= MANY:
        spent, floors = (1e6 * told.cpu / (audience.hears * told.events) for told in (ours, floor))
        measures.append(Measure(f"  CPU a delivery, {whom}", "µs", spent, floors))
    return measures
