package db

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
)

// maxEvent bounds topic and payload together; PostgreSQL takes 8000 bytes with our own prefix.
const maxEvent = 4000

// event is one word to every subscriber of a topic.
type event struct{ topic, payload string }

func (e event) check() error {
	if e.topic == "" || strings.ContainsRune(e.topic, ' ') {
		return fmt.Errorf("notify: the topic %q must be one word", e.topic)
	}
	if len(e.topic)+len(e.payload) > maxEvent {
		return fmt.Errorf("notify %s: the payload has %d bytes, at most %d are possible", e.topic, len(e.payload), maxEvent-len(e.topic))
	}
	return nil
}

// hub knows who on this node wants to hear what.
type hub struct {
	// node tells this handle's own words from those of others.
	node string
	log  *slog.Logger

	listening atomic.Bool

	mu          sync.RWMutex
	subscribers map[string][]func(string)
	resync      []func()
}

func newHub(node string, log *slog.Logger) *hub {
	return &hub{node: node, log: log, subscribers: map[string][]func(string){}}
}

func (h *hub) subscribe(topic string, fn func(string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subscribers[topic] = append(h.subscribers[topic], fn)
}

func (h *hub) onResync(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resync = append(h.resync, fn)
}

// tell calls the subscribers of the event's topic.
func (h *hub) tell(e event) {
	h.mu.RLock()
	subscribers := h.subscribers[e.topic]
	h.mu.RUnlock()
	for _, fn := range subscribers {
		h.guard("subscriber of "+e.topic, func() { fn(e.payload) })
	}
}

// missed tells everybody that words may have been lost.
func (h *hub) missed() {
	h.mu.RLock()
	resync := h.resync
	h.mu.RUnlock()
	for _, fn := range resync {
		h.guard("resync", fn)
	}
}

// guard keeps a panic in one listener from silencing the others: by now the change is durable, and
// each of them must hear of it.
func (h *hub) guard(who string, fn func()) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("panic after commit", "in", who, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	fn()
}
