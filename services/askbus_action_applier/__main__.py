"""`python -m askbus_action_applier`."""

from askbus.bus.envelope import Service
from askbus.runtime.service import main
from askbus_action_applier.app import make_app

main(Service.ACTION_APPLIER, make_app)
