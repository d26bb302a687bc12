# Everything here works on a machine that has only GNU make and Python 3.11 or newer:
# `make demo` and `make test` set up their own environment first, once.

PYTHON ?= python3
# More than cores: most tests wait for a disk, a process or a slot.
JOBS ?= 4
LOCK_FLAGS ?=
KILLS ?= 1000
LOSSES ?= 5000

VENV := .venv
BIN := $(VENV)/bin
UV := .venv-lock/bin/uv
UV_VERSION := 0.13.7

# dev.txt holds all of demo.txt at the same versions, so one environment serves both.
DEMO_READY := $(VENV)/.demo-ready
DEV_READY := $(VENV)/.dev-ready
BROWSER_READY := $(VENV)/.browser-ready

# Bytecode is kept whatever the environment says: each process would compile its modules anew.
QUICKLY := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1
# In memory, where there is enough of it, a commit does not wait for the disk. What failed is kept.
SCRATCH := free=$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $$4 }'); \
	if [ "$${free:-0}" -gt 4000000 ]; then scratch=$$(mktemp -d /dev/shm/surehold-tests.XXXXXX); \
	else scratch=$$(mktemp -d); fi;

PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint types imports docs unit pages bench soak lock clean setup

help:  ## show this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-10s %s\n", $$1, $$2 }'
	@echo "PYTHON=python3.12 picks another Python; JOBS=8 runs the tests in 8 processes."

demo: $(DEMO_READY)  ## grow a dataset, ask it until it is exhausted, verify it, draw pictures
	@$(BIN)/python examples/climb.py demo
	@echo && echo "==> from the command: where the dataset stands, and what other bounds would give"
	$(BIN)/surehold status demo/climb
	@$(BIN)/surehold plan --n0 20000 --n 60000 --alpha 0.1 --beta 0.05 --batches 4 --compare --plot demo/plan.png

test: lint types imports docs unit  ## everything that has to be green: lint, types, imports, docs, unit

lint: $(DEV_READY)  ## format and lint rules
	@echo "==> ruff: format, then lint"
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m ruff check .

types: $(DEV_READY)  ## static types, strict
	@echo "==> mypy: strict, on src"
	@$(BIN)/python -m mypy --strict src

imports: $(DEV_READY)  ## the layers: who may import whom
	@echo "==> import-linter: layers and purity"
	@$(BIN)/lint-imports

docs: $(DEV_READY)  ## the documentation as a site, in site/; a dead link is an error
	@echo "==> mkdocs: strict, into site/index.html"
	@# Never --quiet: it takes warnings away before --strict has counted them.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

pages: $(DEV_READY)  ## regenerate docs/reference/cli.md and the rooms in CONTRIBUTING.md
	@$(BIN)/python docs/machinery/commands.py
	@$(BIN)/python docs/machinery/rooms.py

unit: $(DEV_READY) $(BROWSER_READY)  ## the tests, and every example in docstrings, README and docs
	@echo "==> pytest: tests and examples, in $(JOBS) processes"
	@$(SCRATCH) $(QUICKLY) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --basetemp="$$scratch" && \
		rm -rf "$$scratch"

bench: $(DEV_READY)  ## run every benchmarks/bench_*.py
	@ls benchmarks/bench_*.py >/dev/null 2>&1 || { echo "There is no benchmarks/bench_*.py yet."; exit 1; }
	@for script in benchmarks/bench_*.py; do \
		echo "==> $$script"; $(BIN)/python "$$script" || exit 1; done

# Random runs are short in `make test`; here they have their full length (tests/support/soak.py).
soak: $(DEV_READY)  ## kill 1,000 times, lose power 5,000 times, and every random run at full length
	@echo "==> $(KILLS) kills -9 under load, a fifth of them of two processes at once"
	@$(QUICKLY) $(BIN)/python tests/end_to_end/kills.py $(KILLS)
	@echo "==> $(LOSSES) emulated losses of power"
	@$(QUICKLY) $(BIN)/python tests/power/losses.py $(LOSSES)
	@echo "==> the random runs of the tests, at full length"
	@$(SCRATCH) SUREHOLD_SOAK=1 $(QUICKLY) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
		--basetemp="$$scratch" $$(grep -rl "from support.soak import" tests --include="test_*.py") && \
		rm -rf "$$scratch"

lock: .venv-lock/.ready  ## update the pinned dependencies (LOCK_FLAGS=--upgrade takes the newest)
	@echo "==> requirements/dev.txt"
	@$(UV) pip compile $(LOCK_COMMON) --group dev -o requirements/dev.txt pyproject.toml
	@echo "==> requirements/demo.txt, at the same versions"
	@$(UV) pip compile $(LOCK_COMMON) --group build -c requirements/dev.txt -o requirements/demo.txt pyproject.toml
	@for extra in "serve --extra oidc --extra otel" mcp; do \
		file=requirements/$${extra%% *}.txt; echo "==> $$file, at the same versions"; \
		$(UV) pip compile $(LOCK_COMMON) --group build --extra $$extra --extra models \
			-c requirements/dev.txt -o $$file pyproject.toml || exit 1; done

LOCK_COMMON = --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" --extra plot $(LOCK_FLAGS)

clean:  ## remove the environment and everything else that was made
	rm -rf $(VENV) .venv-lock build dist site .hypothesis .import_linter_cache .mypy_cache \
		.pytest_cache .ruff_cache
	rm -rf demo
	find src tests docs benchmarks examples -name __pycache__ -type d -prune \
		-exec rm -rf {} + 2>/dev/null || true

setup: $(DEV_READY)  ## only set up the environment

# ------------------------------------------------------------------------ environments

# Debian and Ubuntu ship venv without the ensurepip it needs; say so before it half works.
define need_python
	@command -v $(PYTHON) >/dev/null || { \
		echo "Surehold needs Python 3.11 or newer, and there is no '$(PYTHON)' here."; \
		echo "Install one, or name it: make PYTHON=/path/to/python3 ..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Surehold needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1)."; \
		echo "If a newer one is installed, name it: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' can't make virtual environments: its ensurepip or venv module is missing."; \
		echo "On Debian and Ubuntu: sudo apt install python3-venv, then try again."; exit 1; }
endef

$(VENV)/.created:
	$(need_python)
	@echo "==> set-up: new environment in $(VENV), with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(DEMO_READY): requirements/demo.txt pyproject.toml | $(VENV)/.created
	@echo "==> set-up: packages from requirements/demo.txt"
	@$(PIP) install --quiet --require-hashes -r requirements/demo.txt
	@echo "==> set-up: surehold itself, editable"
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_READY): requirements/dev.txt pyproject.toml | $(VENV)/.created
	@echo "==> set-up: packages from requirements/dev.txt"
	@$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	@echo "==> set-up: surehold itself, editable"
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@$(PIP) check || { echo "requirements/ and pyproject.toml disagree: make lock"; exit 1; }
	@touch $@ $(DEMO_READY)

# The page is tested in a real browser: one that is there, Debian's, or Playwright's own.
$(BROWSER_READY): | $(DEV_READY)
	@if [ -n "$$SUREHOLD_CHROMIUM" ] || command -v chromium >/dev/null || \
		command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "==> set-up: chromium, from the distribution"; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; \
	elif command -v apt-get >/dev/null && sudo -n true 2>/dev/null; then \
		echo "==> set-up: chromium, from the distribution"; \
		sudo -n apt-get update -qq && sudo -n apt-get install -y -qq --no-install-recommends chromium; \
	else \
		echo "==> set-up: chromium, by Playwright"; \
		$(BIN)/python -m playwright install chromium; \
	fi || { echo "The tests of the page need a browser. On Debian and Ubuntu: sudo apt install chromium;"; \
		echo "elsewhere install Chromium or Chrome, or name one: SUREHOLD_CHROMIUM=/path/to/it make test"; exit 1; }
	@touch $@

.venv-lock/.ready: Makefile
	$(need_python)
	@echo "==> set-up: uv $(UV_VERSION) in .venv-lock, to solve the versions"
	@$(PYTHON) -m venv .venv-lock
	@.venv-lock/bin/python -m pip --disable-pip-version-check install --quiet uv==$(UV_VERSION)
	@touch $@
