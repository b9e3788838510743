-- A sign-in may go on to an app's whole request to be let in, which is longer than other addresses.
ALTER TABLE sign_in_attempts
    DROP CONSTRAINT sign_in_attempts_return_to_check,
    ADD CONSTRAINT sign_in_attempts_return_to_check CHECK (return_to LIKE '/%' AND length(return_to) <= 10000);
