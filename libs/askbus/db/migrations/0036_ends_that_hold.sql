-- What ends with something else ends also where it is made in that very moment.

-- Whoever proves at an issuer that an address is theirs is the first to prove it: what let anybody act as this person before ends, browsers'
-- sessions and the password. The person's row is held first, for which everybody waits who opens a session by the password or takes one on
-- to another workspace; then it is looked what there is.
CREATE FUNCTION end_unproven() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    PERFORM FROM users WHERE id = NEW.user_id FOR NO KEY UPDATE;
    DELETE FROM passwords WHERE user_id = NEW.user_id;
    UPDATE sessions SET state = 'revoked' WHERE user_id = NEW.user_id AND state = 'active' AND bearer IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER end_unproven AFTER INSERT ON identities
    FOR EACH ROW EXECUTE FUNCTION end_unproven();
