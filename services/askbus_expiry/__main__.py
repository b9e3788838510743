"""`python -m askbus_expiry`."""

from askbus.bus.envelope import Service
from askbus.runtime.service import main
from askbus_expiry.app import make_app

main(Service.EXPIRY, make_app)
