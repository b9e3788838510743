"""Ending the connections of an agent whose token counts no more: NATS knows them by the user that the callout named."""

import json
from contextlib import suppress
from uuid import UUID

import nats.errors
from pydantic import BaseModel

from askbus.bus import subjects
from askbus.bus.accounts import agent_user
from askbus.bus.connection import Connection


class _Connected(BaseModel):
    cid: int


class _Connections(BaseModel):
    server_id: str
    connections: tuple[_Connected, ...] = ()


class _Reply(BaseModel):
    """What one server says (NATS's CONNZ), as far as it matters here."""

    data: _Connections


async def end_connections(nc: Connection, p: UUID, *, patience: float = 1.0) -> int:
    """Has every connection of the agent with the token row `p` closed, and returns how many those were.

    Each server of a cluster answers for its own, up to a thousand; `patience` is how many seconds to wait for the next answer. Raises
    nats.errors.Error where NATS is away or does not let the gateway do this, ValueError for an answer that is none.
    """
    inbox = nc.new_inbox()
    answers = await nc.subscribe(inbox)
    found: list[_Connections] = []
    try:
        await nc.publish(subjects.CONNECTIONS, json.dumps({"auth": True, "user": agent_user(str(p))}).encode(), reply=inbox)
        with suppress(nats.errors.TimeoutError):
            while True:
                found.append(_Reply.model_validate_json((await answers.next_msg(timeout=patience)).data).data)
    finally:
        await answers.unsubscribe()
    whole = [(server.server_id, one.cid) for server in found for one in server.connections]
    for server_id, cid in whole:
        # A request, although the answer says nothing: the server does not look at one without a reply subject.
        await nc.request(subjects.kick(server_id), json.dumps({"cid": cid}).encode(), timeout=patience)
    return len(whole)
