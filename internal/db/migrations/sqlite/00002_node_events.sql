-- What PostgreSQL does with NOTIFY: words for the other processes on the same file. SQLite numbers
-- the rows in the order of their commits, without gaps, as long as the newest is never removed.

-- +goose Up
CREATE TABLE node_events (
    id          INTEGER PRIMARY KEY,
    node        TEXT NOT NULL,                -- who says it
    topic       TEXT NOT NULL,
    payload     TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL
);

-- +goose Down
DROP TABLE node_events;
