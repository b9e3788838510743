"""What may be told of an error without a word of its content: messages of errors quote values, rows and input. Pure."""

import traceback
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from askbus.errors import AskbusError

MOST_CAUSES = 8


def kind(error: BaseException) -> str:
    """The error's type, and its code if it is one of ours."""
    name = type(error).__name__
    return f"{name} ({error.code})" if isinstance(error, AskbusError) else name


def stack(error: BaseException) -> list[str]:
    """Where it was raised, innermost last: `verbs.py:31 in answer`."""
    return [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]


def told(error: BaseException) -> dict[str, str | list[str]]:
    """For the log: what was raised, where, and what led to it."""
    said: dict[str, str | list[str]] = {"error": kind(error), "frames": stack(error)}
    if causes := [reason(cause) for cause in _causes(error)]:
        said["causes"] = causes
    return said


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What it came from, or is made of; each once, and not without end."""
    seen = {id(error)}
    left = [error]
    while left and len(seen) <= MOST_CAUSES:
        one = left.pop(0)
        parts = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        before = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        for cause in (*parts, before):
            if cause is not None and id(cause) not in seen:
                seen.add(id(cause))
                left.append(cause)
                yield cause


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
