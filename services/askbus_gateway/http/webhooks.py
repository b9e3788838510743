"""/v1/webhooks: for owners and admins, with a session."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal
from askbus.access.zones import Moment
from askbus.db.ids import new_id
from askbus.webhooks import reads
from askbus.webhooks.model import (
    OVERLAP,
    ChangeWebhook,
    CreateWebhook,
    DeleteWebhook,
    Delivery,
    DeliveryFilter,
    NewSecret,
    PingWebhook,
    ReplayDeliveries,
    Replayed,
    RotateWebhook,
    Webhook,
    WebhookChange,
    WebhookForm,
    require_admin,
)
from askbus_gateway.http.gate import Gate, body, command_id, guarded, path_id, present, query


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RotateBody(_Body):
    """For how many seconds the old secret signs too."""

    overlap: Annotated[int, Field(ge=0, le=30 * 24 * 3600)] = OVERLAP


class ReplayBody(_Body):
    """Since when; with `delivered`, also what arrived."""

    since: Moment
    delivered: bool = False


class NoBody(_Body):
    """Nothing needs saying."""


class Webhooks:
    """The routes of webhooks."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            Route("/v1/webhooks", guarded(self.list), methods=["GET"]),
            Route("/v1/webhooks", guarded(self.create), methods=["POST"]),
            Route("/v1/webhooks/{id}", guarded(self.get), methods=["GET"]),
            Route("/v1/webhooks/{id}", guarded(self.change), methods=["PATCH"]),
            Route("/v1/webhooks/{id}", guarded(self.delete), methods=["DELETE"]),
            Route("/v1/webhooks/{id}/rotate", guarded(self.rotate), methods=["POST"]),
            Route("/v1/webhooks/{id}/ping", guarded(self.ping), methods=["POST"]),
            Route("/v1/webhooks/{id}/replay", guarded(self.replay), methods=["POST"]),
            Route("/v1/webhooks/{id}/deliveries", guarded(self.deliveries), methods=["GET"]),
            Route("/v1/webhooks/{id}/deliveries/{delivery}/replay", guarded(self.replay_one), methods=["POST"]),
        ]

    async def _admin(self, request: Request) -> Principal:
        by = await self.gate.principal(request)
        require_admin(by)
        return by

    async def list(self, request: Request) -> Response:
        by = await self._admin(request)
        return present(await reads.webhooks(self.gate.pool, by, workspace_id=by.workspace_id))

    async def get(self, request: Request) -> Response:
        by = await self._admin(request)
        return present(await reads.webhook(self.gate.pool, by, path_id(request), workspace_id=by.workspace_id))

    async def deliveries(self, request: Request) -> Response:
        by = await self._admin(request)
        wanted = query(request, DeliveryFilter)
        return present(await reads.deliveries(self.gate.pool, by, path_id(request), wanted, workspace_id=by.workspace_id))

    async def create(self, request: Request) -> Response:
        by = await self._admin(request)
        form = await body(request, WebhookForm)
        key = command_id(request) if "idempotency-key" in request.headers else new_id()
        made: NewSecret = await self.gate.commands.ask(CreateWebhook(command_id=key, by=by, form=form))
        return present(made, 201)

    async def change(self, request: Request) -> Response:
        by = await self._admin(request)
        said = await body(request, WebhookChange)
        command = ChangeWebhook(command_id=command_id(request), by=by, webhook_id=path_id(request), change=said)
        changed: Webhook = await self.gate.commands.ask(command)
        return present(changed)

    async def delete(self, request: Request) -> Response:
        by = await self._admin(request)
        await self.gate.commands.ask(DeleteWebhook(command_id=command_id(request), by=by, webhook_id=path_id(request)))
        return Response(status_code=204)

    async def rotate(self, request: Request) -> Response:
        by = await self._admin(request)
        said = await body(request, RotateBody)
        command = RotateWebhook(command_id=command_id(request), by=by, webhook_id=path_id(request), overlap=said.overlap)
        made: NewSecret = await self.gate.commands.ask(command)
        return present(made)

    async def ping(self, request: Request) -> Response:
        by = await self._admin(request)
        await body(request, NoBody)
        key = command_id(request) if "idempotency-key" in request.headers else new_id()
        sent: Delivery = await self.gate.commands.ask(PingWebhook(command_id=key, by=by, webhook_id=path_id(request)))
        return present(sent, 202)

    async def replay(self, request: Request) -> Response:
        by = await self._admin(request)
        said = await body(request, ReplayBody)
        command = ReplayDeliveries(
            command_id=command_id(request),
            by=by,
            webhook_id=path_id(request),
            since=said.since,
            delivered=said.delivered,
        )
        replayed: Replayed = await self.gate.commands.ask(command)
        return present(replayed, 202)

    async def replay_one(self, request: Request) -> Response:
        by = await self._admin(request)
        await body(request, NoBody)
        command = ReplayDeliveries(
            command_id=command_id(request),
            by=by,
            webhook_id=path_id(request),
            delivery_id=path_id(request, "delivery"),
        )
        replayed: Replayed = await self.gate.commands.ask(command)
        return present(replayed, 202)
