package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// answerTimeout bounds one round on a connection, so that a server that hangs fails the run.
const answerTimeout = 60 * time.Second

// conn is one keep-alive HTTP/1.1 connection that sends requests made beforehand. On two cores the
// client takes its share from the server it measures; net/http's client would take several times more.
type conn struct {
	net.Conn
	in   *bufio.Reader
	body []byte
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	own := &conn{Conn: c, in: bufio.NewReaderSize(c, 16<<10)}
	return own, own.extend()
}

// raw sends one request with its connection closed after the answer, and returns every byte of it.
func raw(addr string, request []byte) ([]byte, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	last := bytes.Replace(request, []byte("\r\n"), []byte("\r\nConnection: close\r\n"), 1)
	if _, err := c.Write(last); err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(c)
	return bytes.Replace(answer, []byte("Connection: close\r\n"), nil, 1), err
}

// extend gives the connection its full time anew.
func (c *conn) extend() error { return c.SetDeadline(time.Now().Add(answerTimeout)) }

// do sends one request and reads its whole answer. The body is valid until the next call.
func (c *conn) do(request []byte) (status int, body []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	return c.answer()
}

func (c *conn) answer() (status int, body []byte, err error) {
	line, err := c.line()
	if err != nil {
		return 0, nil, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, nil, fmt.Errorf("not an HTTP/1.1 answer: %q", line)
	}
	status, err = strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, nil, fmt.Errorf("status line %q", line)
	}
	length, chunked, err := c.headers()
	if err != nil {
		return 0, nil, err
	}
	c.body = c.body[:0]
	switch {
	case chunked:
		err = c.readChunks()
	case length > 0:
		err = c.read(length)
	}
	return status, c.body, err
}

// headers reads up to the empty line and keeps what the body's end depends on.
func (c *conn) headers() (length int, chunked bool, err error) {
	for {
		line, err := c.line()
		if err != nil {
			return 0, false, err
		}
		if len(line) == 0 {
			return length, chunked, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, false, fmt.Errorf("content length %q", value)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close")):
			return 0, false, errors.New("the server closed a keep-alive connection")
		}
	}
}

func (c *conn) readChunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(line), 16, 32)
		if err != nil {
			return fmt.Errorf("chunk size %q", line)
		}
		if err := c.read(int(size)); err != nil {
			return err
		}
		if _, err := c.line(); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}

// read appends n bytes to the body.
func (c *conn) read(n int) error {
	have := len(c.body)
	if cap(c.body) < have+n {
		c.body = append(make([]byte, 0, 2*(have+n)), c.body...)
	}
	c.body = c.body[:have+n]
	_, err := io.ReadFull(c.in, c.body[have:])
	return err
}

func (c *conn) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// get makes the bytes of a GET; token may be empty.
func get(path, token string) []byte {
	return head(nil, "GET", path, token, -1)
}

// post makes the bytes of a POST into buf, which it may overwrite; token may be empty.
func post(buf []byte, path, token, body string) []byte {
	return append(head(buf[:0], "POST", path, token, len(body)), body...)
}

func head(buf []byte, method, path, token string, length int) []byte {
	buf = append(buf, method+" "+path+" HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: steward-bench\r\nAccept: application/json\r\n"...)
	if token != "" {
		buf = append(buf, "Authorization: Bearer "+token+"\r\n"...)
	}
	if length >= 0 {
		buf = append(buf, "Content-Type: application/json\r\nContent-Length: "...)
		buf = strconv.AppendInt(buf, int64(length), 10)
		buf = append(buf, "\r\n"...)
	}
	return append(buf, "\r\n"...)
}

// field returns the string value of a JSON field without decoding the rest. It serves for tokens and
// ids only, which never hold an escaped character.
func field(body []byte, name string) (string, error) {
	_, rest, found := bytes.Cut(body, []byte(`"`+name+`":"`))
	value, _, ended := bytes.Cut(rest, []byte(`"`))
	if !found || !ended || len(value) == 0 {
		return "", fmt.Errorf("no field %q in %.200q", name, body)
	}
	return string(value), nil
}
