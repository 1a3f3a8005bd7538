package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
)

// A lockout belongs to an e-mail, whether or not an account has it, so that answers do not tell.
//
// Passwords are checked outside of any transaction and counted inside one afterwards. The row of the
// e-mail puts parallel attempts into one order: once the limit is reached in that order, every later
// attempt hears ACCOUNT_LOCKED, a right password too. So no number of parallel attempts learns more
// than the limit allows.

type lockout struct {
	Failures    int      `db:"failures"`
	LockedUntil *db.Time `db:"locked_until"`
}

func (l lockout) lockedAt(now db.Time) bool {
	return l.LockedUntil != nil && l.LockedUntil.After(now.Time)
}

func (s *Service) lockedFault() *fault.Fault {
	return fault.New(fault.AccountLocked, "Too many wrong passwords. Try again later, or reset the password.")
}

// requireUnlocked fails with ACCOUNT_LOCKED while the e-mail is locked.
func (s *Service) requireUnlocked(ctx context.Context, q db.Queryer, email string) error {
	l, err := findLockout(ctx, q, email, "")
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read lockout: %w", err)
	}
	if l.lockedAt(s.now()) {
		return s.lockedFault()
	}
	return nil
}

// countFailure notes one wrong password and returns what the caller is to hear: refused, or
// ACCOUNT_LOCKED where earlier attempts have locked the e-mail meanwhile.
func (s *Service) countFailure(ctx context.Context, email string, refused *fault.Fault) error {
	var answer *fault.Fault
	err := s.db.Write(ctx, func(tx db.Tx) error {
		answer = refused
		now := s.now()
		l, err := holdLockout(ctx, tx, email, now)
		if err != nil {
			return err
		}
		if l.lockedAt(now) {
			answer = s.lockedFault()
			return nil
		}
		return s.addFailure(ctx, tx, email, l, now)
	})
	if err != nil {
		return fmt.Errorf("count wrong password: %w", err)
	}
	return answer
}

func (s *Service) addFailure(ctx context.Context, tx db.Tx, email string, l lockout, now db.Time) error {
	if l.LockedUntil != nil { // an old lockout has run out: count from the start
		l = lockout{}
	}
	l.Failures++
	action := "sign-in.failed"
	if l.Failures >= s.cfg.LockoutAttempts {
		until := db.At(now.Add(s.cfg.LockoutDuration))
		l.LockedUntil, action = &until, "sign-in.locked"
	}
	if err := setLockout(ctx, tx, email, l, now); err != nil {
		return err
	}
	return audit.Write(ctx, tx, audit.Entry{Action: action, TargetType: "email", TargetID: emailKey(email), At: now.Time})
}

// admit is the other half: it clears the count after a right password, or fails with ACCOUNT_LOCKED
// where the limit was reached first.
func (s *Service) admit(ctx context.Context, tx db.Tx, email string) error {
	l, err := findLockout(ctx, tx, email, tx.Dialect().ForUpdate())
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read lockout: %w", err)
	}
	if l.lockedAt(s.now()) {
		return s.lockedFault()
	}
	return deleteLockout(ctx, tx, email)
}
