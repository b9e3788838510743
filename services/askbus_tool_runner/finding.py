"""Finding collections and records by name, for somebody who does not know yet where something is."""

from askbus.access import reads as access
from askbus.db.pool import Pool
from askbus.errors import NotFound, PermissionDenied
from askbus.records.describe import Description, describe
from askbus.records.engine import Records
from askbus.records.names import FoundRecords
from askbus.records.schema import Schema
from askbus.records.search import search_names
from askbus.tools.finding import FindByName, Findings

MOST_CHARACTERS = 16_000
"""For descriptions of collections."""


class Finding:
    """Answers what is looked for; where no records are connected, there is nothing to be found."""

    def __init__(self, pool: Pool, records: Records | None) -> None:
        self.pool = pool
        self.records = records

    async def on_find_by_name(self, command: FindByName) -> Findings:
        """The best collections first, up to half of the limit where a text is looked for, then records.

        Raises NotFound for a project that is not the caller's to see, and what reading records raises.
        """
        standing = await access.standing(self.pool, command.by)
        if standing is None:
            raise PermissionDenied("This session or token has no access here any more.")
        by = standing.principal
        if not any(project.id == command.project_id for project in await access.projects_of(self.pool, by)):
            raise NotFound("There is no such project.")
        if self.records is None:
            return Findings()
        records, text = self.records.within(command.project_id), command.text.strip()
        most = command.limit // 2 if text else command.limit

        async def collections(schema: Schema) -> Description:
            return describe(schema, (), MOST_CHARACTERS, search=text)

        described = await records.with_schema(collections)
        shown = described.collections[: max(most, 1)]
        left = command.limit - len(shown)
        found = await search_names(records, by, text, left) if text and left else FoundRecords()
        rest = (*(one.name for one in described.collections[len(shown) :]), *described.names_only)
        return Findings(collections=shown, more_collections=rest, records=found.records, not_searched=found.not_searched)
