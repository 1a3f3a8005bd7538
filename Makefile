.DEFAULT_GOAL := help
.PHONY: help run test check fmt vet staticcheck verify race fuzz readme bench generate nightly reference

# What a developer has set must not change what is built or checked here.
export GOFLAGS := -buildvcs=false

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start a server for trying out on 127.0.0.1:8080 (admin@steward.local / Steward-dev-1)
	go run ./cmd/steward serve --dev

test: ## Everything a change must pass, with the time of each step; installs what is missing on Debian
	@scripts/test

check: fmt vet staticcheck verify ## The quick checks: format, vet, staticcheck, generated files

fmt: ## Refuse files that gofmt would change
	@wrong=$$(gofmt -l $$(find . -name '*.go' -not -path './data/*')); \
	if [ -n "$$wrong" ]; then echo "not formatted (run gofmt -w on them):"; echo "$$wrong"; exit 1; fi

vet: ## go vet
	go vet ./...
	go -C bench vet ./...

staticcheck: ## staticcheck, pinned in go.mod
	go tool staticcheck ./...

verify: ## Refuse generated files that are out of date
	@scripts/generate --verify

race: ## All tests under the race detector, on both databases
	STEWARD_REQUIRE_POSTGRES=1 go test -race -timeout 10m ./...
	go -C bench test ./...

fuzz: ## Every fuzz target for 5 seconds
	@scripts/fuzz 5s

readme: ## Follow the README's session with curl on a fresh server
	@scripts/readme

bench: ## Measure against the limits and the peers; writes bench/RESULTS.md
	@scripts/prepare
	go -C bench run .

generate: ## Write docs/openapi.json and docs/problems.md anew
	@scripts/generate

nightly: ## Everything of test, then every fuzz target for 10 minutes
	@scripts/test
	@scripts/fuzz 10m

reference: ## Vendor the API reference in the version that internal/web/reference/VERSION names
	@scripts/reference
