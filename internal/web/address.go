package web

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddress is the peer of the socket. Where that is a trusted proxy, it is the nearest hop of
// X-Forwarded-For that is none: what stands further left was written by whoever called, and proves
// nothing.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer := parseHop(r.RemoteAddr)
	if len(trusted) == 0 || !isTrusted(peer, trusted) {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(hops) {
		address := parseHop(strings.TrimSpace(hop))
		if !address.IsValid() {
			return peer
		}
		peer = address
		if !isTrusted(peer, trusted) {
			return peer
		}
	}
	return peer
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseHop reads an address with or without a port; the zero Addr where it is neither.
func parseHop(text string) netip.Addr {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone("")
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}
