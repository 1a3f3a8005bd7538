package identity

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// passwordHash is a stored hash of one of the kinds that can be checked.
type passwordHash interface {
	matches(password string) bool
	// params are compared with the present ones; zero for a kind that is always replaced.
	params() argonParams
}

func parseHash(encoded string) (passwordHash, error) {
	switch {
	case strings.HasPrefix(encoded, "$argon2id$"):
		return parseArgon(encoded)
	case strings.HasPrefix(encoded, "$2a$"), strings.HasPrefix(encoded, "$2b$"), strings.HasPrefix(encoded, "$2y$"):
		return parseBcrypt(encoded)
	}
	return nil, errors.New("read password hash: unknown kind")
}

// argonParams is what an Argon2id hash costs.
type argonParams struct {
	memory uint32
	time   uint32
	lanes  uint8
}

// bounded refuses parameters that could only come from a damaged or hostile row: one hash must not
// take the memory or the minutes of the whole program.
func (p argonParams) bounded() bool {
	return p.time >= 1 && p.time <= 16 && p.lanes >= 1 && p.lanes <= 16 &&
		p.memory >= 8*uint32(p.lanes) && p.memory <= 256*1024
}

type argonHash struct {
	argonParams
	salt, key []byte
}

func (a argonHash) params() argonParams { return a.argonParams }

func (a argonHash) derive(password string, length uint32) []byte {
	return argon2.IDKey([]byte(password), a.salt, a.time, a.memory, a.lanes, length)
}

func (a argonHash) matches(password string) bool {
	return subtle.ConstantTimeCompare(a.derive(password, uint32(len(a.key))), a.key) == 1
}

// String is the PHC form, which names its parameters so that they can change over the years.
func (a argonHash) String() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, a.memory, a.time, a.lanes, b64(a.salt), b64(a.key))
}

var errArgonForm = errors.New("read password hash: not a valid Argon2id hash")

func parseArgon(encoded string) (passwordHash, error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return nil, errArgonForm
	}
	params, ok := parseParams(parts[3])
	if !ok || !params.bounded() {
		return nil, errArgonForm
	}
	b64 := base64.RawStdEncoding.Strict()
	salt, saltErr := b64.DecodeString(parts[4])
	key, keyErr := b64.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 {
		return nil, errArgonForm
	}
	return argonHash{argonParams: params, salt: salt, key: key}, nil
}

// parseParams reads "m=19456,t=2,p=1", in this order as every implementation writes it.
func parseParams(text string) (argonParams, bool) {
	var values [3]uint64
	fields := strings.Split(text, ",")
	if len(fields) != len(values) {
		return argonParams{}, false
	}
	for i, name := range []string{"m=", "t=", "p="} {
		digits, ok := strings.CutPrefix(fields[i], name)
		value, err := strconv.ParseUint(digits, 10, 32)
		if !ok || err != nil {
			return argonParams{}, false
		}
		values[i] = value
	}
	if values[2] > 255 {
		return argonParams{}, false
	}
	return argonParams{memory: uint32(values[0]), time: uint32(values[1]), lanes: uint8(values[2])}, true
}

// bcryptHash came from another system; it is replaced at the next sign-in.
type bcryptHash string

// maxBcryptCost is about a second of work.
const maxBcryptCost = 14

func parseBcrypt(encoded string) (passwordHash, error) {
	cost, err := bcrypt.Cost([]byte(encoded))
	if err != nil || cost > maxBcryptCost {
		return nil, errors.New("read password hash: not a valid bcrypt hash")
	}
	return bcryptHash(encoded), nil
}

func (b bcryptHash) params() argonParams { return argonParams{} }

func (b bcryptHash) matches(password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(b), []byte(password)) == nil
}
