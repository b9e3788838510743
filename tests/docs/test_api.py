"""What docs/api.md lists is what the gateway serves."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROUTE = re.compile(r'route\("([A-Z]+)", "(/v1/[^"]+)", ')
LISTED = re.compile(r"`([A-Z]+) (/v1/[^`]+)`")


def test_every_route_is_listed_and_every_listed_route_exists() -> None:
    """Somebody who writes a client finds all of it in one place."""
    sources = [file.read_text("utf-8") for file in (ROOT / "services/askbus_gateway").rglob("*.py")]
    served = {found for source in sources for found in ROUTE.findall(source)}
    assert len(served) > 25
    assert set(LISTED.findall((ROOT / "docs/api.md").read_text("utf-8"))) == served
