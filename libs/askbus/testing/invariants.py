"""What must be true of askbus's rows whatever was killed when: nothing lost, nothing finished twice, nothing left half done."""

from collections.abc import Mapping

from askbus.db.statements import Executor

ALWAYS: Mapping[str, str] = {
    "a turn recorded two answers to one step": """
        SELECT turn_id FROM messages WHERE step IS NOT NULL GROUP BY turn_id, step HAVING count(*) > 1""",
    "a message lost its number": """
        SELECT t.id FROM threads t WHERE t.revision <> t.dropped_messages + (SELECT count(*) FROM messages m WHERE m.thread_id = t.id)
            OR t.revision < (SELECT max(seq) FROM messages m WHERE m.thread_id = t.id)""",
    "a completed turn has no answer": """
        SELECT t.id FROM turns t WHERE t.state = 'completed'
           AND NOT EXISTS (SELECT FROM messages m WHERE m.turn_id = t.id AND m.step = t.step - 1)""",
    "a model call was recorded twice": """
        SELECT t.id FROM turns t WHERE t.model_calls <> (SELECT count(*) FROM steps s WHERE s.turn_id = t.id AND s.kind = 'model')""",
    "a model call's cost is not recorded": """
        SELECT s.turn_id FROM steps s WHERE s.kind = 'model'
           AND NOT EXISTS (SELECT FROM usage u WHERE u.source_id = s.turn_id AND u.step = s.number AND u.attempt = s.attempt
                                               AND u.outcome = 'done')""",
    "a finished fact happened twice": """
        SELECT entity_id FROM change_log
         WHERE fact IN ('turn.completed', 'turn.failed', 'turn.cancelled', 'tool_run.finished', 'question.asked', 'question.answered',
                        'question.declined', 'question.cancelled', 'question.expired', 'question.superseded', 'action.proposed',
                        'action.confirmed', 'action.rejected', 'action.applied', 'action.failed', 'action.conflicted', 'action.undone')
         GROUP BY entity_id, fact HAVING count(*) > 1""",
    "something settled twice": """
        SELECT entity_id FROM change_log
         WHERE entity IN ('turn', 'question') AND status NOT IN ('queued', 'running', 'waiting', 'open')
         GROUP BY entity_id HAVING count(DISTINCT status) > 1""",
    "a decision was audited twice, or not at all": """
        SELECT a.id FROM actions a WHERE a.state IN ('applied', 'undone')
           AND 1 <> (SELECT count(*) FROM audit_log l WHERE l.entity_id = a.id AND l.event = 'action.confirmed')""",
    "an action was decided twice": """
        SELECT entity_id FROM audit_log WHERE event IN ('action.confirmed', 'action.rejected')
         GROUP BY entity_id HAVING count(*) > 1""",
    "what was rejected was applied": """
        SELECT a.id FROM actions a, jsonb_array_elements(a.decisions) d, jsonb_array_elements(a.outcome -> 'images') i
         WHERE d ->> 'decision' = 'rejected' AND i ->> 'operation' = d ->> 'operation'""",
    "a standing approval's uses are not what it confirmed": """
        SELECT s.id FROM standing_approvals s
         WHERE s.uses <> (SELECT count(*) FROM actions a WHERE a.approval_id = s.id AND a.decided_by = s.user_id)""",
    "a standing approval confirmed what came before it, or after its end": """
        SELECT a.id FROM actions a JOIN standing_approvals s ON s.id = a.approval_id
         WHERE a.proposed_at < s.made_at OR a.decided_at > s.ended_at OR a.decided_at >= s.expires_at""",
    "an action was undone and its undo not done": """
        SELECT a.id FROM actions a WHERE a.state = 'undone'
           AND 1 <> (SELECT count(*) FROM undos u WHERE u.action_id = a.id AND u.state = 'done')""",
    "an undo was done after a refused one before it": """
        SELECT later.id FROM undos later JOIN undos u ON u.group_id = later.group_id AND u.place < later.place
         WHERE u.state = 'refused' AND NOT u.rest AND later.state = 'done'""",
    "an answer was audited twice, or not at all": """
        SELECT q.id FROM questions q WHERE q.state = 'answered'
           AND 1 <> (SELECT count(*) FROM audit_log l WHERE l.entity_id = q.id AND l.event = 'question.answered')""",
    "a reminder or an escalation was told twice": """
        SELECT entity_id FROM change_log WHERE fact IN ('question.reminded', 'question.escalated')
         GROUP BY entity_id, fact HAVING count(*) > 1""",
    "the inbox counts what is not open, or not what is": """
        SELECT coalesce(q.project_id, t.project_id)
          FROM (SELECT project_id, count(*) AS open FROM questions WHERE state = 'open' AND turn_id IS NULL GROUP BY 1) q
          FULL JOIN (SELECT project_id, sum(open) AS open FROM question_tallies GROUP BY 1) t USING (project_id)
         WHERE coalesce(q.open, 0) <> coalesce(t.open, 0)""",
    "a settled question is still marked": """
        SELECT q.id FROM questions q JOIN question_marks k ON k.question_id = q.id WHERE q.state <> 'open'""",
    "a call asked or proposed twice": """
        SELECT call_id FROM (SELECT call_id FROM questions UNION ALL SELECT call_id FROM actions) made
         WHERE call_id IS NOT NULL GROUP BY call_id HAVING count(*) > 1""",
}
"""Queries that must find nothing at any moment; each named by what it would mean."""

AT_REST: Mapping[str, str] = {
    "a turn is still at work": "SELECT id FROM turns WHERE state IN ('queued', 'running')",
    "a call of an open turn has no outcome": """
        SELECT c.id FROM tool_calls c JOIN turns t ON t.id = c.turn_id LEFT JOIN tool_runs r ON r.id = c.id
         WHERE c.state = 'requested' AND t.state IN ('completed', 'waiting') AND (r.id IS NULL OR r.state = 'started')""",
    "a standing approval was not looked at": """
        SELECT a.id FROM actions a JOIN approvals_of_actions o ON o.action_id = a.id JOIN standing_approvals s ON s.id = o.approval_id
         WHERE a.state = 'pending' AND a.weighed_at IS NULL AND s.state = 'active' AND s.expires_at > now()""",
    "a confirmed action was not applied": "SELECT id FROM actions WHERE state = 'confirmed'",
    "an undo was not done": "SELECT id FROM undos WHERE state = 'requested'",
    "an ended turn still asks": """
        SELECT q.id FROM questions q JOIN turns t ON t.id = q.turn_id
         WHERE q.state = 'open' AND t.state IN ('completed', 'failed', 'cancelled')""",
    "a waiting turn's question is settled": """
        SELECT t.id FROM turns t WHERE t.state = 'waiting'
           AND NOT EXISTS (SELECT FROM questions q WHERE q.turn_id = t.id AND q.state = 'open')""",
}
"""The same for a moment when nothing is to be done any more."""


async def broken(db: Executor, invariants: Mapping[str, str]) -> list[str]:
    """Which of the invariants do not hold, each with the first ids that show it."""
    found = []
    for meaning, query in invariants.items():
        rows = await db.fetch(f"{query} LIMIT 3")
        if rows:
            found.append(f"{meaning}: {', '.join(str(row[0]) for row in rows)}")
    return found


async def assert_invariants(db: Executor) -> None:
    """Fails with every invariant that does not hold now that nothing is left to do."""
    complaints = await broken(db, {**ALWAYS, **AT_REST})
    assert not complaints, "\n".join(complaints)
