"""A small run of `make fuzz`, with a seed: the same requests every time."""

from pathlib import Path

import pytest
from tests.fuzz.__main__ import fuzz
from tests.fuzz.scene import scene_on

from askbus.testing.servers import Server

SMALL = ("--phases", "fuzzing", "--max-examples", "1", "--seed", "1", "--no-shrink")


@pytest.mark.requirement("C30")
@pytest.mark.usefixtures("migrated_template")
async def test_no_request_made_from_the_document_is_answered_otherwise_than_it_says(
    postgres_server: Server, tmp_path: Path
) -> None:
    """One of each operation, sense or nonsense, as the owner of the workspace: nothing breaks, and each answer fits."""
    async with scene_on(postgres_server.url, tmp_path) as stage:
        status, report = await fuzz(stage, "owner", *SMALL)
    assert status == 0, report
    assert "passed" in report
