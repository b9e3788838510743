INSERT INTO askbus_ledger.outcomes (id, kind, action_id, state, user_id, workspace_id, images, mismatches, problem)
VALUES (CAST(:id AS uuid), :kind, CAST(:action_id AS uuid), :state, CAST(:user_id AS uuid), CAST(:workspace_id AS uuid),
        CAST(:images AS jsonb), CAST(:mismatches AS jsonb), CAST(:problem AS jsonb))
RETURNING at
