"""What may be told of an error without a word of its content: messages of errors quote values, rows and input. Pure."""

import traceback
from pathlib import Path

from pydantic import ValidationError

from askbus.errors import AskbusError


def kind(error: BaseException) -> str:
    """The error's type, and its code if it is one of ours."""
    name = type(error).__name__
    return f"{name} ({error.code})" if isinstance(error, AskbusError) else name


def stack(error: BaseException) -> list[str]:
    """Where it was raised, innermost last: `verbs.py:31 in answer`."""
    return [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]


def reason(error: BaseException) -> str:
    """Kind and place in one line; for malformed input which fields are wrong, and how."""
    if isinstance(error, ValidationError):
        return f"{error.title}: {fields(error)}"
    frames = stack(error)
    return f"{kind(error)} at {frames[-1]}" if frames else kind(error)


def fields(error: ValidationError) -> str:
    """Which fields are wrong and why, without what was in them: `ask.title: string_too_long`."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc'])) or 'body'}: {problem['type']}" for problem in problems[:5])
