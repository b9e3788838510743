"""/v1/webhooks: for owners and admins, with a session."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal
from askbus.access.zones import Moment
from askbus.db.ids import new_id
from askbus.errors import NotFound
from askbus.webhooks import reads
from askbus.webhooks.model import (
    OVERLAP,
    ChangeWebhook,
    CreateWebhook,
    DeleteWebhook,
    Delivery,
    DeliveryFilter,
    DeliveryPage,
    NewSecret,
    PingWebhook,
    ReplayDeliveries,
    Replayed,
    RotateWebhook,
    Webhook,
    WebhookChange,
    WebhookForm,
    WebhookList,
    require_admin,
)
from askbus_gateway.http.described import Caller, described, route
from askbus_gateway.http.gate import Gate, NoBody, body, command_id, path_id, present, query


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RotateBody(_Body):
    """For how many seconds the old secret signs too."""

    overlap: Annotated[int, Field(ge=0, le=30 * 24 * 3600)] = OVERLAP


class ReplayBody(_Body):
    """Since when; with `delivered`, also what arrived."""

    since: Moment
    delivered: bool = False


class Webhooks:
    """The routes of webhooks."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/webhooks", self.list),
            route("POST", "/v1/webhooks", self.create),
            route("GET", "/v1/webhooks/{id}", self.get),
            route("PATCH", "/v1/webhooks/{id}", self.change),
            route("DELETE", "/v1/webhooks/{id}", self.delete),
            route("POST", "/v1/webhooks/{id}/rotate", self.rotate),
            route("POST", "/v1/webhooks/{id}/ping", self.ping),
            route("POST", "/v1/webhooks/{id}/replay", self.replay),
            route("GET", "/v1/webhooks/{id}/deliveries", self.deliveries),
            route("POST", "/v1/webhooks/{id}/deliveries/{delivery}/replay", self.replay_one),
        ]

    async def _admin(self, request: Request) -> Principal:
        by = await self.gate.principal(request)
        require_admin(by)
        return by

    @described(WebhookList, caller=Caller.PERSON)
    async def list(self, request: Request) -> Response:
        """The workspace's webhooks."""
        by = await self._admin(request)
        return present(await reads.webhooks(self.gate.pool, by, workspace_id=by.workspace_id))

    @described(Webhook, caller=Caller.PERSON)
    async def get(self, request: Request) -> Response:
        """One: whether it is disabled, and why."""
        by = await self._admin(request)
        return present(await reads.webhook(self.gate.pool, by, path_id(request), workspace_id=by.workspace_id))

    @described(DeliveryPage, query=DeliveryFilter, caller=Caller.PERSON)
    async def deliveries(self, request: Request) -> Response:
        """A page of its deliveries with each attempt."""
        by = await self._admin(request)
        wanted = query(request, DeliveryFilter)
        return present(await reads.deliveries(self.gate.pool, by, path_id(request), wanted, workspace_id=by.workspace_id))

    @described({201: NewSecret}, body=WebhookForm, refuses=(NotFound,), caller=Caller.PERSON, idempotent=True)
    async def create(self, request: Request) -> Response:
        """Make one; its `secret` is in this answer alone."""
        by = await self._admin(request)
        form = await body(request, WebhookForm)
        key = command_id(request) if "idempotency-key" in request.headers else new_id()
        made: NewSecret = await self.gate.commands.ask(CreateWebhook(command_id=key, by=by, form=form))
        return present(made, 201)

    @described(Webhook, body=WebhookChange, caller=Caller.PERSON, idempotent=True)
    async def change(self, request: Request) -> Response:
        """Change its `url`, `events` or `state`."""
        by = await self._admin(request)
        said = await body(request, WebhookChange)
        command = ChangeWebhook(command_id=command_id(request), by=by, webhook_id=path_id(request), change=said)
        changed: Webhook = await self.gate.commands.ask(command)
        return present(changed)

    @described({204: None}, caller=Caller.PERSON, idempotent=True)
    async def delete(self, request: Request) -> Response:
        """Delete it with its deliveries."""
        by = await self._admin(request)
        await self.gate.commands.ask(DeleteWebhook(command_id=command_id(request), by=by, webhook_id=path_id(request)))
        return Response(status_code=204)

    @described(NewSecret, body=RotateBody, caller=Caller.PERSON, idempotent=True)
    async def rotate(self, request: Request) -> Response:
        """A new secret; the old one signs too for `overlap` seconds."""
        by = await self._admin(request)
        said = await body(request, RotateBody)
        command = RotateWebhook(command_id=command_id(request), by=by, webhook_id=path_id(request), overlap=said.overlap)
        made: NewSecret = await self.gate.commands.ask(command)
        return present(made)

    @described({202: Delivery}, body=NoBody, caller=Caller.PERSON, idempotent=True)
    async def ping(self, request: Request) -> Response:
        """Send it a `webhook.ping`."""
        by = await self._admin(request)
        await body(request, NoBody)
        key = command_id(request) if "idempotency-key" in request.headers else new_id()
        sent: Delivery = await self.gate.commands.ask(PingWebhook(command_id=key, by=by, webhook_id=path_id(request)))
        return present(sent, 202)

    @described({202: Replayed}, body=ReplayBody, caller=Caller.PERSON, idempotent=True)
    async def replay(self, request: Request) -> Response:
        """Send again what happened `since` a time and did not arrive."""
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

    @described({202: Replayed}, body=NoBody, caller=Caller.PERSON, idempotent=True)
    async def replay_one(self, request: Request) -> Response:
        """Send this one again."""
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
