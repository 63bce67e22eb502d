# Every target installs what it needs. Start with `make demo`.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
RELEASE := .venv-release
# Most modules of large packages are never imported: each is compiled when it is, not all of them beforehand.
PIP_INSTALL := python -m pip install --quiet --no-compile
# Without bytecode each test worker and each process that a test starts compiles all sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup servers demo serve docs docs-serve test lint tests check audit bench clean proofs release floors

help:  ## what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/ready servers  ## a .venv with the package and the test tools, and the servers that tests talk to

$(VENV)/made: tools/venv
	tools/venv $(VENV) $(PYTHON)
	touch $@

$(VENV)/package: pyproject.toml $(VENV)/made
	$(BIN)/$(PIP_INSTALL) --editable '.[plot]'
	touch $@

$(VENV)/ready: pyproject.toml $(VENV)/made
	@# A torch that lies on this machine is taken first: the registry's newest brings several GB for graphics cards.
	-@$(BIN)/$(PIP_INSTALL) --no-index --no-deps torch 2>/dev/null
	$(BIN)/$(PIP_INSTALL) --editable '.[formats,frames,learn,plot,postgres,server,spark]' --group test --group docs
	touch $(VENV)/package $(VENV)/docs $@

servers: $(VENV)/made  ## PostgreSQL, MariaDB, Java, Chromium, nginx and npm from Debian, if they are not there
	@$(BIN)/python -m tools.servers

demo: $(VENV)/package  ## the main job, on made-up data
	$(BIN)/discreet demo

serve: $(VENV)/package  ## the sample hospital as a service, with its web page
	$(BIN)/$(PIP_INSTALL) --editable '.[server]'
	$(BIN)/discreet sample out/hospital
	$(BIN)/discreet serve out/hospital/curator.toml

$(VENV)/docs: $(VENV)/package
	$(BIN)/$(PIP_INSTALL) --editable '.[formats,frames,plot,server]' --group docs
	touch $@

docs: $(VENV)/docs  ## the documentation as a site in out/docs/site, with search, for reading without a network
	$(BIN)/python -m tools.site

docs-serve: $(VENV)/docs  ## the same, shown at http://127.0.0.1:8000
	$(BIN)/python -m tools.site serve

test:  ## lint, types, the tests, with a sample of the long sweeps in tests/sampled_tests.txt
	$(MAKE) --no-print-directory -j 2 setup
	$(MAKE) --no-print-directory -j 2 lint tests

lint:  # beside the tests, which wait for servers now and then
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tools.names
	$(BIN)/mypy

tests:
	$(BIN)/pytest -n auto --dist loadgroup

check: setup  ## the quick inner loop: lint, types, the tests that are quick and start no server
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m tools.names
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist loadgroup -m 'not slow' --durations 10 --durations-min 0.3

audit: setup  ## all that the tests sample, property tests from random seeds, every work on Spark, 300 crashes; takes hours
	$(BIN)/$(PIP_INSTALL) --editable '.[synth]'
	$(MAKE) --no-print-directory floors
	$(RELEASE)/bin/python -m tools.release try
	$(BIN)/discreet check
	DISCREET_AUDIT=1 $(BIN)/pytest -n auto --dist loadgroup
	$(BIN)/python -m bench.curator soak=100000
	$(BIN)/python -m bench.wire
	$(BIN)/python -m tools.callers
	$(BIN)/python -m tools.mutate --sample 10 noise privacy mechanisms stable query ledger session

$(RELEASE)/ready: pyproject.toml tools/venv
	tools/venv $(RELEASE) $(PYTHON)
	$(RELEASE)/bin/$(PIP_INSTALL) --group release
	touch $@

release: $(RELEASE)/ready  ## wheel, sdist, list of components and checksums in out/release, tried in clean environments
	$(RELEASE)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RELEASE)/bin/python -m tools.release

floors: $(RELEASE)/ready  ## the demo with every dependency at its lowest allowed version
	$(RELEASE)/bin/python -m tools.release floors

proofs: setup  ## list the proofs to read again; FILES=src/.../x.md records those that were read
	$(BIN)/python -m tools.proofs $(FILES)

$(BENCH)/ready: pyproject.toml bench/requirements.txt tools/venv
	tools/venv $(BENCH) $(PYTHON)
	$(BENCH)/bin/$(PIP_INSTALL) --editable '.[postgres,server]' --requirement bench/requirements.txt
	touch $@

bench: $(BENCH)/ready  ## side by side with peers, in an environment of its own
	$(BENCH)/bin/python -m bench

clean:  ## remove everything that make made
	rm -rf $(VENV) $(BENCH) $(RELEASE) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist out
