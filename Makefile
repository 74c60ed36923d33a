# Everything runs in .venv, which is made when absent and brought up to date when its inputs change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CHECKED := discovercall tests hatch_build.py $(wildcard adapters benchmarks tools)
WORKFLOWS := $(wildcard action.yml .github/workflows)
# --strip-extras: the files serve as constraints too. No index options: each installer has its own index.
COMPILE = $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-config

.PHONY: setup test test-all coverage kill-test lint requirements schemas vectors graph demo picture figures bench mutants \
	clean

setup: $(STAMP)

$(STAMP): requirements/dev.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# Style, types and the quick tests.
test: lint
	$(BIN)/python -m pytest -n 2

# The slow parts: prints for each whether it ran; with CI set, one that did not run is a failure.
test-all: $(STAMP)
	$(BIN)/python -m pytest -m slow

# The quick tests under branch coverage, in all processes that they start; takes several times as long.
coverage: $(STAMP)
	$(BIN)/python -m tools.branch_coverage

# Hundreds of SIGKILLs against paid runs: no call billed twice, no finished record lost.
kill-test: $(STAMP)
	$(BIN)/python -m tests.kills.campaign --kills 300

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(CHECKED)
	$(if $(WORKFLOWS),$(BIN)/zizmor --offline --quiet --strict-collection --persona pedantic $(WORKFLOWS))

# Run with the oldest supported Python. The user's pip settings are left out: a local mirror would
# know the hashes of some files only.
requirements: export PIP_CONFIG_FILE := /dev/null
requirements: export PIP_FIND_LINKS :=
requirements: export CUSTOM_COMPILE_COMMAND := make requirements
requirements: $(STAMP)
	$(COMPILE) --output-file requirements/runtime.txt pyproject.toml
	$(COMPILE) --all-extras --constraint requirements/runtime.txt --output-file requirements/dev.txt pyproject.toml \
		requirements/mutants.in
	$(COMPILE) --extra github --constraint requirements/runtime.txt --output-file requirements/image.txt pyproject.toml

# The files in schemas/, from the models.
schemas: $(STAMP)
	$(BIN)/python tools/schemas.py

# The vectors of the capability bank; needs the model.
vectors: $(STAMP)
	$(BIN)/python tools/bank_vectors.py

# The picture in docs/architecture.md: which package imports from which.
graph: $(STAMP)
	$(BIN)/python -m tools.import_graph

# The README's picture, drawn from a real demo.
picture: $(STAMP)
	$(BIN)/python tools/demo_picture.py

# Every figure in the documents, recomputed from committed files.
figures: $(STAMP)
	$(BIN)/python -m tools.figures

# What whole commands cost on this machine; takes some minutes, best on an idle one.
bench: $(STAMP)
	$(BIN)/python -m benchmarks.bench
	$(BIN)/python -m tools.figures

# Mutation tests of the modules whose errors would cost most; takes half an hour on two idle cores.
mutants: $(STAMP)
	$(BIN)/python -m tools.mutants

demo: $(STAMP)
	$(BIN)/discovercall demo

clean:
	rm -rf $(VENV) .coverage-data build dist mutants demo-*/ .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
