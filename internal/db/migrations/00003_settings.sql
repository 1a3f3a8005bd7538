-- +goose Up

-- What all nodes of a store must agree on.
CREATE TABLE settings (
    name   TEXT PRIMARY KEY,
    value  TEXT NOT NULL
);

-- Links are looked up by their token.
CREATE UNIQUE INDEX mail_tokens_hash ON mail_tokens (hash);

-- +goose Down
DROP INDEX mail_tokens_hash;
DROP TABLE settings;
