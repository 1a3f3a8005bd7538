package web

import "strings"

// IfMatch is embedded in the input of an update or a delete that honours If-Match. A service is given
// the method Fits, and asks it inside the transaction that writes.
type IfMatch struct {
	IfMatch string `header:"If-Match" doc:"Versions (ETag) the caller has seen; the call is refused with 412 where the present one is none of them." maxLength:"1024"`
}

// Fits reports whether the caller may write over the version: it is among those named, or no header
// was sent, or it was *.
func (m IfMatch) Fits(version string) bool {
	return m.IfMatch == "" || matchETag(m.IfMatch, version, false)
}

// matchETag looks for the version in a list of entity tags. A weak tag counts only where the caller
// merely wants to save a transfer.
func matchETag(header, version string, weak bool) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimSpace(tag)
		if rest, isWeak := strings.CutPrefix(tag, "W/"); isWeak {
			if !weak {
				continue
			}
			tag = rest
		}
		if strings.Trim(tag, `"`) == version {
			return true
		}
	}
	return false
}
