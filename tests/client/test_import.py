"""The client installs and imports alone."""

import subprocess
import sys
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from askbus.bus.envelope import Service

IMPORT_ALONE = """
import sys

blocked = set(sys.argv[1].split(","))

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"{name} is not installed here", name=name)
        return None

sys.meta_path.insert(0, Blocked())
import askbus.client
for client in (askbus.client.HttpClient, askbus.client.BusClient):
    assert client.ask
from click.testing import CliRunner
import askbus.cli
import askbus.client.mcp.bridge
for command in ("ask", "mcp"):
    shown = CliRunner().invoke(askbus.cli.main, [command, "--help"])
    assert shown.exit_code == 0, (shown.output, shown.exception)
refused = CliRunner().invoke(askbus.cli.main, ["config"])
assert "askbus[server]" in refused.output, refused.output
"""


def installed_with(distribution: str) -> set[str]:
    """What `pip install` of it alone brings here."""
    found: set[str] = set()
    wanted = [distribution]
    while wanted:
        name = canonicalize_name(wanted.pop())
        if name not in found:
            found.add(name)
            needs = map(Requirement, metadata.requires(name) or ())
            wanted += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


@pytest.mark.requirement("Q15", "M12")
def test_the_client_imports_without_the_servers_dependencies() -> None:
    """In a process that sees the standard library and what `pip install askbus` brings, and nothing else."""
    light = installed_with("askbus")
    assert {"httpx2", "nats-py", "pydantic"} <= light
    owners = metadata.packages_distributions()
    needed = {module for module, names in owners.items() if light & set(map(canonicalize_name, names))}
    blocked = (owners.keys() - needed - {"askbus"}) | {service.role for service in Service}
    assert {"asyncpg", "structlog", "starlette", "faststream", "opentelemetry", "cryptography", "nkeys", "rich"} <= blocked
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALONE, ",".join(sorted(blocked))], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
