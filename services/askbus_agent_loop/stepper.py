"""One model call of a turn: claimed, streamed, interrupted where it must be, and recorded once."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import structlog
from opentelemetry.trace import SpanKind

from askbus.actions.notes import ActionNote
from askbus.bus.connection import Connection
from askbus.db.ids import new_id
from askbus.db.outages import TROUBLE
from askbus.db.pool import Pool
from askbus.grounding.check import ungrounded
from askbus.grounding.model import Ungrounded
from askbus.models.adapters import Models
from askbus.models.model import Accepts, Answering, Completion, Fault, Finish, ModelRequest, ProviderError, TextDelta
from askbus.runtime import crash
from askbus.runtime.settings import Settings
from askbus.runtime.telemetry import span, traceparent
from askbus.tools.catalogue import check_arguments
from askbus.tools.model import ToolSpec
from askbus.tools.work import UNKNOWN
from askbus.turns import verbs
from askbus.turns.model import Claim, NewCall
from askbus.turns.verbs import ModelStep
from askbus.usage import verbs as usage
from askbus.usage.model import Outcome, Spent
from askbus_agent_loop.claims import says_done
from askbus_agent_loop.decide import SETTINGS, Last
from askbus_agent_loop.files import Files, load_files
from askbus_agent_loop.grounds import known_of
from askbus_agent_loop.meter import Meter
from askbus_agent_loop.pieces import Pieces
from askbus_agent_loop.prompt import Bounds, build_request
from askbus_agent_loop.substance import lacks_substance
from askbus_agent_loop.trimming import PromptTooLong
from askbus_agent_loop.view import TurnView
from askbus_agent_loop.words import shown, words_of

log = structlog.get_logger()

_CODES = {
    Fault.NOT_CONFIGURED: "model_not_configured",
    Fault.NOT_ACCEPTED: "files_not_accepted",
    Fault.TOO_LONG: "prompt_too_long",
    **dict.fromkeys((Fault.AUTH, Fault.QUOTA, Fault.BAD_REQUEST), "model_refused"),
}


NONE_LEFT = "Not run: this was the last step of the turn, and it was to be an answer."


@dataclass(frozen=True)
class ModelCall:
    """A claimed step with all that the request is made of: the turn, its active time so far, what became of its thread's actions, and
    whether it is the turn's last."""

    turn: TurnView
    claim: Claim
    active_ms: int
    notes: Sequence[ActionNote]
    last: Last | None = None


@dataclass(frozen=True)
class Answer:
    """What the model said, and the files that it was given."""

    said: Completion
    files: Files


class Stepper:
    """Makes the model calls of one process."""

    def __init__(
        self, pool: Pool, nc: Connection, models: Models, settings: Settings, *, holder: UUID, tools: tuple[ToolSpec, ...]
    ) -> None:
        self.pool = pool
        self.nc = nc
        self.models = models
        self.settings = settings
        self.holder = holder
        self.tools = tools

    async def call_model(self, call: ModelCall, stopped: asyncio.Event) -> bool:
        """Does a claimed step. True where the turn has more to do at once; false where it waits for tools, is over, or went to another
        worker meanwhile. Whatever it raises, the step is handed back first: a lease that outlived its worker's failure would make the
        next deliveries wait for it rather than fail, and the turn would not be given up before its clock ran out.
        """
        meter = Meter()
        try:
            return await self._call_model(call, stopped, meter)
        except BaseException:
            try:
                await verbs.release(self.pool, call.claim, holder=self.holder)
                await self._charge(call.claim, meter, Outcome.CUT)
            except TROUBLE as trouble:
                log.warning("turn.not_handed_back", turn_id=str(call.claim.turn_id), error=type(trouble).__name__)
            raise

    async def _charge(self, claim: Claim, meter: Meter, outcome: Outcome) -> None:
        """Records what a call cost that came to no recorded answer, unless that is recorded already."""
        if meter.began:
            spent = meter.spent(outcome)
            await usage.record_step(self.pool, claim.turn_id, step=claim.step, attempt=claim.attempt, spent=spent)

    async def _call_model(self, call: ModelCall, stopped: asyncio.Event, meter: Meter) -> bool:
        claim = call.claim
        left = self.settings.turn_seconds - call.active_ms / 1000
        async with Pieces(self.nc, claim) as pieces:
            answer = asyncio.create_task(self._ask(call, left, pieces, meter))
            lost = asyncio.create_task(self._keep(claim))
            stop = asyncio.create_task(stopped.wait())
            try:
                await asyncio.wait({answer, lost, stop}, timeout=max(left, 0.01), return_when=asyncio.FIRST_COMPLETED)
                if answer.done():
                    return await self._record(call, pieces, answer, meter)
                await _end(answer)
                return await self._interrupted(claim, pieces, meter, late=not (lost.done() or stop.done()))
            finally:
                for task in (answer, lost, stop):
                    await _end(task)

    async def _ask(self, call: ModelCall, left: float, pieces: Pieces, meter: Meter) -> Answer:
        """The answer of the model that the workspace chose, streamed on the way. Raises ProviderError."""
        model = self.models.of(call.turn.model)
        files = await self._files(call.turn, model.accepts)
        request = self._request(call, files).model_copy(update={"patience": left})
        pieces.model = name = model.name
        meter.begin(name)
        with span(
            f"chat {name}", kind=SpanKind.CLIENT, **{"gen_ai.operation.name": "chat", "gen_ai.request.model": name}
        ) as current:
            async with aclosing(model.stream(request)) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        await pieces.delta(event.text)
                        crash.point("agent.model.after_delta")
                        continue
                    if isinstance(event, Answering):
                        pieces.model = meter.model = event.model
                        continue
                    if event.usage is not None:
                        current.set_attribute("gen_ai.usage.input_tokens", event.usage.input_tokens)
                        current.set_attribute("gen_ai.usage.output_tokens", event.usage.output_tokens)
                    return Answer(event, files)
        raise ProviderError(Fault.BAD_RESPONSE, "the stream ended without a completion")

    async def _files(self, turn: TurnView, accepts: Accepts) -> Files:
        """Raises ProviderError where the message has a file that the model does not take."""
        settings = self.settings
        return await load_files(self.pool, turn, accepts, most=settings.prompt_files, most_bytes=settings.prompt_file_bytes)

    def _request(self, call: ModelCall, files: Files) -> ModelRequest:
        """Raises ProviderError where it is larger than may be sent."""
        bounds = Bounds(self.settings.prompt_exchanges, self.settings.prompt_bytes)
        try:
            return build_request(call.turn, call.notes, datetime.now(UTC), self.tools, bounds=bounds, last=call.last, files=files)
        except PromptTooLong as error:
            raise ProviderError(Fault.TOO_LONG, f"ASKBUS_PROMPT_BYTES: {error}") from error

    async def _keep(self, claim: Claim) -> None:
        """Renews the lease while the model works; returns once it is not ours any more."""
        while True:
            await asyncio.sleep(self.settings.lease / 3)
            try:
                if not await verbs.renew(self.pool, claim, holder=self.holder, lease=self.settings.lease):
                    return
            except TROUBLE as error:
                log.warning("turn.lease_not_renewed", turn_id=str(claim.turn_id), error=type(error).__name__)

    async def _record(self, call: ModelCall, pieces: Pieces, answer: "asyncio.Task[Answer]", meter: Meter) -> bool:
        claim = call.claim
        try:
            answered = answer.result()
        except ProviderError as error:
            await self._failed(claim, pieces, error, meter)
            return False
        meter.told(answered.said.model, answered.said.usage)
        await pieces.flush()
        crash.point("agent.model.before_record")
        step = _step(call, answered, self.tools, meter.spent(Outcome.DONE), turn_seconds=self.settings.turn_seconds)
        recorded = await verbs.finish_model_step(self.pool, claim, step, trace=traceparent())
        crash.point("agent.nudge.after_record" if step.nudged else "agent.model.after_record")
        if recorded is None:
            return await self._interrupted(claim, pieces, meter, late=False)
        if step.error is not None:
            _log_failed(claim, step.error)
        elif step.nudged and step.ungrounded:
            log.info("turn.sent_back", turn_id=str(claim.turn_id), step=claim.step, numbers=len(step.ungrounded))
            await pieces.again()
        elif step.calls:
            _log_refused(claim, step.calls)
            await pieces.calls([shown(call) for call in step.calls])
        await pieces.end()
        return step.error is None and (step.nudged or (bool(step.calls) and all(call.refusal is not None for call in step.calls)))

    async def _failed(self, claim: Claim, pieces: Pieces, error: ProviderError, meter: Meter) -> None:
        meter.told(pieces.model, error.usage)
        code = _CODES.get(error.fault, "model_unavailable")
        log.error("turn.model_failed", turn_id=str(claim.turn_id), step=claim.step, fault=error.fault.value, detail=error.detail)
        await self._charge(claim, meter, Outcome.FAILED)
        await verbs.fail(self.pool, claim.turn_id, code, claim=claim, trace=traceparent())
        await verbs.record_cut(self.pool, claim, text=pieces.text, model=pieces.model, cut="failed")
        await pieces.cut("failed")

    async def _interrupted(self, claim: Claim, pieces: Pieces, meter: Meter, *, late: bool) -> bool:
        """The clock ran out, or the turn was stopped: what was said so far is kept, marked as cut. Returns False: nothing follows."""
        await self._charge(claim, meter, Outcome.CUT)
        if late:
            _log_failed(claim, "out_of_time")
            await verbs.fail(self.pool, claim.turn_id, "out_of_time", claim=claim, trace=traceparent())
        crash.point("agent.stop.before_record")
        why = "failed" if late else "stopped"
        await verbs.record_cut(self.pool, claim, text=pieces.text, model=pieces.model, cut=why)
        await pieces.cut(why)
        return False


def _log_failed(claim: Claim, code: str) -> None:
    log.warning("turn.failed", turn_id=str(claim.turn_id), step=claim.step, code=code, setting=SETTINGS.get(code))


def _step(call: ModelCall, answered: Answer, tools: tuple[ToolSpec, ...], spent: Spent, *, turn_seconds: float) -> ModelStep:
    """What is recorded of an answer: as it stands, as one that the model is to better once (C34, R8), or as the turn's end (C34)."""
    said = answered.said
    empty = not said.tool_calls and lacks_substance(said.text)
    asked_again = any(before.nudged and not before.ungrounded for before in call.turn.answers)
    spoilt = bool(said.tool_calls) if call.last is not None else empty and asked_again
    error = None
    if spoilt or (empty and call.last is not None):
        error = "too_many_steps" if call.last is Last.BUDGET else "no_answer"
    numbers = [] if empty or said.tool_calls else _numbers(call, answered)
    return ModelStep(
        text=said.text,
        calls=_calls(said, tools, call.last),
        provider_data=said.provider_data.model_dump(mode="json") if said.provider_data else None,
        cut="length" if said.finish is Finish.LENGTH and not said.tool_calls else None,
        spent=spent,
        nudged=error is None and (empty or (bool(numbers) and _goes_back(call, turn_seconds))),
        error=error,
        claims=not said.tool_calls and says_done(said.text),
        ungrounded=numbers,
    )


def _numbers(call: ModelCall, answered: Answer) -> list[Ungrounded]:
    """The answer's numbers without a source. Of an answer to pictures or PDF files that the model itself looked at nothing can be said."""
    if answered.files.parts or not any(character.isdigit() for character in answered.said.text):
        return []
    return ungrounded(answered.said.text, *known_of(call.turn, call.notes, answered.files, datetime.now(UTC)))


def _goes_back(call: ModelCall, turn_seconds: float) -> bool:
    """Once a turn, where its workspace wants that, and while enough of its budgets is left for another answer."""
    before = any(said.nudged and said.ungrounded for said in call.turn.answers)
    return call.turn.asks_again and not before and call.last is None and call.active_ms < turn_seconds * 1000 / 2


def _calls(said: Completion, tools: tuple[ToolSpec, ...], last: Last | None) -> list[NewCall]:
    return [
        NewCall(
            id=new_id(),
            position=position,
            provider_id=call.id,
            name=call.name,
            arguments=call.arguments_text,
            refusal=NONE_LEFT if last is not None else call.refusal or check_arguments(call.name, call.arguments or {}, tools),
            extra=call.extra,
            **words_of(tools, call.name),
        )
        for position, call in enumerate(said.tool_calls)
    ]


def _log_refused(claim: Claim, calls: Sequence[NewCall]) -> None:
    """Calls that are not run: of a tool that is not there, or with arguments that it does not take. What the model wrote is not logged."""
    for call in calls:
        if call.refusal is not None:
            tool = call.name if call.label is not None else UNKNOWN
            log.warning("tool_call.refused", turn_id=str(claim.turn_id), call_id=str(call.id), tool=tool)


async def _end(task: "asyncio.Task[None] | asyncio.Task[bool] | asyncio.Task[Answer]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
