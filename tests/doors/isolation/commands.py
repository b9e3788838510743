"""Every command that a service answers on the bus: who gets what, where no gateway stands before it. Tried by `test_commands.py`; the
letters are those of table.py."""

from tests.doors.isolation.routes import ADA, CALLERS, EMAIL, READ
from tests.doors.isolation.table import Row

CALLERS_OF_COMMANDS = (*CALLERS, "left", "gone")
"""Those of the routes; and two who were members like Mia when they sent it: one has left the project since, one the workspace."""

TERMS = {"project_id": "{north}", "thread_id": "{thread}", "allow": EMAIL, "most_uses": 1, "expires_in": 3600}
HOOK = {"url": "https://example.com/kestrel", "project_id": "{north}"}
ASK = {"project_id": "{north}", "text": "kestrel?"}

COMMANDS: tuple[Row, ...] = (
    Row("CreateThread", "..xxx...", body={"thread_id": "{new}", "project_id": "{north}", "title": "kestrel"}),
    Row("RenameThread", "..xxx...", body={"thread_id": "{thread}", "title": "kestrels"}),
    Row("SaveThread", "..xxx...", body={"thread_id": "{temporary}"}),
    Row("CloseThread", "..xxx...", body={"thread_id": "{temporary}"}),
    Row("DeleteThread", "..xxx...", body={"thread_id": "{thread}"}),
    Row(
        "StartTurn",
        "..xxx...",
        body={"turn_id": "{new}", "thread_id": "{thread}", "client_message_id": "kestrel", "text": "kestrel"},
    ),
    Row("RetryTurn", "..xxx...", body={"turn_id": "{new}", "again": "{turn}", "client_message_id": "again"}),
    Row("CancelTurn", "..xxx...", body={"turn_id": "{open_turn}"}),
    Row(
        "CallTool",
        "..+++..x",
        shows="Lovelace",
        body={"project_id": "{north}", "name": "query_records", "arguments": READ},
    ),
    Row("FindByName", "..+++..x", shows="customers", body={"project_id": "{north}"}),
    Row("ProposeChanges", "..xxx...", body={"action_id": "{new}", "proposal": {"project_id": "{north}", "operations": [ADA]}}),
    Row("ConfirmAction", "..xxxx..", body={"action_id": "{action}", "digest": "{digest}"}),
    Row(
        "DecideAction",
        "..xxxx..",
        body={"action_id": "{action}", "digest": "{digest}", "decisions": [{"operation": "a", "confirm": True}]},
    ),
    Row("RejectAction", "..xxxx..", body={"action_id": "{action}"}),
    Row("WithdrawAction", "..xxx...", body={"action_id": "{action}"}),
    Row("UndoAction", "..xxxx..", body={"action_id": "{applied}", "undo_id": "{new}"}),
    Row("PreviewUndo", "..xxxx..", body={"action_id": "{applied}"}),
    Row("UndoTurn", "..xxxx..", body={"turn_id": "{undo_turn}", "group_id": "{new}"}),
    Row("PreviewUndoTurn", "==xxxx==", body={"turn_id": "{undo_turn}"}),
    Row("ProposeAgain", "..xxxx..", body={"undone_id": "{undone}", "action_id": "{new}"}),
    Row("MakeApproval", "..xxxx..", body={"approval_id": "{new}", "terms": TERMS}),
    Row("RevokeApproval", "..xxxx..", body={"approval_id": "{approval}"}),
    Row("AskQuestion", "..xxx...", body={"question_id": "{new}", "ask": ASK}),
    Row("AskQuestions", "..xxx...", body={"set_id": "{new}", "said": {"questions": [ASK]}}),
    Row("AnswerQuestion", "..xxx...", may="max", body={"question_id": "{question}", "answer": "yes"}),
    Row("DeclineQuestion", "..xxx...", may="max", body={"question_id": "{question}"}),
    Row("AskBack", "..xxx...", may="max", body={"question_id": "{question}", "text": "kestrel?"}),
    Row("CancelQuestion", "..xxx...", body={"question_id": "{question}"}),
    Row("MarkSeen", "00xxx000", may="max", body={"question_ids": ["{question}"]}),
    Row("SnoozeQuestion", "..xxx...", may="max", body={"question_id": "{question}", "until": None}),
    Row("CreateWebhook", ".xxxxxxx", may="admin", body={"form": HOOK}),
    Row("ChangeWebhook", ".xxxxxxx", may="admin", body={"webhook_id": "{webhook}", "change": {"state": "disabled"}}),
    Row("RotateWebhook", ".xxxxxxx", may="admin", body={"webhook_id": "{webhook}"}),
    Row("PingWebhook", ".xxxxxxx", may="admin", body={"webhook_id": "{webhook}"}),
    Row("ReplayDeliveries", ".xxxxxxx", may="admin", body={"webhook_id": "{webhook}", "since": "2026-01-01T00:00:00Z"}),
    Row("DeleteWebhook", ".xxxxxxx", may="admin", body={"webhook_id": "{webhook}"}),
)
