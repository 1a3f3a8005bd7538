package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of calls in a window of time, written 10/m, 5/s or 1000/h.
type Rate struct {
	N      int
	Window time.Duration
}

var rateUnits = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}

// UnmarshalText reads the written form.
func (r *Rate) UnmarshalText(text []byte) error {
	number, unit, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(number)
	window, known := rateUnits[unit]
	if err != nil || n < 1 || !known {
		return fmt.Errorf("%q is not a rate such as 10/m (a number from 1, then /s, /m or /h)", text)
	}
	r.N, r.Window = n, window
	return nil
}
