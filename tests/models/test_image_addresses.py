"""Where pictures are made."""

import pytest

from askbus.models.config import ModelConfig
from askbus.models.images import image_config, versioned

pytestmark = pytest.mark.requirement("C29")


@pytest.mark.parametrize(
    ("endpoint", "base"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("http://localhost:1234/", "http://localhost:1234/v1"),
        ("https://host/v1beta/openai", "https://host/v1beta/openai"),
        ("https://host/api/paas/v4", "https://host/api/paas/v4"),
        ("https://v1.host/api", "https://v1.host/api/v1"),
        ("https://host/video", "https://host/video/v1"),
    ],
)
def test_the_version_is_in_the_address_once(endpoint: str, base: str) -> None:
    """Whether the configured URL ends with one, has one in it, or none; a host's name is no version."""
    assert versioned(endpoint) == base


def test_the_default_makes_the_pictures_if_it_can() -> None:
    """Else the first that can; one on another wire cannot, and without any there are none."""
    plain, able = ModelConfig(model="m"), ModelConfig(model="m", image_model="p")
    other = ModelConfig(provider="anthropic", model="m", image_model="p")
    assert image_config({"default": able, "a": ModelConfig(model="m", image_model="q")}) is able
    assert image_config({"a": able, "default": plain}) is able
    assert image_config({"a": other, "default": plain}) is None
