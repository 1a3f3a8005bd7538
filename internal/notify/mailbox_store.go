package notify

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
)

const messageColumns = `id, sender, recipient, subject, text_body, html_body, created_at`

func insertMessage(ctx context.Context, q db.Queryer, id uuid.UUID, from string, m Mail, at db.Time) error {
	_, err := q.Exec(ctx, `
		INSERT INTO mailbox (id, tenant_id, sender, recipient, subject, text_body, html_body, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		id, m.TenantID, from, m.To, m.Subject, m.Text, m.HTML, at)
	if err != nil {
		return fmt.Errorf("write mail to mailbox: %w", err)
	}
	return nil
}

func listMessages(ctx context.Context, q db.Queryer, recipient string, limit int) ([]Message, error) {
	return db.All[Message](ctx, q, `
		SELECT `+messageColumns+` FROM mailbox
		WHERE ($1 = '' OR recipient = $1)
		ORDER BY created_at DESC, id DESC LIMIT $2`, recipient, limit)
}

func requireMessage(ctx context.Context, q db.Queryer, id uuid.UUID) (Message, error) {
	return db.One[Message](ctx, q, `SELECT `+messageColumns+` FROM mailbox WHERE id = $1`, id)
}
