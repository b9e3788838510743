-- Every column of sealed values says so: `askbus secrets rotate` is held to seal all of them anew.
COMMENT ON COLUMN webhooks.old_secret IS 'The secret before the last rotation, sealed under the deployment''s key for this row (I9): until `old_until` requests are signed with it too.';
