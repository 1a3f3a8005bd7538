package identity

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"

	"steward/internal/fault"
)

// cheapHash makes hashing quick where a test is not about its cost.
var cheapHash = HasherOptions{Memory: 64, Time: 1}

func TestHasher(t *testing.T) {
	h := NewHasher(cheapHash)
	hash, err := h.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if again == hash {
		t.Error("two hashes of one password have the same salt")
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Errorf("hash %q is not in PHC form", hash)
	}
	imported, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	// A vector of the reference implementation for the password "password" and the salt "somesalt".
	const reference = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	for _, tc := range []struct {
		name, hash, password string
		right, stale         bool
	}{
		{"the right password is accepted", hash, "correct horse", true, false},
		{"a wrong password is refused", hash, "correct horsf", false, false},
		{"an empty password is refused", hash, "", false, false},
		{"case counts", hash, "Correct horse", false, false},
		{"no hash takes the same way and is never right", "", "", false, false},
		{"a megabyte is refused", hash, strings.Repeat("x", 1<<20), false, false},
		{"a hash of the reference implementation is accepted and stale", reference, "password", true, true},
		{"an imported bcrypt hash is accepted and stale", string(imported), "correct horse", true, true},
		{"an imported bcrypt hash refuses a wrong password", string(imported), "wrong", false, true},
		{"a bcrypt hash written by PHP is accepted", "$2y$" + string(imported)[4:], "correct horse", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			right, stale, err := h.Verify(t.Context(), tc.hash, tc.password)
			if err != nil || right != tc.right || stale != tc.stale {
				t.Errorf("got right %v, stale %v, error %v; want %v, %v, none", right, stale, err, tc.right, tc.stale)
			}
		})
	}
	if err := h.VerifyNobody(t.Context(), strings.Repeat("x", 1<<20)); err != nil {
		t.Errorf("VerifyNobody: %v", err)
	}
	if _, err := h.Hash(t.Context(), strings.Repeat("x", 1<<20)); err == nil {
		t.Error("a megabyte was hashed")
	}
}

func TestDamagedHashesAreErrors(t *testing.T) {
	h := NewHasher(cheapHash)
	const salt, key = "c29tZXNhbHQ", "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	for name, hash := range map[string]string{
		"plain text":          "password",
		"an unknown kind":     "$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key,
		"another version":     "$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + key,
		"no passes":           "$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + key,
		"no lanes":            "$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + key,
		"too little memory":   "$argon2id$v=19$m=7,t=1,p=1$" + salt + "$" + key,
		"a terabyte":          "$argon2id$v=19$m=1073741824,t=1,p=1$" + salt + "$" + key,
		"a million passes":    "$argon2id$v=19$m=64,t=1000000,p=1$" + salt + "$" + key,
		"too many lanes":      "$argon2id$v=19$m=4096,t=1,p=255$" + salt + "$" + key,
		"a number too large":  "$argon2id$v=19$m=99999999999999999999,t=1,p=1$" + salt + "$" + key,
		"a missing parameter": "$argon2id$v=19$m=64,t=1$" + salt + "$" + key,
		"a missing part":      "$argon2id$v=19$m=64,t=1,p=1$" + salt,
		"broken base64":       "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$!!!",
		"a short key":         "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$AAAA",
		"a short salt":        "$argon2id$v=19$m=64,t=1,p=1$AAAA$" + key,
		"broken bcrypt":       "$2a$10$short",
		"bcrypt for an hour":  "$2a$31$" + strings.Repeat("a", 53),
	} {
		t.Run(name, func(t *testing.T) {
			if right, _, err := h.Verify(t.Context(), hash, "password"); err == nil || right {
				t.Errorf("right %v, error %v", right, err)
			}
		})
	}
}

func TestHashQueue(t *testing.T) {
	h := NewHasher(HasherOptions{Memory: 64, Time: 1, Concurrency: 1, Queue: 1})
	if err := h.enter(t.Context()); err != nil { // the only slot is taken
		t.Fatal(err)
	}
	waiter := make(chan error, 1)
	go func() { waiter <- h.VerifyNobody(t.Context(), "x") }()
	waitFor(t, func() bool { waiting, running := h.Queue(); return waiting == 1 && running == 1 })

	err := h.VerifyNobody(t.Context(), "x")
	if f, ok := fault.From(err); !ok || f.Code != fault.Unavailable || f.RetryAfter < time.Second {
		t.Errorf("with a full queue: %v, want SERVICE_UNAVAILABLE with a time to come back", err)
	}
	h.leave()
	if err := <-waiter; err != nil {
		t.Errorf("the waiter: %v", err)
	}
	waitFor(t, func() bool { waiting, running := h.Queue(); return waiting == 0 && running == 0 })
}

func TestWaitingForAHashEndsWithTheRequest(t *testing.T) {
	h := NewHasher(HasherOptions{Memory: 64, Time: 1, Concurrency: 1})
	if err := h.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiter := make(chan error, 1)
	go func() { _, err := h.Hash(ctx, "x"); waiter <- err }()
	waitFor(t, func() bool { waiting, _ := h.Queue(); return waiting == 1 })
	cancel()
	if err := <-waiter; !errors.Is(err, context.Canceled) || !fault.Is(err, fault.Unavailable) {
		t.Errorf("got %v", err)
	}
	h.leave()
	if _, err := h.Hash(ctx, "x"); err == nil {
		t.Error("a hash was computed for a request that is over")
	}
}

func TestPasswordPolicy(t *testing.T) {
	strict := PasswordPolicy{RejectCommon: true}
	for _, tc := range []struct {
		name     string
		policy   PasswordPolicy
		password string
		wrong    string // part of the message
	}{
		{"seven characters are too few", PasswordPolicy{}, "1234567", "8 to 128"},
		{"eight are enough", PasswordPolicy{}, "12345678", ""},
		{"characters count, not bytes", PasswordPolicy{}, "ääääääää", ""},
		{"seven characters of many bytes are too few", PasswordPolicy{}, "äöüßéèê", "8 to 128"},
		{"128 characters are allowed", PasswordPolicy{}, strings.Repeat("語", 128), ""},
		{"129 are too many", PasswordPolicy{}, strings.Repeat("x", 129), "8 to 128"},
		{"a megabyte is too much", PasswordPolicy{}, strings.Repeat("x", 1<<20), "8 to 128"},
		{"broken UTF-8 is refused", PasswordPolicy{}, "password\xff", "UTF-8"},
		{"a common one passes unless the policy says so", PasswordPolicy{}, "password1", ""},
		{"a common one is refused", strict, "password1", "guessed first"},
		{"a common one in capitals is refused", strict, "PASSWORD1", "guessed first"},
		{"an uncommon one passes", strict, "drape-otter-19-lantern", ""},
		{"a policy may ask for more", PasswordPolicy{Min: 12, Max: 64}, "12345678901", "12 to 64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := tc.policy.Check("newPassword", tc.password)
			if tc.wrong == "" {
				if f != nil {
					t.Errorf("refused: %v", f)
				}
				return
			}
			if f == nil || len(f.Fields) != 1 || f.Fields[0].Name != "newPassword" || !strings.Contains(f.Fields[0].Message, tc.wrong) {
				t.Fatalf("got %v, want a message with %q", f, tc.wrong)
			}
			if strings.Contains(f.Error(), tc.password) {
				t.Error("the message repeats the password")
			}
		})
	}
}

// waitFor polls until the condition holds; the test fails after ten seconds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("waited too long")
		}
	}
}

// BenchmarkBareHash and BenchmarkHasher are compared: the queue must cost nothing.
func BenchmarkBareHash(b *testing.B) {
	salt := randomBytes(saltBytes)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			argon2.IDKey([]byte("correct horse"), salt, 2, 19456, 1, keyBytes)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hash/s")
}

func BenchmarkHasher(b *testing.B) {
	h := NewHasher(HasherOptions{})
	hash, err := h.Hash(b.Context(), "correct horse")
	if err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if right, _, err := h.Verify(b.Context(), hash, "correct horse"); err != nil || !right {
				b.Error(right, err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hash/s")
}

func TestHashingInParallelIsBounded(t *testing.T) {
	h := NewHasher(HasherOptions{Memory: 1024, Time: 1, Concurrency: 2})
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			if err := h.VerifyNobody(t.Context(), "x"); err != nil {
				t.Error(err)
			}
			if _, running := h.Queue(); running > 2 {
				t.Errorf("%d hashes run at once", running)
			}
		})
	}
	group.Wait()
}
