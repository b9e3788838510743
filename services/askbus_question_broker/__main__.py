"""`python -m askbus_question_broker`."""

from askbus.bus.envelope import Service
from askbus.runtime.service import main
from askbus_question_broker.app import make_app

main(Service.QUESTION_BROKER, make_app)
