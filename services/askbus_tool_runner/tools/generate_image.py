"""A picture, made by the configured endpoint and kept under the id of the call."""

import asyncio

import structlog

from askbus.attachments import reads, verbs
from askbus.attachments.content import inspect
from askbus.attachments.model import Kind, Picture
from askbus.errors import InvalidInput, NotFound, Unavailable
from askbus.models.images import ImageMaker
from askbus.models.model import Fault, ProviderError
from askbus.runtime import crash
from askbus.tools.files import GenerateImage, MadePicture
from askbus.usage import verbs as usage
from askbus.usage.model import Kind as Use
from askbus.usage.model import Outcome, Spent
from askbus_tool_runner.context import Context

log = structlog.get_logger()

MOST_BYTES = 20 << 20


async def generate_image(context: Context, request: GenerateImage) -> MadePicture:
    """Makes a picture once for each call: a second run finds what the first one kept. Raises Unavailable where the endpoint makes none,
    InvalidInput where it refuses to show that."""
    if (kept := await reads.picture(context.pool, context.call_id)) is not None:
        return _made(kept)
    if context.pictures is None:
        raise Unavailable("Nothing here makes pictures.")
    data = await _ask(context, context.pictures, request.prompt)
    if len(data) > MOST_BYTES:
        raise Unavailable("The picture that was made is too large to be kept.")
    try:
        found = await asyncio.to_thread(inspect, data, "", "picture")
    except InvalidInput:
        found = None
    if found is None or found.kind is not Kind.IMAGE:
        log.error("picture.unreadable", call_id=str(context.call_id))
        raise Unavailable("What was made is no picture that can be shown. Try again later.")
    name = f"{request.name}.{found.media_type.rpartition('/')[2]}"
    crash.point("runner.generate_image.before_commit")
    try:
        picture = await verbs.keep_picture(
            context.pool, context.call_id, media_type=found.media_type, name=name, content=data, model=context.pictures.model
        )
    except NotFound:
        raise Unavailable("The conversation of this picture was deleted.") from None
    crash.point("runner.generate_image.after_commit")
    return _made(picture)


async def _ask(context: Context, pictures: ImageMaker, prompt: str) -> bytes:
    """The picture; what it cost is recorded either way."""
    try:
        made = await pictures.make(prompt)
    except asyncio.CancelledError:
        await _charge(context, Spent(Outcome.CUT, pictures.model, None, None))
        raise
    except ProviderError as error:
        log.warning("picture.not_made", call_id=str(context.call_id), fault=error.fault.value, detail=error.detail)
        await _charge(context, Spent(Outcome.FAILED, pictures.model, error.usage, None))
        if error.fault is Fault.BAD_REQUEST:
            raise InvalidInput("The picture was refused. Describe it in another way.") from error
        raise Unavailable("No picture can be made right now.") from error
    await _charge(context, Spent(Outcome.DONE, pictures.model, made.usage, made.latency_ms))
    return made.data


async def _charge(context: Context, spent: Spent) -> None:
    await usage.record_call(context.pool, context.call_id, attempt=context.attempt, kind=Use.IMAGE, spent=spent)


def _made(picture: Picture) -> MadePicture:
    return MadePicture(file=picture.id, name=picture.name, media_type=picture.media_type, bytes=picture.size)
