-- What the administration of tenants needs beside the tenants themselves.

-- +goose Up
ALTER TABLE tenants ADD COLUMN user_count INTEGER NOT NULL DEFAULT 0; -- bindings, changed in the transaction that adds or removes one
ALTER TABLE tenants ADD COLUMN search_key TEXT NOT NULL DEFAULT '';   -- what search looks into, in lower case
UPDATE tenants SET
    user_count = (SELECT count(*) FROM bindings WHERE bindings.tenant_id = tenants.id),
    search_key = lower(name || ' ' || identifier || ' ' || domain);

-- A row that transactions lock to come one after the other, where no row of the matter itself will do.
CREATE TABLE locks (
    name  TEXT PRIMARY KEY
);
INSERT INTO locks (name) VALUES ('tenant-tree');

-- +goose Down
DROP TABLE locks;
ALTER TABLE tenants DROP COLUMN search_key;
ALTER TABLE tenants DROP COLUMN user_count;
