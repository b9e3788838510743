"""The team's own database: a server of its own with fsync, so that nothing else works on it."""

import tempfile
from pathlib import Path

from tests.bench import large, records
from tests.bench.plan import Plan
from tests.bench.report import Measure

from askbus.stack.ports import free_port
from askbus.stack.postgres import Postgres
from askbus.testing.records import team_database


async def sections(plan: Plan) -> dict[str, list[Measure]]:
    """Reads and applies a second, and a large schema before and after the suggested indexes."""
    with tempfile.TemporaryDirectory(prefix="askbus-bench-") as folder:
        postgres = Postgres(Path(folder) / "postgres", port=free_port(), log=Path(folder) / "postgres.log")
        await postgres.start()
        try:
            found = {"records": await records.measures(postgres.url, plan.reads)}
            async with team_database(postgres.url, ledger=False) as team:
                found[f"400 tables, one of {plan.large:,} rows"] = await large.measures(team.url, plan.large)
        finally:
            await postgres.stop()
    return found
