"""Every gap between two effects: the process dies there, is started anew, and the story ends as if nothing had happened."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest
from tests.faults import asking, scenes, telling
from tests.faults.conftest import World

from askbus.testing.invariants import assert_invariants
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("C2", "R16", "O3")

Scene = Callable[[World], Awaitable[None]]

Scenes = tuple[Scene, ...]
TURN: Scenes = (scenes.a_turn_changes_a_record,)
UNDOING: Scenes = (scenes.a_turn_is_undone,)
REPEATING: Scenes = (scenes.a_turn_is_repeated,)
FAILING: Scenes = (scenes.a_turn_fails,)
ASKING: Scenes = (scenes.an_agent_asks,)
STOPPING: Scenes = (scenes.a_turn_is_stopped,)
SEVERAL: Scenes = (asking.an_agent_asks_several,)
DECIDING: Scenes = (scenes.small_decisions,)
PROPOSING: Scenes = (scenes.an_agent_proposes,)
PAINTING: Scenes = (scenes.a_picture_is_made,)
STANDING: Scenes = (scenes.a_standing_approval_confirms,)
TELLING: Scenes = (telling.a_webhook_is_told,)
CLOSING: Scenes = (scenes.a_temporary_chat_is_closed,)

ROUNDS: list[tuple[Scenes, Mapping[str, str]]] = [
    (TURN, {"agent-loop": "agent.create_thread.before_commit", "tool-runner": "runner.start.before_commit",
            "action-applier": "applier.propose.before_commit", "question-broker": "broker.ask.before_commit"}),
    (TURN + STANDING, {"agent-loop": "agent.create_thread.after_commit", "tool-runner": "runner.start.after_commit",
            "action-applier": "applier.propose.after_commit", "question-broker": "broker.ask.after_commit"}),
    (TURN, {"agent-loop": "agent.start.before_commit", "tool-runner": "runner.finish.before_commit",
            "action-applier": "applier.confirm.before_commit", "question-broker": "broker.answer.before_commit"}),
    (TURN, {"agent-loop": "agent.start.after_commit", "tool-runner": "runner.finish.after_commit",
            "action-applier": "applier.confirm.after_commit", "question-broker": "broker.answer.after_commit"}),
    (TURN, {"agent-loop": "agent.claim.before_commit", "tool-runner": "runner.ask_user.before_command",
            "action-applier": "applier.apply.before_target", "question-broker": "relay.question-broker.before_publish"}),
    (TURN, {"agent-loop": "agent.claim.after_commit", "tool-runner": "runner.ask_user.after_command",
            "action-applier": "records.apply.claimed", "question-broker": "relay.question-broker.after_publish"}),
    (TURN, {"agent-loop": "agent.model.after_delta", "tool-runner": "runner.propose_changes.before_command",
            "action-applier": "records.apply.locked"}),
    (TURN, {"agent-loop": "agent.model.before_record", "tool-runner": "runner.propose_changes.after_command",
            "action-applier": "records.apply.operation"}),
    (TURN, {"agent-loop": "agent.model.after_record", "tool-runner": "relay.tool-runner.before_publish",
            "action-applier": "records.apply.written"}),
    (TURN, {"agent-loop": "agent.wait.after_commit", "tool-runner": "relay.tool-runner.after_publish",
            "action-applier": "records.apply.before_ledger"}),
    (TURN, {"agent-loop": "relay.agent-loop.before_publish", "action-applier": "records.apply.before_commit"}),
    (TURN, {"agent-loop": "relay.agent-loop.after_publish", "action-applier": "records.apply.after_commit"}),
    (TURN, {"agent-loop": "agent.model.before_record:2", "action-applier": "applier.apply.before_copy"}),
    (TURN + SEVERAL, {"agent-loop": "agent.model.after_record:2", "action-applier": "applier.apply.after_copy",
                      "question-broker": "broker.ask_set.between:2", "expiry": "expiry.remind.after_commit"}),
    (TURN + SEVERAL, {"agent-loop": "agent.claim.after_commit:2", "action-applier": "applier.undo.before_commit",
                      "question-broker": "broker.ask_set.after_commit", "expiry": "expiry.escalate.after_commit"}),
    (TURN + SEVERAL, {"agent-loop": "agent.model.after_record:3", "action-applier": "applier.undo.after_commit",
                      "question-broker": "broker.ask_set.before_commit"}),
    (TURN, {"action-applier": "applier.undo.before_target", "tool-runner": "runner.start.after_commit:2"}),
    (TURN, {"action-applier": "records.undo.claimed", "tool-runner": "runner.finish.before_commit:2"}),
    (TURN + ASKING, {"action-applier": "records.undo.locked", "question-broker": "broker.ask_back.before_commit",
                     "expiry": "expiry.questions.after_commit"}),
    (TURN + ASKING, {"action-applier": "records.undo.operation", "question-broker": "broker.ask_back.after_commit"}),
    (TURN + ASKING, {"action-applier": "records.undo.written", "question-broker": "broker.decline.before_commit"}),
    (TURN + ASKING, {"action-applier": "records.undo.before_ledger", "question-broker": "broker.decline.after_commit"}),
    (TURN + ASKING, {"action-applier": "records.undo.before_commit", "question-broker": "broker.cancel.before_commit"}),
    (TURN + ASKING, {"action-applier": "records.undo.after_commit", "question-broker": "broker.cancel.after_commit"}),
    (TURN + ASKING, {"action-applier": "applier.undo.before_copy", "question-broker": "broker.tell.before_publish"}),
    (TURN + ASKING, {"action-applier": "applier.undo.after_copy", "question-broker": "broker.tell.after_publish"}),
    (STOPPING + DECIDING, {"agent-loop": "agent.cancel.after_commit", "question-broker": "broker.turn_cancelled.after_commit",
                           "action-applier": "applier.decide.after_commit"}),
    (DECIDING + STOPPING + PAINTING, {"action-applier": "applier.reject.before_commit", "agent-loop": "agent.cancel.before_commit",
                                      "tool-runner": "runner.generate_image.before_commit"}),
    (DECIDING + STOPPING + PAINTING, {"action-applier": "applier.reject.after_commit", "agent-loop": "agent.stop.before_record",
                                      "tool-runner": "runner.generate_image.after_commit"}),
    (DECIDING + REPEATING, {"action-applier": "records.apply.after_failure", "agent-loop": "agent.nudge.after_record"}),
    (DECIDING + CLOSING, {"action-applier": "relay.action-applier.before_publish", "agent-loop": "agent.delete_thread.before_commit"}),
    (DECIDING + CLOSING, {"action-applier": "relay.action-applier.after_publish", "agent-loop": "agent.delete_thread.after_commit"}),
    (DECIDING, {"action-applier": "worker.action-applier.before_ack", "gateway": "command.ProposeChanges.after_reply"}),
    (UNDOING, {"gateway": "command.CreateThread.before_send", "agent-loop": "worker.agent-loop.before_ack",
               "action-applier": "applier.undo_turn.before_commit", "tool-runner": "worker.tool-runner.before_ack",
               "question-broker": "worker.question-broker.before_ack"}),
    (TURN + DECIDING, {"gateway": "command.CreateThread.after_reply", "action-applier": "applier.withdraw.before_commit"}),
    (TURN + DECIDING, {"gateway": "command.StartTurn.before_send", "action-applier": "applier.withdraw.after_commit"}),
    (TURN + DECIDING, {"gateway": "command.StartTurn.after_reply", "action-applier": "records.apply.before_failure"}),
    (UNDOING + FAILING, {"gateway": "command.AnswerQuestion.after_reply", "tool-runner": "command.ProposeChanges.after_reply",
                         "agent-loop": "agent.fail.before_commit", "action-applier": "applier.undo_turn.after_commit"}),
    (UNDOING + FAILING, {"gateway": "command.ConfirmAction.after_reply", "tool-runner": "command.AskQuestion.before_send",
                         "agent-loop": "agent.fail.after_commit", "action-applier": "applier.undo.after_copy"}),
    (TURN + DECIDING, {"gateway": "command.UndoAction.after_reply", "action-applier": "records.apply.before_failure_commit"}),
    (PROPOSING + REPEATING, {"expiry": "expiry.actions.after_commit", "action-applier": "applier.tell.before_publish",
                             "agent-loop": "agent.retry.before_commit"}),
    (PROPOSING + REPEATING, {"action-applier": "applier.tell.after_publish", "agent-loop": "agent.retry.after_commit",
                             "gateway": "command.RetryTurn.after_reply"}),
    (STANDING + TELLING, {"action-applier": "applier.make_approval.before_commit", "question-broker": "broker.webhook.before_record"}),
    (STANDING + TELLING, {"action-applier": "applier.make_approval.after_commit", "question-broker": "broker.webhook.after_record"}),
    (STANDING + TELLING, {"action-applier": "applier.weigh.before_commit", "question-broker": "broker.webhook.after_claim"}),
    (STANDING + TELLING, {"action-applier": "applier.weigh.after_commit", "question-broker": "broker.webhook.after_send"}),
]  # fmt: skip
"""One round each: the scenes that are played at once, and where which service dies in them."""


async def all_died(world: World, points: Mapping[str, str]) -> bool:
    """Whether every service has reached its point: the file that named it is gone."""
    return not any(world.crash_file(name).exists() for name in points)


@pytest.mark.parametrize(("played", "points"), [pytest.param(s, p, id=" ".join(p.values())) for s, p in ROUNDS])
async def test_a_crash_between_two_effects_changes_nothing_in_the_end(
    world: World, played: Scenes, points: Mapping[str, str]
) -> None:
    """Each process dies once at its point, which must be reached; the whole story still comes true, and the invariants hold."""
    services = {name: world.service(name) for name in points}
    await world.stack.wait_ready()
    died = {name: service.restarts for name, service in services.items()}
    for name, point in points.items():
        world.crash_file(name).write_text(point)

    async def died_once() -> bool:
        """The supervisor counts a death a moment after it."""
        return {name: service.restarts - died[name] for name, service in services.items()} == dict.fromkeys(points, 1)

    async with asyncio.timeout(scenes.WITHIN):
        await asyncio.gather(*(scene(world) for scene in played))
        await until(lambda: all_died(world, points))
        await until(died_once)
        await scenes.at_rest(world)
    assert await died_once()
    await assert_invariants(world.db)
