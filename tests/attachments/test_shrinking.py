"""Large pictures on their way to a model."""

import io
import random

import pytest
from PIL import Image

from askbus.attachments.content import inspect
from askbus.attachments.model import LARGEST_SENT
from askbus.attachments.shrinking import LONGEST_EDGE, SHRUNK_TO
from askbus.testing.files import picture

pytestmark = pytest.mark.requirement("C14")


def noise(mode: str) -> bytes:
    """A picture that no format makes small."""
    made = io.BytesIO()
    size = (1300, 1300)
    count = size[0] * size[1] * len(mode)
    Image.frombytes(mode, size, random.Random(1).randbytes(count)).save(made, "PNG", compress_level=0)
    return made.getvalue()


def test_a_small_picture_goes_as_it_is() -> None:
    """Nothing is made of it."""
    assert inspect(picture("GIF"), "image/gif", "x.gif").reduced is None


@pytest.mark.parametrize(("mode", "becomes"), [("RGB", "image/jpeg"), ("RGBA", "image/webp")])
def test_a_large_picture_is_made_smaller(mode: str, becomes: str) -> None:
    """To fewer bytes, in a type that models take; what is transparent stays so."""
    large = noise(mode)
    assert len(large) > LARGEST_SENT
    reduced = inspect(large, "image/png", "x.png").reduced
    assert reduced is not None
    assert (reduced.media_type, len(reduced.content) < LARGEST_SENT) == (becomes, True)
    with Image.open(io.BytesIO(reduced.content)) as shrunk:
        assert (shrunk.mode, shrunk.size) == (mode, (1300, 1300))


def test_a_picture_with_a_long_edge_is_made_shorter() -> None:
    """However few bytes it has."""
    reduced = inspect(picture("PNG", (LONGEST_EDGE + 1, 4)), "image/png", "x.png").reduced
    assert reduced is not None
    with Image.open(io.BytesIO(reduced.content)) as shrunk:
        assert (reduced.media_type, max(shrunk.size)) == ("image/jpeg", SHRUNK_TO)
