"""Two actions, people's edits and undos in any order, and at once: no value is overwritten that the one who confirmed did not see."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.records.any_change import Edit, Snapshot, edits, operations, prepared, snapshot
from tests.records.any_schema import CHECKS, DDL, UNSHRUNK, Data, data

from askbus.access.model import Principal
from askbus.records.apply import apply
from askbus.records.changes import Change, Image, Outcome, OutcomeState, PreparedOperation
from askbus.records.engine import Records, open_records
from askbus.records.undo import undo
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("R15", "R17")

Values = Mapping[str, str | None]


@dataclass(frozen=True)
class Step:
    """`propose`, `apply` or `undo` an action; `edit` something; or `apply` or `undo` while somebody edits and has not committed."""

    verb: str
    action: int = 0
    edit: Edit | None = None
    rest: bool = False


@dataclass(frozen=True)
class Case:
    data: Data
    actions: tuple[list[dict[str, Any]], ...]
    steps: tuple[Step, ...]


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    made = draw(data(most_tables=2, most_rows=4).filter(lambda one: one.rows[0]))
    actions = (draw(operations(made)), draw(operations(made)))
    edit = edits(made)
    steps = [
        st.builds(
            Step,
            st.sampled_from(["apply", "undo", "apply", "undo", "propose"]),
            st.integers(0, 1),
            st.none() | edit,
            st.booleans(),
        ),
        st.builds(Step, st.just("edit"), edit=edit),
        st.just(Step("both")),
    ]
    return Case(made, actions, tuple(draw(st.lists(st.one_of(steps), min_size=2, max_size=7))))


class History:
    """What happened, held against what may."""

    def __init__(self, team: TeamDatabase, records: Records, member: Principal, case: Case) -> None:
        self.team, self.records, self.member, self.case = team, records, member, case
        self.shown: list[tuple[PreparedOperation, ...]] = [(), ()]
        self.applied: list[UUID | None] = [None, None]

    async def propose(self, number: int) -> None:
        self.shown[number] = await prepared(self.records, self.member, self.case.actions[number])

    async def run(self) -> None:
        await self.propose(0)
        await self.propose(1)
        for step in self.case.steps:
            match step.verb:
                case "propose":
                    await self.propose(step.action)
                case "edit":
                    await self._beside(step.edit, None)
                case "both":
                    await self._both()
                case "apply" if self.shown[step.action]:
                    await self._beside(step.edit, partial(self._apply, step.action))
                case "undo" if self.applied[step.action] is not None:
                    await self._beside(step.edit, partial(self._undo, step.action, step.rest))

    async def _apply(self, number: int) -> Outcome:
        """Each confirmation is of what was shown last; it is not confirmed twice."""
        shown, self.shown[number] = self.shown[number], ()
        outcome = await apply(self.records, uuid4(), shown, self.member)
        if outcome.state is OutcomeState.APPLIED:
            self.applied[number] = outcome.id
            seen = {one.id: {change.field: change.before for change in one.changes} for one in shown if one.kind is Change.UPDATE}
            assert {image.operation: image.before for image in outcome.images if image.kind is Change.UPDATE} == seen
        return outcome

    async def _undo(self, number: int, rest: bool) -> Outcome:
        action = self.applied[number]
        assert action is not None
        return await undo(self.records, uuid4(), action, self.member, rest=rest)

    async def _both(self) -> None:
        """Both at once: one of them may find what the other left."""
        before = await self._now()
        ready = [number for number in (0, 1) if self.shown[number]]
        outcomes = await asyncio.gather(*(self._apply(number) for number in ready))
        self._check(before, sorted(outcomes, key=lambda one: one.at), await self._now())

    async def _beside(self, edit: Edit | None, work: Callable[[], Coroutine[Any, Any, Outcome]] | None) -> None:
        """`work` begins while the edit is not committed, and either waits for it or has nothing to do with it."""
        person = await asyncpg.connect(self.team.url)
        before = await self._now()
        held = person.transaction()
        await held.start()
        working: asyncio.Task[Outcome] | None = None
        try:
            edited = edit is not None and await self._edited(person, edit)
            between = await self._now(person) if edited else before
            if work is not None:
                working = asyncio.create_task(work())
                await self._waits_or_ends(person, working)
            try:
                await held.commit()
            except asyncpg.PostgresError:
                between = before
        finally:
            await person.close()
        outcome = await working if working is not None else None
        self._check(between, [outcome] if outcome else [], await self._now())

    async def _edited(self, person: "asyncpg.Connection[asyncpg.Record]", edit: Edit) -> bool:
        try:
            async with person.transaction():
                await person.execute(edit.sql)
        except asyncpg.IntegrityConstraintViolationError:
            return False
        return True

    async def _waits_or_ends(self, person: "asyncpg.Connection[asyncpg.Record]", working: "asyncio.Task[Outcome]") -> None:
        waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"

        async def waits() -> bool:
            return working.done() or bool(await person.fetchval(waiting))

        await until(waits)

    async def _now(self, person: "asyncpg.Connection[asyncpg.Record] | None" = None) -> Snapshot:
        return await snapshot(self.team, self.case.data, connection=person)

    def _check(self, before: Snapshot, outcomes: list[Outcome], after: Snapshot) -> None:
        """Replays on `before` what the outcomes say was done, each on what it says was there; nothing else may differ."""
        model: dict[Any, dict[str, str | None]] = {key: dict(values) for key, values in before.items()}
        for outcome in outcomes:
            note(repr(outcome))
            if outcome.state in {OutcomeState.APPLIED, OutcomeState.UNDONE}:
                for image in outcome.images:
                    self._replay(model, image, undoing=outcome.state is OutcomeState.UNDONE)
        assert model == {key: dict(values) for key, values in after.items()}

    def _replay(self, model: dict[Any, dict[str, str | None]], image: Image, *, undoing: bool) -> None:
        table = next(one for one in self.case.data.tables if one.name == image.collection)

        def place(key: Mapping[str, str]) -> Any:
            return table.name, tuple((name, key[name]) for name in table.key)

        if image.kind is Change.CREATE:
            if undoing:
                assert model.pop(place(image.key_before)) == image.before
            else:
                assert place(image.key) not in model
                model[place(image.key)] = dict(image.after)
            return
        found = model.pop(place(image.key_before))
        assert {name: found[name] for name in image.before} == image.before
        assert place(image.key) not in model
        model[place(image.key)] = {**found, **image.after}


@pytest.fixture(scope="module")
async def team(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """A database with the types and the ledger, which each example fills with tables of its own."""
    async with team_database(postgres_server.url) as made:
        await made.run(DDL, f"ALTER DATABASE \"{made.name}\" SET TimeZone = 'UTC'")
        yield made


async def check(team: TeamDatabase, member: Principal, case: Case) -> None:
    await team.run(";".join(case.data.statements()))
    records = open_records(team.url)
    try:
        await History(team, records, member, case).run()
    finally:
        await records.dispose()
        await team.run(";".join(case.data.drops()))


@settings(CHECKS, max_examples=8, derandomize=True, database=None)
@given(case=cases())
async def test_no_update_is_lost_however_actions_edits_and_undos_interleave(
    team: TeamDatabase, member: Principal, case: Case
) -> None:
    """Each applied action overwrote what was shown, each undo what its action left; where not, nothing was written."""
    await check(team, member, case)


@pytest.mark.drill
@settings(CHECKS, max_examples=1000, phases=UNSHRUNK)
@given(case=cases())
async def test_no_update_is_lost_in_many_histories(team: TeamDatabase, member: Principal, case: Case) -> None:
    """The same, wide."""
    await check(team, member, case)
