package resource

import (
	"strconv"

	"github.com/google/uuid"

	"steward/internal/db"
)

// Version names one state of a row that never has the same updatedAt twice: the ETag, without quotes.
func Version(id uuid.UUID, updatedAt db.Time) string {
	return id.String()[24:] + "-" + strconv.FormatInt(updatedAt.UnixMicro(), 36)
}

// Match tells whether a caller may write over the version that a row has; nil lets everybody. It is
// asked inside the transaction that writes.
type Match func(version string) bool
