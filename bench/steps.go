package main

import (
	"bytes"
	"fmt"
	"sync"
)

// expect sends a request and fails unless the answer has the status and check, if any, accepts its body.
func expect(c *conn, request []byte, want int, check func(body []byte) error) error {
	status, body, err := c.do(request)
	if err != nil {
		return err
	}
	if status != want {
		return wrong(status, body, nil)
	}
	if check == nil {
		return nil
	}
	return check(body)
}

// same is a step whose answer must be 200 with exactly these bytes.
func same(request, want []byte) step {
	check := func(body []byte) error {
		if !bytes.Equal(body, want) {
			return fmt.Errorf("%w: %.300s", errOtherBody, body)
		}
		return nil
	}
	return func(c *conn) error { return expect(c, request, 200, check) }
}

// holds checks that a body has the text in it.
func holds(text string) func([]byte) error {
	want := []byte(text)
	return func(body []byte) error {
		if !bytes.Contains(body, want) {
			return fmt.Errorf("%w: no %s in %.300s", errOtherBody, text, body)
		}
		return nil
	}
}

// spread gives each client its own part of the accounts to sign in with, one after the other; an answer
// must carry the named field.
func spread(accounts, clients int, request func(email string) []byte, carries string) []step {
	steps := make([]step, clients)
	for client := range clients {
		next := client
		check := holds(`"` + carries + `":"`)
		steps[client] = func(c *conn) error {
			account := next
			if next += clients; next >= accounts {
				next = client
			}
			return expect(c, request(email(account)), 200, check)
		}
	}
	return steps
}

// share does work 0 to n-1 on a number of connections and returns the first error.
func share(addr string, n, clients int, work func(c *conn, i int) error) error {
	conns, err := dialAll(addr, clients)
	if err != nil {
		return err
	}
	defer closeAll(conns)
	errs := make([]error, clients)
	var group sync.WaitGroup
	for client, c := range conns {
		group.Go(func() {
			for i := client; i < n && errs[client] == nil; i += clients {
				if errs[client] = c.extend(); errs[client] == nil {
					errs[client] = work(c, i)
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
