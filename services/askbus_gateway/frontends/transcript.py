"""The pieces of a turn put in order for vocabularies that cannot take anything back without saying so. Pure.

A piece of a step that another worker began anew is dropped; what was said of it before is taken back by `Again`; text that a `reset`
piece or the stored answer has beyond what was streamed is added.
"""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from askbus.bus.signals import Piece


class StartedCall(BaseModel):
    """A tool that the model called. `label` says in words what it does."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    label: str | None = None


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: str
    step: int = 0
    attempt: int = 0
    text: str = ""
    calls: tuple[StartedCall, ...] = ()


@dataclass(frozen=True)
class Begin:
    """A step of the model."""

    step: int


@dataclass(frozen=True)
class Again:
    """What was said of this step so far does not count: it is said anew, in this step or in the next."""

    step: int


@dataclass(frozen=True)
class Text:
    """More of what the model says."""

    text: str


@dataclass(frozen=True)
class Calls:
    """Tools are at work now."""

    calls: tuple[StartedCall, ...]


@dataclass(frozen=True)
class End:
    """Nothing more comes of the step."""

    step: int


Op = Begin | Again | Text | Calls | End


class Transcript:
    """What a watcher was told so far. `told`: the steps up to this one are known from elsewhere, so their pieces are passed over."""

    def __init__(self, told: int = 0) -> None:
        self.told = told
        self.step = 0
        self._said: list[str] = []
        self.gap = False
        """Whether a step was passed over: its pieces are lost."""
        self._attempt = 0
        self._open = False

    @property
    def text(self) -> str:
        """What was said of the step so far."""
        return "".join(self._said)

    def take(self, piece: Piece) -> list[Op]:
        """What the piece adds."""
        data = _Data.model_validate_json(piece.data)
        step, attempt = (data.step, data.attempt) if data.step else _numbers(piece)
        if step <= self.told or step < self.step or (step == self.step and attempt < self._attempt):
            return []
        ops = self._reach(step, attempt)
        match data.type:
            case "delta":
                self._said.append(data.text)
                ops.append(Text(data.text))
            case "reset":
                ops += self._replace(data.text)
            case "calls":
                ops.append(Calls(data.calls))
            case "again":
                self._said = []
                ops.append(Again(step))
            case "end" | "cut":
                ops += self.close()
        return ops

    def settle(self, step: int, answer: str) -> list[Op]:
        """What is missing for the last step to read as it is stored."""
        if step <= self.told:
            return []
        ops = [] if self.step == step else self._reach(step, self._attempt)
        if self.text.strip() != answer.strip():
            self._open = True
            ops += self._replace(answer)
        return ops + self.close()

    def close(self) -> list[Op]:
        """Ends the step that is being told, if there is one."""
        if not self._open:
            return []
        self._open = False
        return [End(self.step)]

    def _reach(self, step: int, attempt: int) -> list[Op]:
        if step == self.step:
            again = attempt > self._attempt
            self._attempt = attempt
            if not again:
                return []
            self._said, self._open = [], True
            return [Again(step)]
        ops = self.close()
        self.gap = self.gap or step > max(self.step, self.told) + 2  # steps alternate, and every other is the tools'
        self.step, self._attempt, self._said, self._open = step, attempt, [], True
        return [*ops, Begin(step)]

    def _replace(self, text: str) -> list[Op]:
        before, self._said = self.text, [text]
        if text.startswith(before):
            return [Text(text[len(before) :])] if len(text) > len(before) else []
        return [Again(self.step), Text(text)] if text else [Again(self.step)]


def _numbers(piece: Piece) -> tuple[int, int]:
    step, attempt, _position = piece.id.split(".")
    return int(step), int(attempt)
