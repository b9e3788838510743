"""`python -m askbus_gateway`."""

from askbus.bus.envelope import Service
from askbus.runtime.service import main
from askbus_gateway.app import make_app

main(Service.GATEWAY, make_app)
