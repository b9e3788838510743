"""/v1/metrics: figures that a deployment computes in one place, the same for people, models and programs."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from askbus.errors import NotFound
from askbus.metrics.model import Figure, Measure
from askbus.metrics.registered import MetricSpec
from askbus.runtime.settings import Settings
from askbus.tools.model import CallTool, ToolAnswer, ToolSpec
from askbus.tools.schema import parameters
from askbus_gateway.http.described import described, route
from askbus_gateway.http.gate import Gate, body, command_id, present, while_connected
from askbus_gateway.http.tools import LONGER, CallBody


class ShownMetric(BaseModel):
    """A metric, and the JSON schema of what it is asked."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str
    measure: Measure
    arguments: dict[str, JsonValue]


class MetricPage(BaseModel):
    """Every metric of the deployment."""

    metrics: tuple[ShownMetric, ...]


class Metrics:
    """The routes of metrics."""

    def __init__(self, gate: Gate, tools: Iterable[ToolSpec], settings: Settings) -> None:
        self.gate = gate
        self.specs = {spec.name: spec for spec in tools if isinstance(spec, MetricSpec)}
        self.seconds = settings.tool_seconds + LONGER

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/metrics", self.list),
            route("POST", "/v1/metrics/{name}", self.compute),
        ]

    @described(MetricPage)
    async def list(self, request: Request) -> Response:
        """Figures that the deployment computes, with the schema of their arguments, to whoever may ask for one."""
        by = await self.gate.principal(request)
        shown = [_shown(spec) for spec in self.specs.values() if by.may(spec.scope)]
        return JSONResponse(MetricPage(metrics=tuple(shown)).model_dump(mode="json"))

    @described(Figure, body=CallBody, params={"name": str}, idempotent=True)
    async def compute(self, request: Request) -> Response:
        """Compute one, by the same call of the same function as a model makes."""
        by = await self.gate.principal(request)
        spec = self.specs.get(request.path_params["name"])
        if spec is None:
            known: list[JsonValue] = [name for name, one in self.specs.items() if by.may(one.scope)]
            raise NotFound("There is no metric of this name. GET /v1/metrics lists them.", {"metrics": known})
        by.require(spec.scope)
        said = await body(request, CallBody)
        command = CallTool(
            command_id=command_id(request), by=by, project_id=said.project_id, name=spec.name, arguments=said.arguments
        )
        answer: ToolAnswer = await while_connected(request, self.gate.commands.ask(command, timeout=self.seconds))
        return present(Figure.model_validate(answer.content))


def _shown(spec: MetricSpec) -> ShownMetric:
    schema: Any = parameters(spec)
    return ShownMetric(name=spec.name, description=spec.description, measure=spec.measure, arguments=schema)
