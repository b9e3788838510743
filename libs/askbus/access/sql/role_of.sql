-- A user's role in a workspace now. No row: they are no member.
SELECT role FROM memberships WHERE workspace_id = :workspace_id AND user_id = :user_id
