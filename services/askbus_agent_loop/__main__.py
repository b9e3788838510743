"""`python -m askbus_agent_loop`."""

from askbus.bus.envelope import Service
from askbus.runtime.service import main
from askbus_agent_loop.app import make_app

main(Service.AGENT_LOOP, make_app)
