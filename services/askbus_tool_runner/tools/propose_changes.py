"""Changes to records, proposed through their owner and decided by a person."""

from askbus.actions.model import Proposal, ProposeChanges
from askbus.runtime import crash
from askbus.tools.arguments import Changes
from askbus.tools.model import Proposed
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.owners import ask_owner


async def propose_changes(context: Context, changes: Changes) -> Proposed:
    """Proposes. The call's id is the action's and the command's, so a second run finds what the first one proposed. Only a turn's call
    is named in the action: a direct one belongs to whoever made it, as POST /v1/actions does."""
    command = ProposeChanges(
        command_id=context.call_id,
        by=context.by,
        action_id=context.call_id,
        thread_id=context.thread_id,
        turn_id=context.turn_id,
        call_id=context.call_id if context.turn_id is not None else None,
        proposal=Proposal(project_id=context.project_id, operations=changes.operations, summary=changes.summary),
    )
    crash.point("runner.propose_changes.before_command")
    action = await ask_owner(context.commands, command)
    crash.point("runner.propose_changes.after_command")
    return Proposed(action_id=action.id, state=action.state.value, headline=action.headline)
