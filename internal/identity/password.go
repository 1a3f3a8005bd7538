package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"steward/internal/fault"
)

// HasherOptions tunes a Hasher; a zero field takes the default.
type HasherOptions struct {
	Memory      uint32 // KiB per hash; default 19456 (19 MiB)
	Time        uint32 // passes; default 2
	Parallelism uint8  // lanes; default 1
	// Concurrency is how many hashes are computed at once. The default is one per core that the
	// program may use: more would not be faster and would starve every other request.
	Concurrency int
	// Queue is how many may wait for their turn before the next is sent away; default 1000.
	Queue int
}

const (
	saltBytes = 16
	keyBytes  = 32
	// maxPasswordBytes bounds the work that a long input costs; the policy allows at most 512.
	maxPasswordBytes = 1024
	// typicalHash estimates how fast the queue moves, for Retry-After only.
	typicalHash = 35 * time.Millisecond
)

// Hasher turns passwords into Argon2id hashes and checks them, a bounded number at a time.
type Hasher struct {
	params  argonParams
	nobody  argonHash
	slots   chan struct{}
	queue   int64
	waiting atomic.Int64
}

// NewHasher makes a Hasher; several may exist, each with its own bound.
func NewHasher(o HasherOptions) *Hasher {
	params := argonParams{memory: orDefault(o.Memory, 19456), time: orDefault(o.Time, 2), lanes: orDefault(o.Parallelism, 1)}
	concurrency := orDefault(o.Concurrency, min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
	return &Hasher{
		params: params,
		nobody: argonHash{argonParams: params, salt: randomBytes(saltBytes), key: randomBytes(keyBytes)},
		slots:  make(chan struct{}, concurrency),
		queue:  int64(orDefault(o.Queue, 1000)),
	}
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: the program stops where the system has no randomness
	return b
}

// Hash returns the hash of the password in PHC form, with a fresh salt. It waits for its turn; where
// too many wait it fails with SERVICE_UNAVAILABLE.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if len(password) > maxPasswordBytes {
		return "", errors.New("hash password: too long")
	}
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer h.leave()
	fresh := argonHash{argonParams: h.params, salt: randomBytes(saltBytes)}
	fresh.key = fresh.derive(password, keyBytes)
	return fresh.String(), nil
}

// Verify tells whether the password belongs to the hash, and whether the hash should be replaced by
// a new one because it was made with other parameters. An empty hash (no password set) and an
// oversized password take the same time and are never right.
func (h *Hasher) Verify(ctx context.Context, encoded, password string) (ok, needsRehash bool, err error) {
	if encoded == "" || len(password) > maxPasswordBytes {
		return false, false, h.VerifyNobody(ctx, password)
	}
	hash, err := parseHash(encoded)
	if err != nil {
		return false, false, err
	}
	if err := h.enter(ctx); err != nil {
		return false, false, err
	}
	defer h.leave()
	return hash.matches(password), hash.params() != h.params, nil
}

// VerifyNobody does the work of Verify for an account that does not exist, so that the time of a
// refusal does not tell who has an account here.
func (h *Hasher) VerifyNobody(ctx context.Context, password string) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	h.nobody.matches(password[:min(len(password), maxPasswordBytes)])
	return nil
}

// Queue tells how many wait for their turn and how many hashes are being computed.
func (h *Hasher) Queue() (waiting, running int) { return int(h.waiting.Load()), len(h.slots) }

// enter takes a slot; those who wait are served in the order they came.
func (h *Hasher) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return h.busy().Because(err)
	}
	select {
	case h.slots <- struct{}{}:
		return nil
	default:
	}
	if h.waiting.Add(1) > h.queue {
		h.waiting.Add(-1)
		return h.busy()
	}
	defer h.waiting.Add(-1)
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return h.busy().Because(ctx.Err())
	}
}

func (h *Hasher) leave() { <-h.slots }

// busy tells the caller to come back when those who wait now should be through.
func (h *Hasher) busy() *fault.Fault {
	wait := time.Duration(h.waiting.Load()) * typicalHash / time.Duration(cap(h.slots))
	return fault.New(fault.Unavailable, "Too many sign-ins at the moment.").RetryIn(max(wait, time.Second))
}
