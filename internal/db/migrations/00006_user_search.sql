-- What the administration of users needs beside the accounts themselves.

-- +goose Up
ALTER TABLE users ADD COLUMN search_key TEXT NOT NULL DEFAULT ''; -- what search looks into, in lower case
UPDATE users SET search_key = lower(email || '
' || trim(first_name || ' ' || last_name));

-- Transactions that take a Super Administrator away lock this row to come one after the other.
INSERT INTO locks (name) VALUES ('administrators');

-- +goose Down
DELETE FROM locks WHERE name = 'administrators';
ALTER TABLE users DROP COLUMN search_key;
