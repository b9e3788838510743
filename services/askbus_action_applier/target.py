"""The database of the team's records, which may not be configured."""

import asyncio

from askbus.errors import Unavailable
from askbus.records.engine import Records, open_records
from askbus.runtime.settings import Settings


class Target:
    """The records of this deployment. No connection is opened before it is needed."""

    def __init__(self, settings: Settings) -> None:
        self._records: Records | None = None
        if settings.records_url is not None:
            self._records = open_records(
                settings.records_url, settings.records_policy, pool_size=settings.pool_size, role=settings.records_role
            )

    @property
    def records(self) -> Records:
        """Raises Unavailable, naming the setting that is missing."""
        if self._records is None:
            raise Unavailable(
                "askbus was not told which database holds the team's records. Whoever runs it sets ASKBUS_RECORDS_URL.",
                {"setting": "ASKBUS_RECORDS_URL"},
            )
        return self._records

    async def hold(self) -> None:
        """Keeps the connections until this is cancelled, when everything that uses them has ended."""
        try:
            await asyncio.Event().wait()
        finally:
            if self._records is not None:
                await self._records.dispose()
