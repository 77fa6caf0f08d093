# Every task of the house. `make help` lists them; .ci/run calls the same ones.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
# Hundreds of processes of the tests import the same packages: they are compiled once.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
# The newest that tlslab is tested on and that is here.
PYTHON ?= $(shell scripts/find-python.sh)
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
BUILT_FROM := $(RUST_SOURCES) .cargo/config.toml pyproject.toml setup.py requirements.lock
# The recipe's own process id distinguishes its start and end from those of others.
ANNOUNCE = scripts/announce.sh $$$$
# How long each fuzz target runs.
FUZZ_SECONDS ?= 60
# A title, then the time that has passed and the command's last words, on one line that moves.
PROGRESS = $(or $(wildcard $(BIN)/python),$(PYTHON)) scripts/progress.py
# The stages of tests/stages.toml.
TESTS = $(BIN)/python scripts/run_tests.py

# The programs of Debian's that the studies run.
STUDIES := nginx apache2 haproxy caddy node softhsm2-util pkcs11-tool ip setpriv taskset tcpdump openssl mvn javac

.PHONY: help setup dev studies-setup dist man demo tomcat test test-all test-changed test-setup test-kills fuzz check format schema bench bench-profile bench-instructions bench-validity bench-gate bench-coverage reports clean

help: ## list the tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: $(VENV)/.installed ## install what users need: virtual environment, both programs, the package (4 to 5 minutes the first time)

# What is set up by the Python of the virtual environment, if there is one.
SET_UP = python=$$(test ! -x $(BIN)/python || echo $(BIN)/python); $${python:-$(PYTHON)} scripts/set_up.py

$(VENV)/.installed: $(BUILT_FROM)
	@$(SET_UP)
	touch $@
	echo '== the programs are in $(BIN): export PATH="$$PWD/$(BIN):$$PATH"'

# Less than half of the work: what the demo does not need is OpenSSL (docs/adr/0052).
$(VENV)/.demo: $(BUILT_FROM)
	@$(SET_UP) --without-openssl
	touch $@

# What the checks and the tests need beside it; where nothing is set up, fetched while cargo compiles.
$(VENV)/.dev: export TLSLAB_DEV := 1
$(VENV)/.dev: $(VENV)/.installed requirements-test.lock requirements-dev.lock
	@$(PROGRESS) "Python packages of the checks and tests" -- $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements-test.lock -r requirements-dev.lock
	touch $@

dev: $(VENV)/.dev ## what the checks and the tests need beside it: pytest, mypy, ruff, ...

studies-setup: setup ## everything that the five studies need: servers, Tomcat, the Java benchmarks, the signing node (5 minutes the first time)
	@$(PROGRESS) "servers from Debian (nginx, Apache, HAProxy, Node.js, SoftHSM, Java)" -- scripts/install-debian.sh only $(STUDIES)
	$(PROGRESS) "Tomcat and its OpenSSL library" -- scripts/install-java.sh
	$(PROGRESS) "benchmarks in Java" -- scripts/build-java.sh
	$(PROGRESS) "signing node in Go" -- scripts/build-signer.sh

demo: $(or $(wildcard $(VENV)/.installed),$(VENV)/.demo) ## the main job in under a minute: which group is fastest on the reference server? (3 minutes of building the first time)
	@$(ANNOUNCE) begin "tlslab run groups --quick --target reference-rustls (under a minute)"
	$(BIN)/tlslab run groups --quick --target reference-rustls --out runs/demo-$$(date -u +%Y%m%dT%H%M%SZ)
	$(ANNOUNCE) end "demo"
	[ -e $(VENV)/.installed ] || echo '== `make setup` builds the rest, in about 3 minutes: OpenSSL in both programs, tlslab probe, handshakes in memory'

dist: dev ## a wheel and an sdist in dist/
	@$(PROGRESS) "wheel and sdist" -- scripts/dist.sh
	ls -1 dist/*

man: setup ## write the manual pages of tlslab into target/man
	@$(BIN)/python -m tlslab.cli.manual target/man

tomcat: ## fetch Tomcat and build its OpenSSL library, for the study of runtimes (about 1 minute)
	@scripts/install-java.sh

test: test-setup ## a slice of every capability on real servers, and the tests of all parts (about 23 minutes the first time; STAGES="rust parts" runs these alone)
	@$(TESTS) test $(STAGES)

test-all: test-setup ## every test there is, kept in tests/full-run.toml (70 minutes; STAGES="clusters fuzz" runs these alone)
	@scripts/install-debian.sh fuzz
	$(TESTS) all $(STAGES)

test-changed: test-setup ## the tests beyond `make test` of what has changed since tests/full-run.toml (for 45 minutes at most; CI_MINUTES=20)
	@scripts/install-debian.sh fuzz
	$(TESTS) changed

# What tests need beside the programs: it is fetched, and waits for the network, while cargo compiles.
test-setup: ## install what the tests need: the servers, Tomcat, and all of `make dev`
	@scripts/install-debian.sh & servers=$$!
	$(MAKE) --no-print-directory dev
	wait $$servers
	scripts/install-java.sh

test-kills: dev ## kill -9 at 100 random moments of one run, kept in docs/validity.md (5 to 25 minutes)
	@$(ANNOUNCE) begin "kill -9 at 100 random moments (5 to 25 minutes)"
	$(BIN)/python -m bench.kills
	$(ANNOUNCE) end "kills"

fuzz: ## run each fuzz target for a minute (FUZZ_SECONDS)
	@scripts/install-debian.sh fuzz
	$(ANNOUNCE) begin "fuzz targets (about 7 minutes the first time)"
	scripts/fuzz.sh $(FUZZ_SECONDS)
	$(ANNOUNCE) end "fuzz targets"

check: dev ## formatters, linters, types, import rules, schema drift
	@scripts/install-debian.sh
	$(ANNOUNCE) begin "checks (about 2 minutes the first time)"
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	# mypy has one thread: it runs beside clippy.
	mkdir -p target
	$(BIN)/mypy >target/mypy.log 2>&1 & types=$$!
	trap 'kill $$types 2>/dev/null || true' EXIT
	cargo clippy --release --locked --quiet --workspace --all-targets -- -D warnings
	cargo clippy --release --locked --quiet --package tlslab-programs --no-default-features -- -D warnings
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	wait $$types || { cat target/mypy.log >&2; exit 1; }
	trap - EXIT
	cat target/mypy.log
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/check-words.py
	scripts/schema.sh check
	$(BIN)/python -m bench.instructions --quick
	$(ANNOUNCE) end "checks"

format: dev ## format Rust and Python
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

schema: dev ## write schema/ anew from the Rust and Python types
	@scripts/schema.sh write

bench: dev ## measure the generator against its rivals, interleaved, on one nginx, in memory, and through Ray (about 40 minutes)
	@scripts/install-debian.sh bench
	code=0
	for part in rivals open_loop engine in_memory ordinary distribution; do $(BIN)/python -m bench.$$part || code=$$?; done
	exit $$code

bench-profile: setup ## where tlslab-load --lean spends its processor time (perf)
	@scripts/install-debian.sh bench
	$(BIN)/python -m bench.profile

bench-instructions: setup ## count instructions under callgrind and compare (6 minutes; UPDATE=1 stores them)
	@scripts/install-debian.sh
	$(BIN)/python -m bench.instructions $(if $(UPDATE),--update)

bench-validity: setup ## count false alarms and missed slowdowns, simulated and in real runs (about 40 minutes; REAL=10 makes fewer real runs)
	$(BIN)/python -m bench.validity $(if $(REAL),--real $(REAL))

bench-gate: setup ## count how often the job script stops a planted slowdown of 5 %, and equal servers (45 minutes at most; GATES=5 makes fewer runs, MINUTES=90 allows more)
	$(BIN)/python -m bench.gate $(if $(GATES),--runs $(GATES)) $(if $(MINUTES),--minutes $(MINUTES))

reports: setup ## the pages of the kept reports: docs/reports/NAME/report.html (REPORTS="groups suites" makes these)
	$(BIN)/python scripts/kept_reports.py $(REPORTS)

bench-coverage: setup ## count how often intervals of 95 % hold what is true, on simulated servers (20 minutes)
	$(BIN)/python -m bench.coverage

clean: ## remove what was built, but not what was measured
	rm -rf $(VENV) target build python/*.egg-info
