"""What a model call costs while it is under way, as far as it is known."""

import time

from askbus.models.model import Usage
from askbus.usage.model import Outcome, Spent


class Meter:
    """One step's model call. `model` is the one that answers, as far as that is known."""

    def __init__(self) -> None:
        self.model = ""
        self._usage: Usage | None = None
        self._began: float | None = None

    @property
    def began(self) -> bool:
        """Whether a provider was asked at all."""
        return self._began is not None

    def begin(self, model: str) -> None:
        """A provider is asked from now on."""
        self.model = model
        self._began = time.monotonic()

    def told(self, model: str, usage: Usage | None) -> None:
        """What the provider says that it cost."""
        self.model = model
        self._usage = usage

    def spent(self, outcome: Outcome) -> Spent:
        """The cost up to now."""
        latency = None if self._began is None else int((time.monotonic() - self._began) * 1000)
        return Spent(outcome, self.model, self._usage, latency)
