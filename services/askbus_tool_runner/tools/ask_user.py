"""A question to the person of the conversation, through its owner."""

from askbus.questions.model import Ask, AskQuestion, Form
from askbus.runtime import crash
from askbus.tools.model import Asked
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.owners import ask_owner


async def ask_user(context: Context, form: Form) -> Asked:
    """Asks; the answer is the turn's to wait for. The call's id is the question's and the command's, so it is asked once."""
    command = AskQuestion(
        command_id=context.call_id,
        by=context.by,
        question_id=context.call_id,
        turn_id=context.turn_id,
        call_id=context.call_id,
        ask=Ask(project_id=context.project_id, **dict(form)),
    )
    crash.point("runner.ask_user.before_command")
    question = await ask_owner(context.commands, command)
    crash.point("runner.ask_user.after_command")
    return Asked(question_id=question.id)
