package fault

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestAFaultKeepsItsCauseToItself(t *testing.T) {
	cause := errors.New("disk on fire")
	plain := New(NotFound, "There is no user %d.", 7)
	told := plain.Because(cause).RetryIn(time.Second)
	if told.Detail != "There is no user 7." {
		t.Errorf("the detail is %q", told.Detail)
	}
	if !errors.Is(told, cause) || told.Error() != "NOT_FOUND: There is no user 7.: disk on fire" {
		t.Errorf("the log would say %q", told.Error())
	}
	if plain.RetryAfter != 0 || plain.Unwrap() != nil {
		t.Error("Because and RetryIn changed the fault they were called on")
	}
}

func TestAFaultIsFoundInAChain(t *testing.T) {
	err := fmt.Errorf("bind user: %w", InvalidFields(Field{"email", "is required"}, Field{"name", "is odd"}))
	f, ok := From(err)
	if !ok || !Is(err, Validation) || Is(err, NotFound) || Is(errors.New("plain"), Validation) {
		t.Fatal("the chain was not read")
	}
	if f.Error() != "VALIDATION_ERROR: The request is not valid. [email: is required] [name: is odd]" {
		t.Errorf("the log would say %q", f.Error())
	}
}
