"""Pictures as models take them: no larger than every provider accepts. They look at less than that in any case."""

import io

from PIL import Image, ImageOps

from askbus.attachments.model import LARGEST_SENT, Reduced

LONGEST_EDGE = 8_000
"""Pixels: what Anthropic takes."""
SHRUNK_TO = 2_000
"""Pixels of a shrunk picture's longer edge: above what any model resizes to."""


def reduced(data: bytes) -> Reduced | None:
    """A smaller picture, of the first frame, where this one is too large for a model; None where it is not.

    Works hard: run it in a thread. Raises what Pillow raises over pictures that are damaged.
    """
    with Image.open(io.BytesIO(data)) as picture:
        if len(data) <= LARGEST_SENT and max(picture.size) <= LONGEST_EDGE:
            return None
        picture.draft("RGB", (SHRUNK_TO, SHRUNK_TO))  # a JPEG is decoded no larger than it has to be
        has_alpha = picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info
        mode = "RGBA" if has_alpha else "RGB"
        shrunk = picture if picture.mode == mode else picture.convert(mode)
        shrunk.thumbnail((SHRUNK_TO, SHRUNK_TO))
        upright = ImageOps.exif_transpose(shrunk)
    made = io.BytesIO()
    if has_alpha:
        upright.save(made, "WEBP", quality=85, method=2)
        return Reduced("image/webp", made.getvalue())
    upright.save(made, "JPEG", quality=85)
    return Reduced("image/jpeg", made.getvalue())
