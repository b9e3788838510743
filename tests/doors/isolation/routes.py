"""Every route, and each entity of the streams of events: who gets what. Tried by `test_routes.py`; the letters are those of table.py.

Dead credentials (none, made up, revoked, expired, of an ended session) get 401 at every route: tests/doors/test_every_route.py.
"""

from collections.abc import Mapping
from typing import Any

from tests.doors.isolation.table import Row

CALLERS = ("stranger", "other", "viewer", "demo", "reader", "south")
"""The owner of another workspace; a member of this one who sees the project south alone; a viewer and a demo user of north; a token of
Mia's that may read records and nothing else; a token of the owner's with every scope, for the project south alone."""


ADA: Mapping[str, Any] = {
    "id": "a",
    "kind": "update",
    "collection": "customers",
    "record": 1,
    "values": {"email": "kestrel@new.example"},
}
READ: Mapping[str, Any] = {"collection": "customers", "limit": 1}
RUN: Mapping[str, Any] = {
    "threadId": "kestrel-run",
    "runId": "r",
    "messages": [{"id": "m", "role": "user", "content": "kestrel"}],
}
CHAT: Mapping[str, Any] = {
    "id": "kestrel-chat",
    "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "kestrel"}]}],
}
EMAIL: Mapping[str, Any] = {"collection": "customers", "kinds": ["update"], "fields": [{"field": "email"}]}

ROUTES: tuple[Row, ...] = (
    Row("GET /v1/me", "000000"),
    Row("PATCH /v1/me", "000xxx", body={"locale": "de"}),
    Row("GET /v1/me/password", "0000xx"),
    Row("GET /v1/session/workspaces", "0000xx"),
    Row("POST /v1/session/workspace", "....xx", may="mover", body={"workspace_id": "{workspace}"}),
    Row("GET /v1/sign-in", "000000"),
    Row("GET /v1/openapi.json", "000000"),
    Row("GET /v1/tokens", "0000xx"),
    Row("POST /v1/tokens", "!!+xxx", body={"name": "kestrel", "projects": ["{north}"]}),
    Row("DELETE /v1/tokens/{token}", "....xx"),
    Row("GET /v1/projects", "000000"),
    Row("GET /v1/projects/{north}/members", "..+++.", shows='"mia"'),
    Row("GET /v1/questions", "00++x0"),
    Row("POST /v1/questions", "..xxx.", body={"project_id": "{north}", "text": "kestrel"}),
    Row("POST /v1/questions/batch", "..xxx.", body={"questions": [{"project_id": "{north}", "text": "kestrel"}]}),
    Row("GET /v1/questions/batch", "..++x.", query={"ids": "{question}"}),
    Row("GET /v1/questions/counts", "0000x0"),
    Row("POST /v1/questions/seen", "00xxx0", body={"question_ids": ["{question}"]}),
    Row("POST /v1/questions/answers", "000000", may="max", body={"answers": [{"question_id": "{question}", "answer": "yes"}]}),
    Row("GET /v1/questions/{question}", "..++x."),
    Row("POST /v1/questions/{question}/answer", "..xxx.", may="max", body={"answer": "yes"}),
    Row("POST /v1/questions/{question}/decline", "..xxx.", may="max", body={}),
    Row("POST /v1/questions/{question}/ask-back", "..xxx.", may="max", body={"text": "kestrel?"}),
    Row("POST /v1/questions/{question}/cancel", "..xxx.", body={}),
    Row("POST /v1/questions/{question}/snooze", "..xxx.", may="max", body={"until": None}),
    Row("GET /v1/actions", "00++x0"),
    Row("POST /v1/actions", "..xxx.", body={"project_id": "{north}", "operations": [ADA]}),
    Row("GET /v1/actions/{action}", "..++x."),
    Row("POST /v1/actions/{action}/confirm", "..xxxx", body={"digest": "{digest}"}),
    Row(
        "POST /v1/actions/{action}/decide",
        "..xxxx",
        body={"digest": "{digest}", "decisions": [{"operation": "a", "confirm": True}]},
    ),
    Row("POST /v1/actions/{action}/reject", "..xxxx", body={}),
    Row("POST /v1/actions/{action}/withdraw", "..xxx.", body={}),
    Row("POST /v1/actions/{applied}/undo", "..xxxx", body={}),
    Row("POST /v1/actions/{undone}/propose-again", "..xxxx", body={}),
    Row("POST /v1/turns/{undo_turn}/undo", "..xxxx", body={}),
    Row("GET /v1/undos/{undo}", "..++x."),
    Row("GET /v1/trail", "00++x0", shows='"mia"', query={"action_id": "{action}"}),
    Row("GET /v1/standing-approvals", "00++xx"),
    Row(
        "POST /v1/standing-approvals",
        "..xxxx",
        body={"project_id": "{north}", "thread_id": "{thread}", "allow": EMAIL, "most_uses": 1, "expires_in": 3600},
    ),
    Row("GET /v1/standing-approvals/{approval}", "..++xx", shows='"mia"'),
    Row("POST /v1/standing-approvals/{approval}/revoke", "..xxxx", body={}),
    Row("GET /v1/threads", "00xxx0"),
    Row("POST /v1/threads", "..xxx.", body={"project_id": "{north}", "title": "kestrel"}),
    Row("GET /v1/threads/search", "00xxx0", query={"q": "kestrel"}),
    Row("GET /v1/threads/{thread}", "..xxx."),
    Row("PATCH /v1/threads/{thread}", "..xxx.", body={"title": "kestrels"}),
    Row("DELETE /v1/threads/{thread}", "..xxx."),
    Row("POST /v1/threads/{temporary}/save", "..xxx."),
    Row("POST /v1/threads/{temporary}/close", "..xxx."),
    Row("GET /v1/threads/{thread}/export", "..xxx."),
    Row("POST /v1/threads/{thread}/turns", "..xxx.", body={"text": "kestrel"}),
    Row("GET /v1/turns/{turn}", "..xxx."),
    Row("GET /v1/turns/{turn}/events", "..xxx."),
    Row("POST /v1/turns/{turn}/retry", "..xxx.", body={}),
    Row("POST /v1/turns/{open_turn}/cancel", "..xxx.", body={}),
    Row(
        "POST /v1/attachments",
        "..xxx.",
        query={"project_id": "{north}", "name": "kestrel.txt"},
        headers={"content-type": "text/plain"},
    ),
    Row("GET /v1/attachments/{file}", "..xxx."),
    Row("GET /v1/attachments/{file}/content", "..xxx."),
    Row("DELETE /v1/attachments/{file}", "..xxx."),
    Row("POST /v1/projects/{north}/ag-ui", "..xxx.", body=RUN),
    Row("POST /v1/projects/{north}/ag-ui/kestrel-run/stop", "..xxx."),
    Row("POST /v1/projects/{north}/chat", "..xxx.", body=CHAT),
    Row("GET /v1/projects/{north}/chat/kestrel-chat", "..xxx."),
    Row("GET /v1/projects/{north}/chat/kestrel-chat/stream", "..xxx."),
    Row("POST /v1/projects/{north}/chat/kestrel-chat/stop", "..xxx."),
    Row("GET /v1/tools", "000000"),
    Row("POST /v1/tools/query_records", "..+++.", shows="Lovelace", body={"project_id": "{north}", "arguments": READ}),
    Row("GET /v1/search", "..+++.", shows='"name":"north"', query={"project_id": "{north}"}),
    Row("GET /v1/activity", "00+++0"),
    Row("GET /v1/metrics", "000000"),
    Row("POST /v1/metrics/orders_in_all", "..+++.", shows='"metric":"orders_in_all"', body={"project_id": "{north}"}),
    Row("GET /v1/usage", "000000"),
    Row("GET /v1/events", "00++00"),
    Row("GET /v1/changes", "00++00"),
    Row("GET /v1/webhooks", "0xxxxx", may="admin"),
    Row("POST /v1/webhooks", ".xxxxx", may="admin", body={"url": "https://example.com/kestrel", "project_id": "{north}"}),
    Row("GET /v1/webhooks/{webhook}", ".xxxxx", may="admin"),
    Row("PATCH /v1/webhooks/{webhook}", ".xxxxx", may="admin", body={"state": "disabled"}),
    Row("DELETE /v1/webhooks/{webhook}", ".xxxxx", may="admin"),
    Row("POST /v1/webhooks/{webhook}/rotate", ".xxxxx", may="admin", body={}),
    Row("POST /v1/webhooks/{webhook}/ping", ".xxxxx", may="admin", body={}),
    Row("POST /v1/webhooks/{webhook}/replay", ".xxxxx", may="admin", body={"since": "2026-01-01T00:00:00Z"}),
    Row("GET /v1/webhooks/{webhook}/deliveries", ".xxxxx", may="admin", shows="webhook.ping"),
    Row("POST /v1/webhooks/{webhook}/deliveries/{delivery}/replay", ".xxxxx", may="admin", body={}),
    Row("GET /v1/workspace", "0xxxxx", may="admin"),
    Row("PATCH /v1/workspace", "0xxxxx", may="admin", body={"instructions": "Be brief."}),
    Row("GET /v1/workspace/members", "0xxxxx", may="admin"),
    Row("PATCH /v1/workspace/members/{user}", ".xxxxx", may="admin", body={"role": "viewer"}),
    Row("DELETE /v1/workspace/members/{user}", ".xxxxx", may="admin"),
    Row("POST /v1/projects", "0xxxxx", may="admin", body={"name": "{word}"}),
    Row("PATCH /v1/projects/{north}", ".xxxxx", may="admin", body={"name": "north"}),
    Row("PUT /v1/projects/{north}/members/{user}", ".xxxxx", may="admin"),
    Row("DELETE /v1/projects/{north}/members/{user}", ".xxxxx", may="admin"),
    Row("GET /v1/invitations", "0xxxxx", may="admin"),
    Row("POST /v1/invitations", "!xxxxx", may="admin", body={"email": "kestrel@new.example", "projects": ["{north}"]}),
    Row("POST /v1/invitations/{invitation}/renew", ".xxxxx", may="admin", body={}),
    Row("DELETE /v1/invitations/{invitation}", ".xxxxx", may="admin"),
    Row("POST /v1/invitations/look-at", "++++++", body={"code": "{code}"}),
    Row("GET /v1/audit", "0xxxxx", may="admin"),
    Row("GET /v1/audit/export", "0xxxxx", may="admin"),
    Row("GET /v1/connected-apps", "0000xx", may="admin"),
    Row("PATCH /v1/connected-apps", "0xxxxx", may="owner", body={"mcp": True}),
    Row("DELETE /v1/connected-apps/{app}", "....xx"),
)

STREAMS: Mapping[str, str] = {
    "question": "..++..",
    "action": "..++..",
    "standing_approval": "..++..",
    "thread": "......",
    "turn": "......",
    "record": "..+++.",
    "webhook": "......",
    "workspace": "......",
    "project": "......",
    "member": "......",
    "invitation": "......",
}
"""Each entity of the streams of events: who is told of it (+) and who hears nothing (.), of all that happens while the routes are tried."""

ELSEWHERE: Mapping[str, str] = {
    "POST /v1/session": "asks for a code: tests/doors/test_access.py",
    "DELETE /v1/session": "ends the caller's own session alone: tests/doors/test_access.py",
    "POST /v1/session/password": "asks for a password: tests/signin/test_passwords.py",
    "POST /v1/password": "asks for a code: tests/signin/test_passwords.py",
    "PUT /v1/me/password": "changes the caller's own alone: tests/signin/test_passwords.py",
    "POST /v1/sign-in/{}": "goes to an issuer: tests/signin/test_providers.py",
    "GET /v1/sign-in/{}/callback": "comes back from an issuer: tests/signin/test_providers.py",
    "POST /v1/invitations/accept": "asks for a code: tests/doors/test_invitations.py",
}
"""Routes that show nothing of a scene, and who tries them."""
