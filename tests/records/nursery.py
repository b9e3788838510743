"""Action-appliers that start in no time: this process has imported everything, and forks one for each line that it reads.

Each is the service's own `main`, with the settings of this process's environment; its id is the answer.
"""

import os
import signal
import sys

from askbus.bus.envelope import Service
from askbus.runtime.service import main
from askbus_action_applier.app import make_app


def nurse() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            main(Service.ACTION_APPLIER, make_app)
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


nurse()
