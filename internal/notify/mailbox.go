// Package notify gets messages to people. In this release every message goes to the built-in mailbox,
// where an operator reads it.
package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

// Mail is one message to one person. Text and HTML say the same.
type Mail struct {
	TenantID *uuid.UUID
	To       string
	Subject  string
	Text     string
	HTML     string
}

// Message is a mail as the mailbox keeps it.
type Message struct {
	ID        uuid.UUID `db:"id"`
	Sender    string    `db:"sender"`
	Recipient string    `db:"recipient"`
	Subject   string    `db:"subject"`
	Text      string    `db:"text_body"`
	HTML      string    `db:"html_body"`
	CreatedAt db.Time   `db:"created_at"`
}

// Service is the door of this room.
type Service struct {
	db   *db.DB
	from string
	now  func() time.Time
}

// New makes a service whose mails come from the sender given.
func New(d *db.DB, from string, now func() time.Time) *Service {
	return &Service{db: d, from: from, now: now}
}

// Send puts the mail into the mailbox as part of the caller's transaction: it is kept if and only if
// what caused it is.
func (s *Service) Send(ctx context.Context, tx db.Tx, m Mail) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make mail id: %w", err)
	}
	return insertMessage(ctx, tx, id, s.from, m, db.At(s.now()))
}

// Newest lists the latest messages, newest first, at most limit of them, only those to the recipient
// where one is given. Bodies are included.
func (s *Service) Newest(ctx context.Context, recipient string, limit int) ([]Message, error) {
	return listMessages(ctx, s.db, recipient, limit)
}

// Message reads one message; sql.ErrNoRows where there is none.
func (s *Service) Message(ctx context.Context, id uuid.UUID) (Message, error) {
	return requireMessage(ctx, s.db, id)
}
