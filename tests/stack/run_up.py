"""`askbus up` with stand-ins for the services, in the folder that is its only argument."""

import asyncio
import sys
from pathlib import Path

from askbus.bus.envelope import Service
from askbus.cli.up import run
from askbus.stack.options import Options, ServiceSpec

folder = Path(sys.argv[1])
stand_in = str(Path(__file__).with_name("stand_in.py"))
services = tuple(ServiceSpec(service, argv=(sys.executable, stand_in, str(folder / f"{service}-1.diary"))) for service in Service)
asyncio.run(run(Options(data=folder / "data", services=services, durable=False)))
