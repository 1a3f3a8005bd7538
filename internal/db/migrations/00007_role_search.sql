-- What searches for roles look into, in lower case. The program fills it; the rows that are there are
-- the system roles, which are ASCII.

-- +goose Up
ALTER TABLE roles ADD COLUMN search_key TEXT NOT NULL DEFAULT '';
UPDATE roles SET search_key = lower(name || '
' || description);

-- +goose Down
ALTER TABLE roles DROP COLUMN search_key;
