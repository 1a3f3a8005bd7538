package identity

const (
	deleteOldRefreshTokens = `
		DELETE FROM refresh_tokens WHERE hash IN (
			SELECT hash FROM refresh_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`

	// The tokens of ended sessions go first and a session only once it has none: a cascade would take
	// any number of them along.
	deleteEndedRefreshTokens = `
		DELETE FROM refresh_tokens WHERE hash IN (
			SELECT r.hash FROM refresh_tokens r JOIN sessions s ON s.id = r.session_id WHERE s.ended_at < $1 LIMIT $2)`

	deleteOldSessions = `
		DELETE FROM sessions WHERE id IN (
			SELECT id FROM sessions s WHERE expires_at < $1
			AND NOT EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.session_id = s.id) ORDER BY expires_at LIMIT $2)`

	deleteEndedSessions = `
		DELETE FROM sessions WHERE id IN (
			SELECT id FROM sessions s WHERE ended_at < $1
			AND NOT EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.session_id = s.id) ORDER BY ended_at LIMIT $2)`

	deleteOldMailTokens = `
		DELETE FROM mail_tokens WHERE (user_id, purpose) IN (
			SELECT user_id, purpose FROM mail_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`

	deleteOldLockouts = `
		DELETE FROM lockouts WHERE email_key IN (
			SELECT email_key FROM lockouts WHERE updated_at < $1 AND (locked_until IS NULL OR locked_until < $1)
			ORDER BY updated_at LIMIT $2)`
)
