"""Where a call belongs: the project that it names, or the only one that its caller sees."""

from uuid import UUID

from pydantic import BaseModel, JsonValue

from askbus.access import reads
from askbus.access.model import Principal
from askbus.db.pool import Pool
from askbus.errors import InvalidInput
from askbus_gateway.mcp.protocol import Object


class InProject(BaseModel):
    """Which project."""

    project_id: UUID


async def in_a_project(pool: Pool, by: Principal, arguments: Object) -> Object:
    """The arguments with `project_id`, which may be left out where the caller sees one project. Raises InvalidInput that names them."""
    if arguments.get("project_id") is not None:
        return arguments
    projects = await reads.projects_of(pool, by)
    if len(projects) == 1:
        return {**arguments, "project_id": str(projects[0].id)}
    seen: list[JsonValue] = [{"id": str(project.id), "name": project.name} for project in projects[:50]]
    raise InvalidInput("project_id: say which of your projects this belongs to.", {"projects": seen})
