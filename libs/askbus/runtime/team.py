"""The team's database as the settings have it: its address, what the deployment says of it, and the role that acts there."""

import structlog

from askbus.errors import Unavailable
from askbus.records.engine import Records, open_records
from askbus.records.record_catalogue import BadCatalogue, load
from askbus.runtime.settings import Settings, SettingsError

log = structlog.get_logger()


def team_records(settings: Settings, url: str) -> Records:
    """The records at `url`. Opens no connection yet. Raises SettingsError where the catalogue's file is wrong."""
    try:
        listed = load(settings.records_catalogue) if settings.records_catalogue is not None else None
    except BadCatalogue as error:
        raise _wrong(error) from None
    return open_records(url, settings.records_policy, pool_size=settings.pool_size, role=settings.records_role, listed=listed)


async def check_catalogue(records: Records) -> None:
    """Raises SettingsError where the database does not have what the catalogue says. One that is away is not waited for."""
    if not records.listed.collections:
        return
    try:
        await records.check()
    except BadCatalogue as error:
        raise _wrong(error) from None
    except Unavailable:
        log.warning("records.catalogue_not_checked", setting="ASKBUS_RECORDS_CATALOGUE")


def _wrong(error: BadCatalogue) -> SettingsError:
    return SettingsError(f"ASKBUS_RECORDS_CATALOGUE is wrong:\n{error}")
