"""The database of the team's records, which may not be configured."""

import asyncio
from uuid import UUID

from askbus.errors import Unavailable
from askbus.records.display import Presentation
from askbus.records.engine import Records
from askbus.runtime.settings import Settings
from askbus.runtime.team import check_catalogue, team_records


class Target:
    """The records of this deployment, and how their values are shown on cards, which several people may read. No connection is
    opened before it is needed."""

    def __init__(self, settings: Settings) -> None:
        self._records: Records | None = None
        self.presentation = Presentation(locale=settings.locale, zone=settings.time_zone)
        if settings.records_url is not None:
            self._records = team_records(settings, settings.records_url)

    @property
    def records(self) -> Records:
        """Raises Unavailable, naming the setting that is missing."""
        if self._records is None:
            raise Unavailable(
                "askbus was not told which database holds the team's records. Whoever runs it sets ASKBUS_RECORDS_URL.",
                {"setting": "ASKBUS_RECORDS_URL"},
            )
        return self._records

    def within(self, project_id: UUID) -> Records:
        """The records as one project has them. Raises as `records` does."""
        return self.records.within(project_id)

    async def check(self) -> None:
        """Ends the process where the deployment's catalogue of records is wrong; a database that is away is not waited for."""
        if self._records is not None:
            await check_catalogue(self._records)

    async def hold(self) -> None:
        """Keeps the connections until this is cancelled, when everything that uses them has ended."""
        try:
            await asyncio.Event().wait()
        finally:
            if self._records is not None:
                await self._records.dispose()
