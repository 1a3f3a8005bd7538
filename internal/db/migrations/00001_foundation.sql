-- One text for SQLite and PostgreSQL: ids are UUID, instants TIMESTAMPTZ, flags BOOLEAN, JSON is TEXT.
-- Time never comes from the database: the program writes every instant.

-- +goose Up

CREATE TABLE tenants (
    id                UUID PRIMARY KEY,
    name              TEXT NOT NULL,
    identifier        TEXT NOT NULL,
    identifier_key    TEXT NOT NULL,          -- identifier in lower case
    domain            TEXT NOT NULL DEFAULT '',
    type              TEXT NOT NULL DEFAULT 'Standard',
    parent_id         UUID REFERENCES tenants (id),
    is_active         BOOLEAN NOT NULL DEFAULT TRUE,
    max_users         INTEGER,
    settings          TEXT NOT NULL DEFAULT '{}',
    created_at        TIMESTAMPTZ NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL,
    deleted_at        TIMESTAMPTZ
);
CREATE UNIQUE INDEX tenants_identifier ON tenants (identifier_key) WHERE deleted_at IS NULL;
CREATE INDEX tenants_parent ON tenants (parent_id);

CREATE TABLE users (
    id                    UUID PRIMARY KEY,
    email                 TEXT NOT NULL,
    email_key             TEXT NOT NULL,      -- e-mail in lower case: what uniqueness and lockouts go by
    email_confirmed       BOOLEAN NOT NULL DEFAULT FALSE,
    first_name            TEXT NOT NULL DEFAULT '',
    last_name             TEXT NOT NULL DEFAULT '',
    phone_number          TEXT NOT NULL DEFAULT '',
    profile_picture_url   TEXT NOT NULL DEFAULT '',
    password_hash         TEXT NOT NULL DEFAULT '',  -- empty: no password was set yet
    password_changed_at   TIMESTAMPTZ,
    must_change_password  BOOLEAN NOT NULL DEFAULT FALSE,
    app_ids               TEXT NOT NULL DEFAULT '[]',
    is_active             BOOLEAN NOT NULL DEFAULT TRUE,
    generation            BIGINT NOT NULL DEFAULT 0, -- raised whenever all sessions of the user end
    sessions_invalid_before TIMESTAMPTZ,             -- when that happened last
    last_login_at         TIMESTAMPTZ,
    created_at            TIMESTAMPTZ NOT NULL,
    updated_at            TIMESTAMPTZ NOT NULL,
    deleted_at            TIMESTAMPTZ
);
CREATE UNIQUE INDEX users_email ON users (email_key) WHERE deleted_at IS NULL;

CREATE TABLE password_history (
    user_id     UUID NOT NULL REFERENCES users (id),
    hash        TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, created_at)
);

-- Accounts at social providers. An issuer and a subject name one person for good.
CREATE TABLE user_identities (
    issuer      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    user_id     UUID NOT NULL REFERENCES users (id),
    created_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX user_identities_user ON user_identities (user_id);

CREATE TABLE permissions (
    id          UUID PRIMARY KEY,
    code        TEXT NOT NULL,
    code_key    TEXT NOT NULL UNIQUE,         -- code in lower case
    description TEXT NOT NULL DEFAULT '',
    category    TEXT NOT NULL DEFAULT '',
    is_system   BOOLEAN NOT NULL DEFAULT FALSE,
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL
);

CREATE TABLE roles (
    id          UUID PRIMARY KEY,
    tenant_id   UUID REFERENCES tenants (id), -- null: a system role, good in every tenant
    name        TEXT NOT NULL,
    name_key    TEXT NOT NULL,                -- name in lower case
    description TEXT NOT NULL DEFAULT '',
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX roles_tenant_name ON roles (tenant_id, name_key) WHERE tenant_id IS NOT NULL;
CREATE UNIQUE INDEX roles_system_name ON roles (name_key) WHERE tenant_id IS NULL;

CREATE TABLE role_permissions (
    role_id        UUID NOT NULL REFERENCES roles (id) ON DELETE CASCADE,
    permission_id  UUID NOT NULL REFERENCES permissions (id),
    PRIMARY KEY (role_id, permission_id)
);
CREATE INDEX role_permissions_permission ON role_permissions (permission_id);

-- A binding lets a user into a tenant.
CREATE TABLE bindings (
    user_id     UUID NOT NULL REFERENCES users (id),
    tenant_id   UUID NOT NULL REFERENCES tenants (id),
    is_default  BOOLEAN NOT NULL DEFAULT FALSE,
    is_active   BOOLEAN NOT NULL DEFAULT TRUE,
    created_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, tenant_id)
);
CREATE INDEX bindings_tenant ON bindings (tenant_id, user_id);
CREATE UNIQUE INDEX bindings_one_default ON bindings (user_id) WHERE is_default;

CREATE TABLE binding_roles (
    user_id    UUID NOT NULL,
    tenant_id  UUID NOT NULL,
    role_id    UUID NOT NULL REFERENCES roles (id),
    PRIMARY KEY (user_id, tenant_id, role_id),
    FOREIGN KEY (user_id, tenant_id) REFERENCES bindings (user_id, tenant_id) ON DELETE CASCADE
);
CREATE INDEX binding_roles_role ON binding_roles (role_id, tenant_id, user_id);

-- A session is one signed-in device in one tenant (or, with no tenant, one that must still choose).
CREATE TABLE sessions (
    id            UUID PRIMARY KEY,
    user_id       UUID NOT NULL REFERENCES users (id),
    tenant_id     UUID REFERENCES tenants (id),
    generation    BIGINT NOT NULL,
    app_id        TEXT NOT NULL DEFAULT '',
    device        TEXT NOT NULL DEFAULT '',
    address       TEXT NOT NULL DEFAULT '',
    created_at    TIMESTAMPTZ NOT NULL,
    last_used_at  TIMESTAMPTZ NOT NULL,
    expires_at    TIMESTAMPTZ NOT NULL,
    ended_at      TIMESTAMPTZ,
    end_reason    TEXT NOT NULL DEFAULT ''
);
CREATE INDEX sessions_user ON sessions (user_id, created_at);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;

-- Spent refresh tokens stay until they expire, so that a stolen one is recognised.
CREATE TABLE refresh_tokens (
    hash        TEXT PRIMARY KEY,
    session_id  UUID NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    issued_at   TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL,
    spent_at    TIMESTAMPTZ
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

-- Single-use links sent by mail. One row per user and purpose: only the newest works.
CREATE TABLE mail_tokens (
    user_id     UUID NOT NULL REFERENCES users (id),
    purpose     TEXT NOT NULL,
    hash        TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, purpose)
);
CREATE INDEX mail_tokens_expiry ON mail_tokens (expires_at);

-- Failed sign-ins by e-mail, whether or not an account has it.
CREATE TABLE lockouts (
    email_key     TEXT PRIMARY KEY,
    failures      INTEGER NOT NULL,
    locked_until  TIMESTAMPTZ,
    updated_at    TIMESTAMPTZ NOT NULL
);
CREATE INDEX lockouts_updated ON lockouts (updated_at);

-- Keys that sign tokens (sig) and open encrypted passwords (enc). At most one of each use is current.
CREATE TABLE keys (
    id          TEXT PRIMARY KEY,             -- the kid
    use         TEXT NOT NULL,
    private     TEXT NOT NULL,                -- PKCS #8 in base64, wrapped by the master key where one is given
    is_current  BOOLEAN NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    retire_at   TIMESTAMPTZ                   -- set on rotation: published and accepted until then
);
CREATE UNIQUE INDEX keys_current ON keys (use) WHERE is_current;

CREATE TABLE apps (
    id          UUID PRIMARY KEY,
    app_id      TEXT NOT NULL,
    app_id_key  TEXT NOT NULL,                -- app id in lower case
    name        TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    is_active   BOOLEAN NOT NULL DEFAULT TRUE,
    search_key  TEXT NOT NULL DEFAULT '',     -- what search looks into, in lower case
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    deleted_at  TIMESTAMPTZ
);
CREATE UNIQUE INDEX apps_app_id ON apps (app_id_key) WHERE deleted_at IS NULL;

CREATE TABLE audit_log (
    id           UUID PRIMARY KEY,
    tenant_id    UUID,
    actor_id     UUID,
    actor_email  TEXT NOT NULL DEFAULT '',
    action       TEXT NOT NULL,
    target_type  TEXT NOT NULL DEFAULT '',
    target_id    TEXT NOT NULL DEFAULT '',
    before       TEXT,
    after        TEXT,
    address      TEXT NOT NULL DEFAULT '',
    trace_id     TEXT NOT NULL DEFAULT '',
    created_at   TIMESTAMPTZ NOT NULL
);
CREATE INDEX audit_log_created ON audit_log (created_at);
CREATE INDEX audit_log_tenant ON audit_log (tenant_id, created_at);
CREATE INDEX audit_log_actor ON audit_log (actor_id, created_at);
CREATE INDEX audit_log_target ON audit_log (target_type, target_id, created_at);

CREATE TABLE mailbox (
    id          UUID PRIMARY KEY,
    tenant_id   UUID,
    sender      TEXT NOT NULL,
    recipient   TEXT NOT NULL,
    subject     TEXT NOT NULL,
    text_body   TEXT NOT NULL,
    html_body   TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX mailbox_created ON mailbox (created_at);

-- Answers of POST calls that carried an Idempotency-Key, to be replayed.
CREATE TABLE idempotency_keys (
    caller      TEXT NOT NULL,
    route       TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    owner       TEXT NOT NULL,                -- who runs the call now: fences a late first runner
    status      INTEGER NOT NULL DEFAULT 0,   -- 0: still running
    headers     TEXT NOT NULL DEFAULT '{}',
    body        TEXT NOT NULL DEFAULT '',
    started_at  TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (caller, route, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- Sliding windows of the limits that hold for the whole cluster.
CREATE TABLE limit_windows (
    key         TEXT PRIMARY KEY,
    hits        TEXT NOT NULL DEFAULT '',
    expires_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX limit_windows_expiry ON limit_windows (expires_at);

-- +goose Down
DROP TABLE limit_windows;
DROP TABLE idempotency_keys;
DROP TABLE mailbox;
DROP TABLE audit_log;
DROP TABLE apps;
DROP TABLE keys;
DROP TABLE lockouts;
DROP TABLE mail_tokens;
DROP TABLE refresh_tokens;
DROP TABLE sessions;
DROP TABLE binding_roles;
DROP TABLE bindings;
DROP TABLE role_permissions;
DROP TABLE roles;
DROP TABLE permissions;
DROP TABLE user_identities;
DROP TABLE password_history;
DROP TABLE users;
DROP TABLE tenants;
