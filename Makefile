# make demo | run | test: each sets up what it needs, on a bare machine with Python 3.11 to 3.13, git and make.

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; \
	then echo $$python; break; fi; done)
BIN := .venv/bin
# Python compiles what it imports; to compile all that is installed takes half of the set-up.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes, each of which would compile all sources anew

.PHONY: demo run test checks kernels test-slow test-cluster format lock licences sbom audit clean

demo: .venv/installed  ## categorize the sample corpus and show the answer
	@$(BIN)/python -m examples.demo

run: .venv/installed  ## the service, until Ctrl-C
	@$(BIN)/newfound serve

WITHOUT_KERNELS := tests/app/search tests/app/uploads  # what takes as long as to compile them

test: .venv/installed  ## everything but slow statistics and benchmarks
	@$(MAKE) --no-print-directory --jobs=2 kernels checks
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(WITHOUT_KERNELS:%=--ignore=%)

checks: .venv/tested  ## style, types, and tests for which no kernel is needed; brings Chromium for those that follow
	@$(BIN)/python -m tests.browser.chromium
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(WITHOUT_KERNELS)

kernels: .venv/installed  ## compiled where tests look for them: for two minutes, beside the checks
	NEWFOUND_DATA_FOLDER=data $(BIN)/newfound compile

test-slow: .venv/tested  ## statistics and crash loops that take minutes
	$(BIN)/python -m pytest -m slow

test-cluster: .venv/tested  ## three hosts in network namespaces; needs root and iproute2
	$(BIN)/python -m pytest tests/cluster -m cluster

.venv/installed: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Newfound needs Python 3.11, 3.12 or 3.13; none was found. Try make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up .venv (once, about a minute)"
	@$(PYTHON) -m venv .venv
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.venv/tested: .venv/installed requirements-test.lock
	@echo "Installing what tests need"
	@$(PIP) --require-hashes -r requirements-test.lock
	@touch $@

format: .venv/tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --quiet \
	--no-emit-index-url --no-header --no-annotate --extra build

lock:  ## after a change of dependencies; needs uv
	$(COMPILE) --output-file requirements.lock
	$(COMPILE) --extra test --constraint requirements.lock --output-file requirements-test.lock

licences: .venv/tested  ## docs/licences.md, of what is locked
	@$(BIN)/python -m supply.licences

sbom: .venv/tested  ## sbom.json: the bill of materials, CycloneDX 1.6
	@$(BIN)/python -m supply.bill_of_materials sbom.json

audit: .venv/tested  ## known vulnerabilities of what is locked; asks PyPI, and fails if it gets no answer
	@$(BIN)/pip-audit --strict --requirement requirements.lock --require-hashes --disable-pip --progress-spinner off

clean:
	rm -rf .venv data .mypy_cache .pytest_cache .ruff_cache *.egg-info
