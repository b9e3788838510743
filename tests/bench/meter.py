"""What processes cost: CPU seconds and memory, by name, whole families of them where a server forks."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic

import psutil

MEBIBYTE = 1 << 20
CLIENT = "client"


@dataclass(frozen=True)
class Reading:
    """A moment, and the CPU seconds of each process and of the whole machine until then; or the differences of two."""

    at: float
    processes: Mapping[str, float]
    machine: float

    def since(self, earlier: "Reading") -> "Reading":
        processes = {name: seconds - earlier.processes[name] for name, seconds in self.processes.items()}
        return Reading(self.at - earlier.at, processes, self.machine - earlier.machine)

    def __add__(self, other: "Reading") -> "Reading":
        processes = {name: seconds + other.processes[name] for name, seconds in self.processes.items()}
        return Reading(self.at + other.at, processes, self.machine + other.machine)

    def of(self, names: tuple[str, ...]) -> float:
        """The CPU seconds of these together."""
        return sum(self.processes[name] for name in names)

    @property
    def others(self) -> float:
        """How many cores of this machine were busy with what is not measured here."""
        return max(self.machine - sum(self.processes.values()), 0) / self.at


class Meter:
    """Reads the processes of `pids`, each with its children, and this process, which sends and watches, as `client` without them.
    Ended children count as long as their parent has waited for them."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self.pids = dict(pids)

    def read(self) -> Reading:
        machine, own = psutil.cpu_times(), psutil.Process().cpu_times()
        processes = {name: sum(_seconds(process) for process in _family(pid)) for name, pid in self.pids.items()}
        return Reading(monotonic(), {**processes, CLIENT: own.user + own.system}, machine.user + machine.system)

    def memory(self) -> dict[str, tuple[float, float]]:
        """RSS and PSS in MiB. RSS counts shared pages once for each process of a family, PSS shares them out."""
        return {name: _memory(pid) for name, pid in self.pids.items()}


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def _memory(pid: int) -> tuple[float, float]:
    rss = pss = 0.0
    for process in _family(pid):
        try:
            memory = process.memory_full_info()
        except psutil.NoSuchProcess:
            continue
        rss += memory.rss / MEBIBYTE
        pss += memory.pss / MEBIBYTE
    return rss, pss
