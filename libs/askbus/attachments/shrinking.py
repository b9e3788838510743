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
        upright = ImageOps.exif_transpose(picture)
        has_alpha = upright.mode in {"RGBA", "LA", "PA"} or "transparency" in upright.info
        shrunk = upright.convert("RGBA" if has_alpha else "RGB")
    shrunk.thumbnail((SHRUNK_TO, SHRUNK_TO))
    made = io.BytesIO()
    if has_alpha:
        shrunk.save(made, "WEBP", quality=85, method=2)
        return Reduced("image/webp", made.getvalue())
    shrunk.save(made, "JPEG", quality=85)
    return Reduced("image/jpeg", made.getvalue())
