-- Invitations, API keys, and what reading the audit log needs.

-- +goose Up
CREATE TABLE invitations (
    id                UUID PRIMARY KEY,
    tenant_id         UUID NOT NULL REFERENCES tenants (id),
    user_id           UUID NOT NULL REFERENCES users (id),
    email             TEXT NOT NULL,
    role_ids          TEXT NOT NULL DEFAULT '[]',
    message           TEXT NOT NULL DEFAULT '',
    is_new_account    BOOLEAN NOT NULL,          -- the account was made for this invitation
    invited_by        UUID NOT NULL REFERENCES users (id),
    invited_by_email  TEXT NOT NULL,
    link_hash         TEXT NOT NULL DEFAULT '',  -- of the newest link that was mailed; empty where none was needed
    search_key        TEXT NOT NULL DEFAULT '',
    created_at        TIMESTAMPTZ NOT NULL,
    sent_at           TIMESTAMPTZ NOT NULL,
    expires_at        TIMESTAMPTZ,               -- null where there is no link
    accepted_at       TIMESTAMPTZ,
    revoked_at        TIMESTAMPTZ
);
CREATE INDEX invitations_tenant ON invitations (tenant_id, created_at, id);
CREATE INDEX invitations_open ON invitations (user_id) WHERE accepted_at IS NULL AND revoked_at IS NULL;

CREATE TABLE api_keys (
    id                UUID PRIMARY KEY,
    tenant_id         UUID NOT NULL REFERENCES tenants (id),
    name              TEXT NOT NULL,
    name_key          TEXT NOT NULL,             -- name in lower case
    description       TEXT NOT NULL DEFAULT '',
    prefix            TEXT NOT NULL,
    hash              TEXT NOT NULL UNIQUE,      -- SHA-256 of the whole key
    permissions       TEXT NOT NULL,
    is_active         BOOLEAN NOT NULL DEFAULT TRUE,
    expires_at        TIMESTAMPTZ,
    last_used_at      TIMESTAMPTZ,
    created_by        UUID NOT NULL REFERENCES users (id),
    created_by_email  TEXT NOT NULL,
    search_key        TEXT NOT NULL DEFAULT '',
    created_at        TIMESTAMPTZ NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL,
    deleted_at        TIMESTAMPTZ
);
CREATE UNIQUE INDEX api_keys_name ON api_keys (tenant_id, name_key) WHERE deleted_at IS NULL;
CREATE INDEX api_keys_tenant ON api_keys (tenant_id, created_at, id);

ALTER TABLE audit_log ADD COLUMN api_key_id UUID;                    -- null where a person acted
ALTER TABLE audit_log ADD COLUMN search_key TEXT NOT NULL DEFAULT ''; -- what search looks into, in lower case
UPDATE audit_log SET search_key = lower(actor_email || '
' || action || '
' || target_type || '
' || target_id || '
' || COALESCE(before, '') || '
' || COALESCE(after, ''));

-- Each filter of the log has an index in the very order of the list, with the tenant behind the filter:
-- it serves those who see one tenant and those who see all. The id breaks ties; without it SQLite would
-- rather walk through the whole tenant than sort.
DROP INDEX audit_log_created;
DROP INDEX audit_log_tenant;
DROP INDEX audit_log_actor;
DROP INDEX audit_log_target;
CREATE INDEX audit_log_created ON audit_log (created_at, id);
CREATE INDEX audit_log_tenant ON audit_log (tenant_id, created_at, id);
CREATE INDEX audit_log_actor ON audit_log (actor_id, tenant_id, created_at, id);
CREATE INDEX audit_log_action ON audit_log (action, tenant_id, created_at, id);
CREATE INDEX audit_log_target ON audit_log (target_id, tenant_id, created_at, id);
CREATE INDEX audit_log_target_type ON audit_log (target_type, tenant_id, created_at, id);

-- Whoever looks for what somebody did may know only the e-mail, also of an account that is gone.
CREATE INDEX users_deleted_email ON users (email_key) WHERE deleted_at IS NOT NULL;

-- +goose Down
DROP INDEX users_deleted_email;
DROP INDEX audit_log_target_type;
DROP INDEX audit_log_action;
DROP INDEX audit_log_created;
DROP INDEX audit_log_tenant;
DROP INDEX audit_log_actor;
DROP INDEX audit_log_target;
CREATE INDEX audit_log_created ON audit_log (created_at);
CREATE INDEX audit_log_tenant ON audit_log (tenant_id, created_at);
CREATE INDEX audit_log_actor ON audit_log (actor_id, created_at);
CREATE INDEX audit_log_target ON audit_log (target_type, target_id, created_at);
ALTER TABLE audit_log DROP COLUMN search_key;
ALTER TABLE audit_log DROP COLUMN api_key_id;
DROP TABLE api_keys;
DROP TABLE invitations;
