"""Finding what there is by its name: what is asked of the tool-runner, which alone reads the team's records. Pure."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from askbus.bus.envelope import Command, Service
from askbus.records.describe import CollectionDescription
from askbus.records.names import FoundRecord

MOST_FOUND = 50


class Findings(BaseModel):
    """Collections with their fields and types, and records by name: no rows and no values. `more_collections` are named only;
    `not_searched` had no time to be looked into."""

    model_config = ConfigDict(frozen=True)

    collections: tuple[CollectionDescription, ...] = ()
    more_collections: tuple[str, ...] = ()
    records: tuple[FoundRecord, ...] = ()
    not_searched: tuple[str, ...] = ()


class FindByName(Command[Findings], owner=Service.TOOL_RUNNER):
    """Find collections and records of a project by name; with an empty text the collections that there are."""

    project_id: UUID
    text: Annotated[str, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=MOST_FOUND)] = 20
