"""One stage for all conversations with files: each test has threads of its own."""

from collections.abc import AsyncIterator

import pytest
from tests.doors.files.stage import SCRIPT, Chat, conversing

from askbus.testing.model_process import ScriptedModel
from askbus.testing.servers import Server


@pytest.fixture(scope="package")
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture(scope="package")
async def chat(
    postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel
) -> AsyncIterator[Chat]:
    """A model that takes everything and makes pictures."""
    folder = tmp_path_factory.mktemp("nats")
    async with conversing(postgres_server, migrated_template, folder, model, image_model="gpt-image-1") as chat:
        yield chat
