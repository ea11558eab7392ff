# Everything runs from .venv, which `make setup` makes from the pinned, hash-checked constraints.txt.

PYTHON ?= python3
VENV   := .venv
BIN    := $(CURDIR)/$(VENV)/bin
STAMP  := $(VENV)/.installed

# What runs at the same time is shown one after the other, where make can do that (4.0 or later).
APART := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

# Spark starts its workers with PYSPARK_PYTHON: any other interpreter lacks pyarrow.
export PYSPARK_PYTHON := $(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(BIN)/python
# Without it Spark listens on every address of the machine.
export SPARK_LOCAL_IP := 127.0.0.1

# Empty, and JAVA_HOME stays as it is, where Spark finds Java 17+ by itself.
WITH_JAVA = java_home="$$($(BIN)/python -m unskew.spark.java)" && \
	if [ -n "$$java_home" ]; then export JAVA_HOME="$$java_home"; fi &&

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-spark lint types imports doctest bench bench-spark clean

help: ## show this list
	@echo "unskew: make <target>"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv: dependencies, the project, and Java 17+ where there is none

demo: $(STAMP) ## run a skewed job on local Spark, without unskew and with it
	@$(WITH_JAVA) $(BIN)/unskew demo

test: $(STAMP) ## run all tests: the fast tier beside the Spark tier
	@echo "Both tiers run at the same time; what they say comes when they have ended."
	@# Compiled before, as both would do it.
	@$(BIN)/python -c "from unskew.grouping.catalog import warm_up; warm_up()"
	@$(MAKE) --no-print-directory -j2 $(APART) test-fast test-spark

test-fast: $(STAMP) ## run the tests that need no JVM
	@$(BIN)/python -m pytest --ignore=tests/spark

test-spark: $(STAMP) ## run the tests that start Spark
	@$(WITH_JAVA) $(BIN)/python -m pytest tests/spark

lint: $(STAMP) ## check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP) ## check types
	@$(BIN)/mypy

imports: $(STAMP) ## check that dependencies between packages run one way
	@$(BIN)/lint-imports

doctest: $(STAMP) ## run the examples in docstrings and pages
	@$(WITH_JAVA) $(BIN)/python -m pytest --doctest-modules --doctest-glob="*.md" \
		src README.md CONTRIBUTING.md docs

bench: $(STAMP) ## measure speed and accuracy, on one core
	@NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.run \
		speed fidelity bounds capacities fish gedik sketches cold_start startup

bench-spark: $(STAMP) ## measure Spark jobs with and without unskew, on two cores
	@$(WITH_JAVA) $(BIN)/python -m benchmarks.run on_spark

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "unskew needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name a newer one: make setup PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned dependencies into $(VENV) (some minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation --editable .
	@$(BIN)/python -m unskew.spark.java > /dev/null
	@$(BIN)/python -m unskew.spark.archive
	@touch $@
