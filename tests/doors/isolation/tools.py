"""Every tool of the MCP endpoint: who gets what. Tried by `test_tools.py`; the letters are those of table.py."""

from tests.doors.isolation.routes import ADA, READ
from tests.doors.isolation.table import Row

CALLERS = ("stranger", "other", "viewer", "demo", "reader", "south", "app", "narrow")
"""Tokens with every scope that their owners may have: of the owner of another workspace, of a member who sees the project south alone, of a
viewer, of a demo user; Mia's that may read records and nothing else; the owner's for the project south alone. And two apps' grants: the
owner's with every scope, for south alone, and Mia's for north, to read records and nothing else."""

DEAD = ("nobody", "made_up", "expired", "revoked", "session", "app_expired", "app_removed", "app_elsewhere")
"""No credentials, some that never were, tokens of Mia's that are over, her browser's session, and access tokens of hers: over, of an app
that she removed, for another address. None is let in, whatever it asks for."""

TOOLS: tuple[Row, ...] = (
    Row("search_workspace", "00000000", body={}),
    Row("search_workspace", "..+++..+", shows='"customers"', body={"project_id": "{north}"}),
    Row("query_records", "..+++..+", shows="Lovelace", body={"project_id": "{north}", **READ}),
    Row("propose_changes", "..xxx..x", body={"project_id": "{north}", "operations": [ADA]}),
    Row("ask_user_question", "..xxx..x", body={"project_id": "{north}", "text": "kestrel"}),
    Row("ask_user_question", "..xxx..x", body={"project_id": "{north}", "questions": [{"text": "kestrel"}]}),
    Row("get_question_answer", "..xxx..x", body={"ids": ["{own_question}"]}),
    Row("get_question_answer", "..xxx..x", body={"ids": ["{own_action}"]}),
    Row("cancel_question", "..xxx..x", body={"id": "{own_question}"}),
    Row("cancel_question", "..xxx..x", body={"id": "{own_action}"}),
    Row("list_open_questions", "00xxx00x", body={}),
    Row("list_open_questions", "00xxx00x", body={"project_id": "{north}"}),
    Row("get_workspace_activity", "00+++00+", body={}),
    Row("get_workspace_activity", "00+++00+", body={"project_id": "{north}"}),
)
"""Of what came of the rows before tell the last."""
