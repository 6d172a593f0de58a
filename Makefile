# Every everyday verb. `make test` is what CI runs; it installs what the tests need where it may.

CARGO ?= cargo

.PHONY: run build test test-deps lint fmt bench verify clean

build: ## the tool, optimised
	$(CARGO) build --release

run: ## the main job: the first study, quick, on embedded SQLite
	$(CARGO) run --release -- run

test: test-deps build ## everything but the long checks
	$(CARGO) test --workspace --quiet
	scripts/check-report.sh

test-deps: ## browser and plotting program that the report's tests use
	scripts/install-test-deps.sh

lint: ## format, clippy as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

fmt:
	$(CARGO) fmt --all

bench: build ## ratios against named rivals, in one run
	scripts/bench.sh

verify: test ## the long checks
	$(CARGO) test --workspace -- --ignored --nocapture

clean:
	$(CARGO) clean
	rm -rf results
