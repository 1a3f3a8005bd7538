// Command bare is the yardstick of the bench: net/http handlers that repeat fixed bytes and do nothing
// else, and the Argon2id hash alone on every core.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8081", "address to listen on")
	file := flag.String("answer", "", "file with the HTTP answer that GET /api/auth/me repeats")
	flag.Parse()
	header, body, err := readAnswer(*file)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/auth/me", func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		_, _ = w.Write(body)
	})
	mux.HandleFunc("GET /body", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = header["Content-Type"]
		_, _ = w.Write(body)
	})
	mux.HandleFunc("GET /hash", func(w http.ResponseWriter, r *http.Request) {
		span, err := time.ParseDuration(r.FormValue("for"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		count, took := hash(span)
		_, _ = fmt.Fprintf(w, `{"count":%d,"nanoseconds":%d}`, count, took.Nanoseconds())
	})
	log.Fatal(http.ListenAndServe(*listen, mux))
}

// readAnswer takes an answer apart; the date is left to net/http, which sets it itself.
func readAnswer(file string) (http.Header, []byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	answer, err := http.ReadResponse(bufio.NewReader(f), nil)
	if err != nil {
		return nil, nil, err
	}
	answer.Header.Del("Date")
	body, err := io.ReadAll(answer.Body)
	return answer.Header, body, err
}

// hash runs Argon2id with the parameters Steward stores by default, one loop per core, and counts
// whole hashes up to the last one that ends.
func hash(span time.Duration) (count int64, took time.Duration) {
	var (
		done  atomic.Int64
		group sync.WaitGroup
		start = time.Now()
	)
	for range runtime.NumCPU() {
		group.Go(func() {
			for time.Since(start) < span {
				argon2.IDKey([]byte("Steward-bench-1"), []byte("sixteen bytes of"), 2, 19456, 1, 32)
				done.Add(1)
			}
		})
	}
	group.Wait()
	return done.Load(), time.Since(start)
}
