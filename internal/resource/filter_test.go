package resource_test

import (
	"testing"

	"steward/internal/fault"
	"steward/internal/resource"
)

func TestInstant(t *testing.T) {
	tests := []struct{ text, first, last string }{
		{"2026-01-31", "2026-01-31T00:00:00.000000Z", "2026-01-31T23:59:59.999999Z"},
		{"9999-12-31", "9999-12-31T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"},
		{"2026-01-31T08:00:00Z", "2026-01-31T08:00:00.000000Z", "2026-01-31T08:00:00.000000Z"},
		{"2026-01-31T00:30:00.5+01:00", "2026-01-30T23:30:00.500000Z", "2026-01-30T23:30:00.500000Z"},
		{"2026-02-30", "", ""}, {"yesterday", "", ""}, {"0000-01-01", "", ""}, {"9999-12-31T23:59:59-01:00", "", ""}, {"2026-01-31 08:00", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var i resource.Instant
			err := i.UnmarshalText([]byte(tt.text))
			if tt.first == "" {
				if !fault.Is(err, fault.Validation) {
					t.Errorf("accepted as %v, %v", i.First(), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			first, _ := i.First().Value()
			last, _ := i.Last().Value()
			if first != tt.first || last != tt.last {
				t.Errorf("got %v to %v, want %s to %s", first, last, tt.first, tt.last)
			}
		})
	}
}
