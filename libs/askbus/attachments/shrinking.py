"""Pictures as models take them: no larger than every provider accepts. They look at less than that in any case."""

import io

from askbus.errors import InvalidInput

LARGEST = 3_500_000
"""Bytes: Anthropic takes five million, as base64."""
LONGEST_EDGE = 8_000
"""Pixels: what Anthropic takes."""
SHRUNK_TO = 2_000
"""Pixels of a shrunk picture's longer edge: above what any model resizes to."""


def for_model(media_type: str, data: bytes) -> tuple[str, bytes]:
    """The picture with its media type: itself where it is small enough, else shrunk, the first frame of it. Works hard: run it in a thread.

    Raises InvalidInput where it cannot be read any more.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415  # most processes never see a picture

    try:
        with Image.open(io.BytesIO(data)) as picture:
            if len(data) <= LARGEST and max(picture.size) <= LONGEST_EDGE:
                return media_type, data
            upright = ImageOps.exif_transpose(picture)
            has_alpha = upright.mode in {"RGBA", "LA", "PA"} or "transparency" in upright.info
            shrunk = upright.convert("RGBA" if has_alpha else "RGB")
            shrunk.thumbnail((SHRUNK_TO, SHRUNK_TO))
    except (UnidentifiedImageError, OSError, ValueError) as error:
        raise InvalidInput("This picture cannot be read any more.") from error
    made = io.BytesIO()
    if has_alpha:
        shrunk.save(made, "WEBP", quality=85)
        return "image/webp", made.getvalue()
    shrunk.save(made, "JPEG", quality=85)
    return "image/jpeg", made.getvalue()
