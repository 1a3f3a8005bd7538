-- +goose Up
ALTER TABLE users ADD COLUMN search_key TEXT NOT NULL DEFAULT '';
UPDATE users SET search_key = lower(email || ' ' || trim(first_name || ' ' || last_name));

-- +goose Down
ALTER TABLE users DROP COLUMN search_key;
