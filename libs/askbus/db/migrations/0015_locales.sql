-- A language of each person's own.

ALTER TABLE users ADD COLUMN locale text CHECK (length(locale) BETWEEN 1 AND 100);
COMMENT ON COLUMN users.locale IS 'As CLDR names it: de, en-GB; NULL is the deployment''s own choice.';
