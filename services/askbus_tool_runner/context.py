"""What a tool is given beside its input."""

from dataclasses import dataclass
from uuid import UUID

from askbus.access.model import Principal
from askbus.bus.commands import Commands
from askbus.db.pool import Pool
from askbus.errors import Unavailable
from askbus.models.images import ImageMaker
from askbus.records.display import PLAIN, Presentation
from askbus.records.engine import Records


@dataclass(frozen=True)
class Context:
    """For whom a tool works, for which call, and what it may use.

    `by` has the rights of this moment. What a tool makes it names by `call_id`, so that a second run finds the first one's.
    A direct call has no thread and no turn. `attempt` counts the runs of the call; `pool` is askbus's own database, with the
    tool-runner's rights; `pictures` makes them, where something can; `presentation` is how the person reads values. `most_bytes`
    is how much of its result the model will be given.
    """

    by: Principal
    project_id: UUID
    thread_id: UUID | None
    turn_id: UUID | None
    call_id: UUID
    commands: Commands
    team: Records | None
    most_bytes: int
    pool: Pool
    attempt: int = 1
    pictures: ImageMaker | None = None
    presentation: Presentation = PLAIN

    @property
    def records(self) -> Records:
        """The team's records, as the project has them. Raises Unavailable where the deployment has none."""
        if self.team is None:
            raise Unavailable("No database of records is connected. Whoever runs askbus can set ASKBUS_RECORDS_URL.")
        return self.team.within(self.project_id)
