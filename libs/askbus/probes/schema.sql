-- A small invented business for probes. What was there before goes: this is never run in a team's own database.

DROP SCHEMA public CASCADE;
CREATE SCHEMA public;

CREATE TYPE order_state AS ENUM ('draft', 'placed', 'shipped', 'cancelled');
CREATE TYPE release_state AS ENUM ('built', 'staged', 'deployed', 'withdrawn');

CREATE TABLE customers (
    id            integer PRIMARY KEY,
    name          text NOT NULL,
    city          text NOT NULL,
    credit_limit  numeric(12,2) NOT NULL
);
COMMENT ON COLUMN customers.credit_limit IS 'EUR.';

CREATE TABLE orders (
    id           integer PRIMARY KEY,
    number       text NOT NULL UNIQUE,
    customer_id  integer NOT NULL REFERENCES customers,
    state        order_state NOT NULL,
    total        numeric(12,2) NOT NULL,
    placed_on    date NOT NULL
);
COMMENT ON COLUMN orders.number IS 'The number that people use.';
COMMENT ON COLUMN orders.total IS 'EUR without VAT.';

CREATE TABLE releases (
    id           integer PRIMARY KEY,
    product      text NOT NULL,
    version      text NOT NULL,
    state        release_state NOT NULL,
    built_on     date NOT NULL,
    deployed_on  date
);

CREATE TABLE payments (
    id       integer PRIMARY KEY,
    amount   numeric(12,2) NOT NULL,
    paid_on  date NOT NULL
);
COMMENT ON TABLE payments IS 'More than one answer of a tool can hold.';

CREATE TABLE tickets (
    id       integer PRIMARY KEY,
    subject  text NOT NULL,
    body     text NOT NULL
);

CREATE TABLE staff_accounts (
    id             integer PRIMARY KEY,
    name           text NOT NULL,
    password_hash  text NOT NULL
);
