// Package identity knows who people are, which tenants they may enter and what they may do there.
package identity

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"steward/internal/config"
	"steward/internal/db"
	"steward/internal/notify"
)

// Lifetimes that the contract fixes.
const (
	tenantTokenTTL   = 60 * time.Minute
	globalTokenTTL   = 2 * time.Minute
	refreshTokenTTL  = 30 * 24 * time.Hour
	refreshReuseTime = 10 * time.Second // a spent token shown again this soon is a lost answer, not a theft
	resetTokenTTL    = time.Hour
	confirmTokenTTL  = 7 * 24 * time.Hour
	inviteTokenTTL   = 7 * 24 * time.Hour
	profileTTL       = 30 * time.Minute
)

// Options is what the service is made of. Everything but AnswerFloor is required.
type Options struct {
	DB      *db.DB
	Mail    *notify.Service
	Hasher  *Hasher
	Keyring *Keyring
	Signer  *Signer
	Social  *Social
	Log     *slog.Logger
	Now     func() time.Time
	Config  config.Config
	// AnswerFloor is the least time that calls take which must not tell by their time whether an
	// account exists.
	AnswerFloor time.Duration
}

// Service is the door of this room.
type Service struct {
	db         *db.DB
	mail       *notify.Service
	hasher     *Hasher
	keyring    *Keyring
	signer     *Signer
	social     *Social
	log        *slog.Logger
	clock      func() time.Time
	cfg        config.Config
	policy     PasswordPolicy
	floor      time.Duration
	principals *cache[*principal]
	profiles   *cache[*Profile]
	keyRefs    keyRefs
	keyUses    keyUses
	maxExport  int
}

// New joins the parts and listens for changes made on other nodes. Call it before the store starts
// to deliver notifications.
func New(o Options) *Service {
	s := &Service{
		db: o.DB, mail: o.Mail, hasher: o.Hasher, keyring: o.Keyring, signer: o.Signer, social: o.Social,
		log: o.Log, clock: o.Now, cfg: o.Config, floor: o.AnswerFloor,
		policy: PasswordPolicy{
			RejectCommon: o.Config.PasswordRejectCommon,
			ExpireDays:   o.Config.PasswordExpireDays,
			History:      o.Config.PasswordHistory,
		},
		principals: newCache[*principal](),
		profiles:   newCache[*Profile](),
		maxExport:  maxAuditExport,
	}
	s.subscribe()
	return s
}

// now is the present as the databases keep it, so that what is compared with a stored instant has
// its precision.
func (s *Service) now() db.Time { return db.At(s.clock()) }

func newID() (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("make id: %w", err)
	}
	return id, nil
}

// sameTime runs fn and then waits until the floor has passed, so that the caller cannot tell from the
// time what fn found.
func (s *Service) sameTime(ctx context.Context, fn func() error) error {
	timer := time.NewTimer(s.floor)
	defer timer.Stop()
	err := fn()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return err
}
