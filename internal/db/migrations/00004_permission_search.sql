-- What lists of permissions are filtered, grouped and searched by, in lower case. The program fills both
-- columns; the rows that are there are the shipped ones, which are ASCII.

-- +goose Up
ALTER TABLE permissions ADD COLUMN category_key TEXT NOT NULL DEFAULT '';
ALTER TABLE permissions ADD COLUMN search_key TEXT NOT NULL DEFAULT '';
UPDATE permissions SET category_key = lower(category), search_key = lower(code || '
' || description || '
' || category);
CREATE INDEX permissions_category ON permissions (category_key, code_key);

-- +goose Down
DROP INDEX permissions_category;
ALTER TABLE permissions DROP COLUMN search_key;
ALTER TABLE permissions DROP COLUMN category_key;
