# Every everyday verb. `make test` is what CI runs; it installs what the tests need where it may.

CARGO ?= cargo

# How long `make fuzz` goes on, and where it begins; what it finds names its own number.
FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= 1

.PHONY: run build workers worker-sqlx worker-system worker-shim workers-go workers-python workers-php workers-node workers-java apps test test-deps kernel lint check-format clippy clippy-sqlx fmt bench verify fuzz clean help

build: ## the tool, optimised
	$(CARGO) build --release

workers: worker-sqlx worker-shim workers-go workers-python workers-php workers-node workers-java ## all drivers that need a program of their own, into target/workers

worker-sqlx: ## the driver sqlx, which brings an SQLite of its own
	$(CARGO) build --release --manifest-path workers/rust-sqlx/Cargo.toml --target-dir target/workers-build
	mkdir -p target/workers
	cp target/workers-build/release/contend-worker-sqlx target/workers/

run: ## the main job: the first study, quick, on embedded SQLite
	$(CARGO) run --release -- run

worker-system: ## the worker in Rust over the system's libsqlite3, for another library behind the same API (docs/workers.md)
	LIBSQLITE3_SYS_USE_PKG_CONFIG=1 $(CARGO) build --release -p contend-worker --target-dir target/workers-system
	mkdir -p target/workers/system
	cp target/workers-system/release/contend-worker target/workers/system/contend

worker-shim: ## the driver shim: the worker over the system's libsqlite3, with contend's library in front of it (docs/shim.md)
	CARGO=$(CARGO) scripts/build-worker-shim.sh

workers-go: ## the workers in Go, one program per driver
	scripts/build-workers-go.sh

workers-python: ## the workers in Python, with a virtual environment of their own
	scripts/build-workers-python.sh

workers-php: ## the workers in PHP, and WordPress's driver, which is fetched with npm
	scripts/build-workers-php.sh

apps: ## the apps that contend serves, each in an environment of its own
	scripts/build-apps.sh

workers-node: ## the workers for Node, one launcher per driver
	scripts/build-workers-node.sh

workers-java: ## the workers in Java, one launcher per driver
	scripts/build-workers-java.sh

test: test-deps ## everything but the long checks
	CARGO=$(CARGO) scripts/build-for-tests.sh
	CARGO=$(CARGO) scripts/test-all.py

test-deps: ## what the tests need beyond Rust: servers, languages, a browser, a plotting program
	scripts/install-test-deps.sh

kernel: ## User-Mode Linux and file systems, for power cuts of a real kernel; without them `verify` says NOT VERIFIED
	-scripts/install-kernel.sh

lint: check-format ## format, clippy as errors
	$(MAKE) --no-print-directory -j2 clippy clippy-sqlx

check-format: ## whether all Rust is formatted
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path workers/rust-sqlx/Cargo.toml --check

clippy:
	+$(CARGO) clippy --workspace --all-targets -- -D warnings

# Side by side with the other one: it waits for the compiler of SQLite.
clippy-sqlx:
	+$(CARGO) clippy --release --manifest-path workers/rust-sqlx/Cargo.toml --target-dir target/workers-build -- -D warnings

fmt: ## format all Rust
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path workers/rust-sqlx/Cargo.toml

bench: build ## ratios against named rivals, in one run
	scripts/bench.sh

verify: kernel test build worker-system ## the long checks; whether wrk, oha and hey agree with contend, and published tables repeat; quick figures of power cuts
	$(CARGO) test --workspace -- --ignored --nocapture
	CONTEND_LIES=1000 CONTEND_LIES_WINDOW=2s $(CARGO) test --test trial lies::lies_are_found -- --nocapture
	CONTEND_HONEST=18 $(CARGO) test --test trial honest:: -- --include-ignored --nocapture
	scripts/check-http-agreement.sh
	scripts/capture-matrix.py
	scripts/capture-programs.py
	scripts/verify-predictions.py
	rm -rf target/verify/durability
	scripts/verify-durability.sh target/verify/durability
	rm -rf target/verify/results
	scripts/verify-results.sh || [ $$? = 2 ] # nothing could be compared on this machine

fuzz: ## random SQL through the translator, then random calls through the shim, each for FUZZ_SECONDS (an hour) from FUZZ_SEED
	CONTEND_FUZZ_SECONDS=$(FUZZ_SECONDS) CONTEND_FUZZ_SEED=$(FUZZ_SEED) \
		$(CARGO) test -p contend-sql --test fuzz -- --include-ignored --nocapture
	CONTEND_SHIM_SECONDS=$(FUZZ_SECONDS) CONTEND_SHIM_SEED=$(FUZZ_SEED) \
		$(CARGO) test --test shim -- --ignored --nocapture random_calls

clean: ## what was built, and all records in results/
	$(CARGO) clean
	rm -rf results

help: ## these lines
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16
