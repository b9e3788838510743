-- A small invented business to ask about: Kestrel & Quay sells rope, rigging and harbour gear to boatyards and sailing schools.
-- Everything is made from constants and arithmetic, so that each load gives the same rows.

CREATE TYPE customer_segment AS ENUM ('boatyard', 'sailing school', 'charter', 'private');
CREATE TYPE order_state AS ENUM ('draft', 'placed', 'packed', 'shipped', 'cancelled');
CREATE TYPE ticket_state AS ENUM ('open', 'waiting', 'closed');

CREATE TABLE suppliers (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    country    text NOT NULL,
    lead_days  integer NOT NULL CHECK (lead_days > 0)
);
COMMENT ON TABLE suppliers IS 'Who we buy from.';
COMMENT ON COLUMN suppliers.lead_days IS 'Working days from our order to their delivery.';

CREATE TABLE products (
    id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sku          text NOT NULL UNIQUE,
    name         text NOT NULL,
    category     text NOT NULL,
    supplier_id  integer NOT NULL REFERENCES suppliers,
    unit_price   numeric(12,2) NOT NULL CHECK (unit_price >= 0),
    stock        integer NOT NULL DEFAULT 0 CHECK (stock >= 0),
    reorder_at   integer NOT NULL DEFAULT 10,
    active       boolean NOT NULL DEFAULT true
);
COMMENT ON TABLE products IS 'What we sell.';
COMMENT ON COLUMN products.unit_price IS 'List price in EUR without VAT; what a customer paid stands on the order line.';
COMMENT ON COLUMN products.stock IS 'Pieces in the warehouse now.';
COMMENT ON COLUMN products.reorder_at IS 'At or below this stock we order again.';

CREATE TABLE customers (
    id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text NOT NULL,
    email         text NOT NULL UNIQUE,
    segment       customer_segment NOT NULL,
    city          text NOT NULL,
    country       text NOT NULL,
    credit_limit  numeric(12,2) NOT NULL DEFAULT 500.00 CHECK (credit_limit >= 0),
    since         date NOT NULL,
    note          text
);
COMMENT ON TABLE customers IS 'Who buys from us.';
COMMENT ON COLUMN customers.credit_limit IS 'EUR that may be unpaid at once.';
COMMENT ON COLUMN customers.note IS 'Free text of the sales team.';

CREATE TABLE customer_logins (
    customer_id    integer PRIMARY KEY REFERENCES customers,
    password_hash  text NOT NULL,
    last_seen_at   timestamptz
);
COMMENT ON TABLE customer_logins IS 'Sign-in to the shop. Nobody has a reason to read this.';

CREATE TABLE orders (
    id           integer GENERATED ALWAYS AS IDENTITY (START WITH 1001) PRIMARY KEY,
    customer_id  integer NOT NULL REFERENCES customers,
    state        order_state NOT NULL DEFAULT 'draft',
    ordered_at   timestamptz NOT NULL,
    shipped_at   timestamptz,
    ship_to      text,
    CHECK ((shipped_at IS NOT NULL) = (state = 'shipped'))
);
CREATE INDEX orders_customer ON orders (customer_id);
COMMENT ON TABLE orders IS 'A customer''s order; its lines stand in order_lines.';
COMMENT ON COLUMN orders.ship_to IS 'Where to, when it is not the customer''s city.';

CREATE TABLE order_lines (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id    integer NOT NULL REFERENCES orders ON DELETE CASCADE,
    product_id  integer NOT NULL REFERENCES products,
    quantity    integer NOT NULL CHECK (quantity > 0),
    unit_price  numeric(12,2) NOT NULL CHECK (unit_price >= 0),
    discount    numeric(4,3) NOT NULL DEFAULT 0 CHECK (discount >= 0 AND discount < 1),
    amount      numeric(12,2) GENERATED ALWAYS AS (round(quantity * unit_price * (1 - discount), 2)) STORED,
    UNIQUE (order_id, product_id)
);
COMMENT ON TABLE order_lines IS 'One product on an order.';
COMMENT ON COLUMN order_lines.unit_price IS 'Price in EUR at the time of the order.';
COMMENT ON COLUMN order_lines.discount IS 'Part of the price that was let off: 0.050 is five percent.';
COMMENT ON COLUMN order_lines.amount IS 'What the line comes to in EUR, computed by the database.';

CREATE TABLE invoices (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    number     text NOT NULL UNIQUE,
    order_id   integer NOT NULL UNIQUE REFERENCES orders,
    issued_on  date NOT NULL,
    due_on     date NOT NULL,
    total      numeric(12,2) NOT NULL CHECK (total >= 0),
    paid_at    timestamptz,
    CHECK (due_on >= issued_on)
);
COMMENT ON TABLE invoices IS 'One for each shipped order.';
COMMENT ON COLUMN invoices.total IS 'EUR without VAT: the sum of the order''s lines.';

CREATE TABLE support_tickets (
    id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id  integer NOT NULL REFERENCES customers,
    order_id     integer REFERENCES orders,
    state        ticket_state NOT NULL DEFAULT 'open',
    subject      text NOT NULL,
    body         text NOT NULL,
    opened_at    timestamptz NOT NULL,
    closed_at    timestamptz,
    CHECK ((closed_at IS NOT NULL) = (state = 'closed'))
);
CREATE INDEX support_tickets_customer ON support_tickets (customer_id);
COMMENT ON TABLE support_tickets IS 'What customers wrote to us about.';

INSERT INTO suppliers (name, country, lead_days) VALUES
    ('Tauwerk Lindau', 'Germany', 6), ('Corderie du Ponant', 'France', 9), ('Nordhav Beslag', 'Denmark', 12),
    ('Vela Ligure', 'Italy', 14), ('Harrow Chandlery Works', 'Ireland', 10), ('Costa Verde Náutica', 'Portugal', 15);

INSERT INTO products (sku, name, category, supplier_id, unit_price, stock, reorder_at, active)
SELECT format('%s-%s', upper(left(family, 3)), lpad((position * 10 + size)::text, 3, '0')),
       format('%s %s', family, sizes[size]),
       category,
       1 + (position * 5 + size) % 6,
       round(base * (1 + 0.45 * (size - 1)), 2),
       (position * 37 + size * 53) % 140,
       CASE category WHEN 'rope' THEN 40 WHEN 'safety' THEN 15 ELSE 10 END,
       NOT (position = 9 AND size = 3)
  FROM (VALUES
        (1, 'Mooring line', 'rope', 18.90, ARRAY['10 mm', '14 mm', '18 mm']),
        (2, 'Halyard', 'rope', 27.50, ARRAY['8 mm', '10 mm', '12 mm']),
        (3, 'Anchor warp', 'rope', 31.20, ARRAY['12 mm', '16 mm', '20 mm']),
        (4, 'Snap shackle', 'rigging', 22.40, ARRAY['small', 'medium', 'large']),
        (5, 'Turnbuckle', 'rigging', 41.75, ARRAY['M6', 'M8', 'M10']),
        (6, 'Block', 'rigging', 36.10, ARRAY['single', 'double', 'triple']),
        (7, 'Fender', 'harbour', 24.95, ARRAY['F2', 'F4', 'F6']),
        (8, 'Boat hook', 'harbour', 19.30, ARRAY['1.2 m', '1.8 m', '2.4 m']),
        (9, 'Dock ladder', 'harbour', 189.00, ARRAY['3 steps', '4 steps', '5 steps']),
        (10, 'Life jacket', 'safety', 79.00, ARRAY['junior', 'adult', 'offshore']),
        (11, 'Throw line', 'safety', 33.60, ARRAY['15 m', '20 m', '25 m']),
        (12, 'Hand flare', 'safety', 12.80, ARRAY['red', 'white', 'orange'])
       ) AS families (position, family, category, base, sizes),
       generate_series(1, 3) AS size
 ORDER BY position, size;

-- Some names are meant to be mistaken for one another.
INSERT INTO customers (name, email, segment, city, country, credit_limit, since, note) VALUES
    ('René Maréchal', 'rene.marechal@voiles-du-lac.example', 'sailing school', 'Annecy', 'France', 2500.00, '2021-03-08', NULL),
    ('René Marchal', 'r.marchal@chantier-marchal.example', 'boatyard', 'La Rochelle', 'France', 12000.00, '2019-10-21', 'Pays early, orders by phone.'),
    ('Renée Marshall', 'renee@marshallcharter.example', 'charter', 'Kinsale', 'Ireland', 8000.00, '2022-05-30', NULL),
    ('Søren Østergård', 'soren@ostergaard-baade.example', 'boatyard', 'Svendborg', 'Denmark', 15000.00, '2018-02-12', NULL),
    ('Zoë Brandão', 'zoe.brandao@escoladevela.example', 'sailing school', 'Cascais', 'Portugal', 3000.00, '2023-01-17', 'Asks for delivery before Easter.'),
    ('Jürgen Müller', 'juergen.mueller@bodensee-charter.example', 'charter', 'Friedrichshafen', 'Germany', 6000.00, '2020-07-02', NULL),
    ('Jürgen Möller', 'j.moeller@moellerwerft.example', 'boatyard', 'Flensburg', 'Germany', 20000.00, '2017-11-06', NULL),
    ('Siobhán Ní Cheallaigh', 'siobhan@westcorksailing.example', 'sailing school', 'Schull', 'Ireland', 2000.00, '2024-04-11', NULL),
    ('D''Angelo Nautica', 'ordini@dangelonautica.example', 'boatyard', 'La Spezia', 'Italy', 9000.00, '2019-05-27', NULL),
    ('Łukasz Wiśniewski', 'lukasz.w@poczta.example', 'private', 'Gdańsk', 'Poland', 500.00, '2025-06-19', NULL);

INSERT INTO customers (name, email, segment, city, country, credit_limit, since)
SELECT first_name || ' ' || last_name,
       lower(unaccented) || n || '@' || (ARRAY['post', 'mail', 'boatmail'])[1 + n % 3] || '.example',
       (enum_range(NULL::customer_segment))[1 + (n * 3) % 4],
       town[1], town[2],
       500 + 250 * ((n * 7) % 12),
       date '2018-01-15' + (n * 61) % 2700
  FROM generate_series(1, 50) AS n,
       LATERAL (SELECT (ARRAY['Aino', 'Bastien', 'Clara', 'Dilek', 'Emil', 'Fiona', 'Goran', 'Hanne', 'Ivo', 'Janne'])[1 + n % 10],
                       (ARRAY['Vasari', 'Tollund', 'Kerouan', 'Brightwater', 'Salonen', 'Dubreuil', 'Haverkamp'])[1 + n % 7]
               ) AS made (first_name, last_name),
       LATERAL (SELECT first_name || '.' || last_name) AS address (unaccented),
       LATERAL (SELECT CASE n % 6
                       WHEN 0 THEN ARRAY['Turku', 'Finland'] WHEN 1 THEN ARRAY['Brest', 'France'] WHEN 2 THEN ARRAY['Genova', 'Italy']
                       WHEN 3 THEN ARRAY['Kiel', 'Germany'] WHEN 4 THEN ARRAY['Split', 'Croatia'] ELSE ARRAY['Galway', 'Ireland'] END
               ) AS place (town);

INSERT INTO customer_logins (customer_id, password_hash, last_seen_at)
SELECT id, '$sample$' || md5('kestrel' || id), timestamptz '2026-03-01 06:00+00' + id * interval '7 hours'
  FROM customers
 WHERE id % 3 <> 0;

INSERT INTO orders (customer_id, state, ordered_at, shipped_at, ship_to)
SELECT 1 + (n * 17) % 60, state, ordered_at,
       CASE WHEN state = 'shipped' THEN ordered_at + (2 + n % 5) * interval '1 day' + interval '3 hours' END,
       CASE WHEN n % 11 = 0 THEN 'Pier ' || (1 + n % 7) || ', gate ' || chr(65 + n % 4) END
  FROM generate_series(1, 180) AS n,
       LATERAL (SELECT CASE WHEN n % 23 = 0 THEN 'cancelled' WHEN n <= 150 THEN 'shipped' WHEN n <= 162 THEN 'packed'
                            WHEN n <= 174 THEN 'placed' ELSE 'draft' END::order_state,
                       timestamptz '2025-01-07 08:30+00' + n * interval '58 hours' + (n * 13 % 9) * interval '27 minutes'
               ) AS made (state, ordered_at)
 ORDER BY n;

INSERT INTO order_lines (order_id, product_id, quantity, unit_price, discount)
SELECT o.id, p.id, 1 + (o.id * 3 + line * 5) % 8, p.unit_price, CASE WHEN c.segment = 'boatyard' THEN 0.050 ELSE 0 END
  FROM orders o
  JOIN customers c ON c.id = o.customer_id
 CROSS JOIN generate_series(1, 4) AS line
  JOIN products p ON p.id = 1 + (o.id * 7 + line * 11) % 36
 WHERE line <= 1 + o.id % 4
 ORDER BY o.id, line;

INSERT INTO invoices (number, order_id, issued_on, due_on, total, paid_at)
SELECT format('KQ-%s-%s', to_char(o.shipped_at AT TIME ZONE 'UTC', 'YYYY'), lpad(row_number() OVER (ORDER BY o.shipped_at, o.id)::text, 4, '0')),
       o.id, (o.shipped_at AT TIME ZONE 'UTC')::date, (o.shipped_at AT TIME ZONE 'UTC')::date + 30, sum(l.amount),
       CASE WHEN o.id % 9 <> 4 THEN o.shipped_at + (5 + o.id % 31) * interval '1 day' END
  FROM orders o
  JOIN order_lines l ON l.order_id = o.id
 WHERE o.state = 'shipped'
 GROUP BY o.id
 ORDER BY o.shipped_at, o.id;

INSERT INTO support_tickets (customer_id, order_id, state, subject, body, opened_at, closed_at)
SELECT o.customer_id, CASE WHEN n % 4 <> 0 THEN o.id END, made.state, topic[1], topic[2], opened_at,
       CASE WHEN made.state = 'closed' THEN opened_at + (1 + n % 6) * interval '1 day' END
  FROM generate_series(1, 60) AS n
  JOIN orders o ON o.id = 1000 + n * 3
 CROSS JOIN LATERAL (
        SELECT CASE WHEN n % 7 = 0 THEN 'waiting' WHEN n > 48 THEN 'open' ELSE 'closed' END::ticket_state,
               o.ordered_at + (3 + n % 10) * interval '1 day',
               CASE n % 5
               WHEN 0 THEN ARRAY['Parcel arrived open', 'The carton was torn and one piece is missing. Please send it again.']
               WHEN 1 THEN ARRAY['Wrong size delivered', 'We ordered the larger size. Can you exchange it this week?']
               WHEN 2 THEN ARRAY['Invoice address', 'Our address has changed since spring. Please correct the invoice.']
               WHEN 3 THEN ARRAY['Delivery date', 'When will the rest of our order be here? We launch on Friday.']
               ELSE ARRAY['Question about care', 'May this rope be washed with fresh water and soap?'] END
        ) AS made (state, opened_at, topic)
 ORDER BY n;

CREATE VIEW unpaid_invoices AS
    SELECT i.number, c.name AS customer, c.email, i.due_on, i.total
      FROM invoices i
      JOIN orders o ON o.id = i.order_id
      JOIN customers c ON c.id = o.customer_id
     WHERE i.paid_at IS NULL;
COMMENT ON VIEW unpaid_invoices IS 'What customers still owe us.';
