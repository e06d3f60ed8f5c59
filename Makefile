# All tasks of the project; `make` without arguments lists them.
# Needs Python 3.11 or later and make; everything else goes into .venv.

PYTHON ?= python3
# The seed of docs/claims.md; the readings were written with a different one.
SEED ?= 2021
# Parallel test processes: one more than cores, for tests wait for browsers, databases and disks.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# The tests start many processes; without bytecode each would compile the package's files.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help paper claims test test-slow coverage test-cuda browser database lint bench arena arena-long coverage-of-intervals load torture docs pictures clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

paper: $(READY) ## reproduce the paper: all figures at full size, every claim tested; open out/paper/report/index.html
	$(BIN)/belated reproduce --out out/paper

claims: $(READY) ## the same and experiments beyond the paper; writes docs/claims.md
	$(BIN)/belated reproduce all --seed $(SEED) --out out/claims
	cp out/claims/report/claims.md docs/claims.md
	cp out/claims/report/figures/figure1.png out/claims/report/figures/robustness-biased.png docs/images

test: $(READY) browser database ## the tests, except those marked slow: unit, contract, architecture, examples of the docs
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m 'not slow'

test-slow: $(READY) browser database ## the slow tests, and those of generated examples with more of them
	BELATED_EXAMPLES=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m 'slow or examples'

# What compiled code runs is only seen as plain Python; there a test that takes long is cut off, and counts as far as it came.
coverage: $(READY) browser database ## line coverage by package: of the fast tests, and of the kernel's with the JIT off
	$(BIN)/python -m pip install -qq --disable-pip-version-check 'coverage>=7.10' pytest-timeout
	mkdir -p out/coverage && rm -f out/coverage/.coverage*
	$(BIN)/python -m coverage run -m pytest -q -n $(JOBS) --dist worksteal -m 'not slow'
	-BELATED_EXAMPLES=0.01 NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -q -n $(JOBS) --dist load \
	  --timeout=2 --tb=no -m 'not slow' $(addprefix tests/,delays engine kernel live policies rewards theory)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage json --quiet --include='src/belated/*' -o out/coverage/coverage.json
	@$(BIN)/python docs/scripts/coverage_table.py out/coverage/coverage.json

test-cuda: $(READY) ## check that GPU and CPU agree bit for bit; needs a GPU
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[test,cuda]'
	PYTHONPATH=tests $(BIN)/python -m pytest -q -p no:cacheprovider -c /dev/null --rootdir=. -W ignore tests/engine/on_gpu.py

# Tests open pages in a real browser.
browser:
	@command -v chromium > /dev/null || { \
	  command -v apt-get > /dev/null || { echo "the tests need chromium on the path; install it"; exit 1; }; \
	  echo "installing chromium"; \
	  sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
	  $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends chromium > /dev/null; }

# They also run on a real PostgreSQL, which they start and stop themselves.
database:
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || { \
	  command -v apt-get > /dev/null || { echo "the tests need PostgreSQL's initdb on the path; install it"; exit 1; }; \
	  echo "installing postgresql"; \
	  sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
	  $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends postgresql > /dev/null; }

lint: $(READY) ## style, types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## speed and memory, against limits, C programs and other libraries; writes docs/benchmarks.md
	$(BIN)/python benchmarks/bench.py

arena: $(READY) ## every policy on every scenario; writes docs/which-policy.md with its figures, and docs/leaderboard.md
	$(BIN)/belated arena --out out/arena
	cp out/arena/scores.json docs/scripts/arena.json
	cp out/arena/arena.png out/arena/arena-small.png docs/images/
	$(BIN)/python docs/scripts/which_policy.py
	$(BIN)/belated arena --submissions arena/submissions
	$(BIN)/python docs/scripts/leaderboard.py

arena-long: $(READY) ## the scenarios of a million rounds, on a GPU; writes their part of docs/which-policy.md
	$(BIN)/belated arena --long --device cuda --out out/arena-long
	cp out/arena-long/scores.json docs/scripts/arena-long.json
	$(BIN)/python docs/scripts/which_policy.py

coverage-of-intervals: $(READY) ## how often the intervals of claims miss; writes the table of docs/notes/statistics.md
	$(BIN)/python benchmarks/interval_coverage.py

load: $(READY) ## load test of the service, memory and restart; writes docs/load.md
	$(BIN)/python benchmarks/service/load.py

torture: $(READY) database ## kills, power cuts, I/O errors, a bad network, long restarts, each with a control; see docs/torture.md
	$(BIN)/python torture/power.py --cuts 2000 --seed 1
	$(BIN)/python torture/errors.py --transactions 20 --seed 1
	$(BIN)/python torture/kills.py --kills 500 --seed 1
	$(BIN)/python torture/proxy.py --operations 100000 --seed 1
	$(BIN)/python torture/fuzz.py --cases 20000 --seed 1
	$(BIN)/python torture/restart.py --events 50000000 --seed 1

docs: $(READY) ## build the documentation into site, after checking the numbers of the theory pages
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/docs/test_examples.py -k "theory or bounds"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

pictures: $(READY) browser ## draw the pictures of README and documentation
	$(BIN)/python docs/scripts/pictures.py
	$(BIN)/python docs/scripts/dashboard_pictures.py

clean: ## remove everything that was built, except the benchmarks' environments
	rm -rf $(VENV) out site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './benchmarks/.venvs/*' -prune -exec rm -rf {} +

# The environment, created again when the project's dependencies change.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is too old or missing; give Python 3.11 or later, as in: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "$(PYTHON) cannot make an environment; install its venv module (Debian: python3-venv)"; exit 1; }
	@echo "setting up $(VENV)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[test,lint,docs,service]'
	@touch $@
