# From a fresh clone, with python3, pip and make: `make demo` and `make test`.
# The rest is for those who change recollect; `make help` lists it.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
# Quiet: only what failed is said.
INSTALL := $(RUN) pip install -qq
# A stamp is newer than the lock file it was installed from, so a second run installs nothing.
TO_RUN := $(VENV)/.installed-run
TO_TEST := $(VENV)/.installed-test
TO_TEST_ALL := $(VENV)/.installed-full
# The embedding model, for the demo and the tests; users have theirs in their data folder.
MODELS := .models
MODEL := $(MODELS)/minilm/model.toml
# What the tests proved, by requirement: of `make test`, and of `make test-all`.
PROVEN := build/proven-test.json build/proven-full.json
# Which half of the judged questions `make eval` asks.
SPLIT ?= test

# The other search tools that ours is measured beside; txtai without torch, as the vectors come from outside.
PEERS := build/peers/venv
SPEED := RECOLLECT_MODELS=$(MODELS) $(RUN) benchmarks.speed
# Benchmarks that stand by themselves.
PARTS := embedding bounds fronts serving precise typos page
TXTAI := 9.14.0

PIP_TOOLS := 7.6.2
COMPILE := build/lock/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
	$(addprefix --extra ,documents postgres scan watch zst)

export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

# The browser that tests drive is the system's; axe-core checks what people who do not see can read.
CHROMIUM := build/chromium
PGBOUNCER := build/pgbouncer
# Debian's packages of Patroni and etcd: a benchmark unpacks them into a folder of its own.
PATRONI := build/patroni
PATRONI_PACKAGES := patroni etcd-server $(addprefix python3-,cdiff click dateutil dnspython etcd prettytable psutil psycopg2 six urllib3 yaml)
AXE := build/axe/.installed

.PHONY: help demo test test-all check size docs screenshots mcp-check requirements mutants-profiles certificate lock eval bench bench-1m bench-check bench-identical bench-parts bench-quality bench-peers bench-postgres bench-failover bench-patroni clean
.DELETE_ON_ERROR:

help: ## list what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/'

demo: $(TO_RUN) $(MODEL) ## build a sample store and search it
	@RECOLLECT_MODELS=$(MODELS) $(VENV)/bin/recollect demo

test: $(TO_TEST) $(MODEL) ## run the tests that need nothing but this folder and pip
	@mkdir -p build
	@RECOLLECT_MODELS= $(RUN) pytest -n 3 --dist worksteal -m "not full" --ignore=tests/browser --ignore=tests/postgres --requirements=$(word 1,$(PROVEN))

test-all: $(TO_TEST_ALL) $(MODEL) $(CHROMIUM) $(PGBOUNCER) $(AXE) ## run the rest: Chromium, PostgreSQL, the judged sets in ../shared/data, long faults
	@mkdir -p build
	@RECOLLECT_MODELS= $(RUN) pytest -n 2 --dist worksteal -m full --requirements=$(word 2,$(PROVEN))

check: $(TO_TEST_ALL) ## lint, format, types, direction of imports, architecture
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy
	$(VENV)/bin/lint-imports
	$(RUN) pytest -q tests/architecture

size: ## print files and lines of code of each package
	@$(PYTHON) scripts/size.py

docs: $(TO_TEST) ## write the API and HTTP references, the JSON Schema and the man page from the code
	@$(VENV)/bin/python scripts/docs.py

screenshots: $(TO_TEST) $(MODEL) $(CHROMIUM) ## write docs/screenshots: each view of the page, light and dark, desk and phone
	@RECOLLECT_MODELS=$(MODELS) $(VENV)/bin/python scripts/screenshots.py

requirements: ## print each requirement with the tests that prove it, after make test and make test-all
	@$(PYTHON) scripts/requirements.py $(PROVEN)

mutants-profiles: $(TO_TEST) ## move each number of each seed profile and show that a test notices
	@$(VENV)/bin/python scripts/mutate_profiles.py

# The checkers are npm packages and need Node 22; they are put under build/mcp.
mcp-check: $(TO_TEST) ## check MCP with the official Inspector and conformance suite and write docs/mcp-conformance.md
	@$(VENV)/bin/python scripts/mcp_check.py

# What does not hold yet is named in the certificate and switched off in tests/faults/demands.py.
certificate: $(TO_TEST) $(MODEL) ## attack a store by every fault there is and write docs/certificate.md (a quarter of an hour)
	@RECOLLECT_MODELS= $(VENV)/bin/python scripts/certificate.py

# UPGRADE= keeps the versions that are pinned already.
lock: UPGRADE := --upgrade
lock: ## pin and hash the newest versions that fit
	@test -x build/lock/bin/pip-compile || { $(PYTHON) -m venv build/lock && build/lock/bin/python -m pip install -qq pip-tools==$(PIP_TOOLS); }
	for part in build:run test:test full:full; do CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) $(UPGRADE) \
		--output-file=requirements/$${part#*:}.txt pyproject.toml requirements/$${part%:*}.in || exit 1; done

# The judged sets lie beside the repository; SPLIT=all asks every query, GIVEN="--profile oro" adds to what is tried.
eval: $(TO_TEST) $(MODEL) ## measure what is found on the judged sets in ../shared/data
	@mkdir -p build
	@RECOLLECT_MODELS=$(MODELS) $(VENV)/bin/recollect eval $(dir $(wildcard ../shared/data/*/queries.jsonl)) --split $(SPLIT) \
		--profile default --mode keyword --mode semantic --mode hybrid --vectors build/vectors \
		--output build/evaluation.md --output build/evaluation.html $(GIVEN)

# One section alone: make bench GIVEN="--only words --sizes 10000"; what was measured already is not measured again.
bench: $(TO_TEST) $(MODEL) $(PEERS)/.installed ## measure speed beside other tools at 10,000 and 100,000 and write docs/performance.md
	@$(SPEED) --sizes 10000,100000 $(GIVEN)

bench-1m: $(TO_TEST) $(MODEL) $(PEERS)/.installed ## the same at 1,000,000 (half an hour, 20 GB of disk)
	@$(SPEED) --sizes 10000,100000,1000000 --texts zipf --only bandwidth,words,vectors,hybrid,load,start,add $(GIVEN)

bench-check: $(TO_TEST) $(MODEL) $(PEERS)/.installed ## measure 10,000 anew and say what got slower than docs/performance.json
	@$(SPEED) --sizes 10000 --texts zipf --only words,vectors,hybrid,start,add,import --peers tantivy,numpy --check --results build/speed/check.jsonl $(GIVEN)

bench-identical: $(TO_TEST) $(MODEL) ## ask all questions of the judged sets with and without the index (long)
	@MOST=0 CASES=100000 $(SPEED) --only answers --fresh $(GIVEN)

bench-parts: $(TO_TEST) $(MODEL) $(CHROMIUM) ## run the benchmarks of single parts: embedding, limits, fronts, serving, typos
	@set -e; for part in $(PARTS); do \
		echo "== $$part"; RECOLLECT_MODELS=$(MODELS) $(VENV)/bin/python benchmarks/$$part.py; done

bench-quality: $(TO_TEST) $(MODEL) ## weigh what each ingredient of the ranking gives, and how honest its silence is
	@RECOLLECT_MODELS=$(MODELS) $(VENV)/bin/python benchmarks/ingredients.py $(GIVEN)
	@RECOLLECT_MODELS=$(MODELS) $(VENV)/bin/python benchmarks/silence.py

# GIVEN="--only latency" measures one part; RECOLLECT_TEST_PG names a server to use.
bench-postgres: $(TO_TEST) $(MODEL) $(PEERS)/.installed ## measure the PostgreSQL store beside SQLite and write docs/scale.md (an hour, 10 GB of disk)
	@RECOLLECT_MODELS=$(MODELS) PYTHONPATH=tests $(RUN) benchmarks.postgres $(GIVEN)

# GIVEN="--only recollect" ranks ours anew; see benchmarks/peers.py --help.
bench-peers: $(TO_TEST) $(MODEL) $(PEERS)/.installed ## measure other search tools on the same work
	@RECOLLECT_MODELS=$(MODELS) $(VENV)/bin/python benchmarks/peers.py --output docs/peers.md $(GIVEN)

bench-failover: $(TO_TEST) ## kill servers of a PostgreSQL store under load: what is lost, how long answers stop (two minutes)
	@$(VENV)/bin/python benchmarks/failover.py $(GIVEN)

bench-patroni: $(TO_TEST) $(PATRONI)/.downloaded ## the same with servers that Patroni and etcd watch, from Debian's packages (two minutes)
	@$(VENV)/bin/python benchmarks/failover.py --patroni $(PATRONI)

clean: ## remove what make made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -type d -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.made:
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(TO_RUN): requirements/run.txt pyproject.toml | $(VENV)/.made
	@echo "Installing what recollect needs ..."
	@$(INSTALL) --require-hashes -r requirements/run.txt
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(MODEL): | $(TO_RUN)
	@echo "Installing the embedding model ..."
	@RECOLLECT_MODELS=$(MODELS) $(VENV)/bin/recollect model install minilm > /dev/null

# Installing a browser needs root, or sudo; whoever has one already needs neither.
$(CHROMIUM):
	@mkdir -p build
	@command -v chromium > $@ || command -v chromium-browser > $@ || { echo "Installing Chromium ..."; \
		as=$$(test $$(id -u) -eq 0 || echo sudo); \
		{ $$as apt-get install -qq -y chromium || { $$as apt-get update -qq && $$as apt-get install -qq -y chromium; }; } > build/chromium.log 2>&1 \
		|| { tail -3 build/chromium.log; exit 1; }; command -v chromium > $@; }

$(PGBOUNCER):
	@mkdir -p build
	@PATH=$$PATH:/usr/sbin command -v pgbouncer > $@ || { echo "Installing PgBouncer ..."; \
		as=$$(test $$(id -u) -eq 0 || echo sudo); \
		{ $$as apt-get install -qq -y pgbouncer || { $$as apt-get update -qq && $$as apt-get install -qq -y pgbouncer; }; } > build/pgbouncer.log 2>&1 \
		|| { tail -3 build/pgbouncer.log; exit 1; }; PATH=$$PATH:/usr/sbin command -v pgbouncer > $@; }

$(PATRONI)/.downloaded:
	@mkdir -p $(PATRONI)
	@cd $(PATRONI) && apt-get download -qq $(PATRONI_PACKAGES)
	@touch $@

$(AXE): tests/browser/package.json tests/browser/package-lock.json
	@echo "Installing axe-core ..."
	@mkdir -p build/axe
	@cp $^ build/axe
	@npm ci --prefix build/axe --silent --no-audit --no-fund
	@touch $@

$(PEERS)/.installed: requirements/peers.in
	@echo "Installing the peers ..."
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install -qq -r requirements/peers.in
	@$(PEERS)/bin/python -m pip install -qq --no-deps txtai==$(TXTAI)
	@touch $@

# test.txt holds all that running needs, full.txt all that testing needs.
$(TO_TEST): requirements/run.txt requirements/test.txt pyproject.toml | $(VENV)/.made
	@echo "Installing what the tests need ..."
	@$(INSTALL) --require-hashes -r requirements/test.txt
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $(TO_RUN) $@

$(TO_TEST_ALL): requirements/full.txt | $(TO_TEST)
	@echo "Installing what the longer tests and the checks need ..."
	@$(INSTALL) --require-hashes -r requirements/full.txt
	@touch $@
