"""`python -m askbus_tool_runner`."""

from askbus.bus.envelope import Service
from askbus.runtime.service import main
from askbus_tool_runner.app import make_app

main(Service.TOOL_RUNNER, make_app)
