# `make demo` and `make test` are the two commands of the README; each sets up all that it needs.

PYTHON ?= python3
TORCH ?= torch==2.13.0
# Processes of the tests; each takes a core and up to 8 GB.
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
TRUNK := tests/ops tests/layers tests/models tests/decoding tests/test_training.py
# Rooms whose tests compile the most.
LARGE := tests/benchmarks tests/compiling tests/distribution tests/export tests/lab tests/test_mechanisms.py tests/test_runs.py
# And what stands on it, where backends could differ.
ON_JAX := $(TRUNK) tests/text tests/test_translator.py tests/test_scoring.py tests/test_writer.py tests/compiling/test_programs.py

.PHONY: demo test test-torch test-slow mechanisms lab lint bench notebooks docs clean

demo: $(VENV)/package
	$(BIN)/keras-attention demo

# TensorFlow keeps every program that it compiles, so the suite is three runs after each other.
test: $(VENV)/test
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(TRUNK)
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(LARGE)
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(addprefix --ignore=,$(TRUNK) $(LARGE))
	KERAS_BACKEND=jax $(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(ON_JAX)

test-torch: $(VENV)/torch
	KERAS_BACKEND=torch $(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(TRUNK)

test-slow: $(VENV)/test
	$(BIN)/python -m pytest -m slow -s

mechanisms: $(VENV)/test
	$(BIN)/python -m examples.mechanisms

# Every experiment, into examples/lab; LAB="--babi FOLDER --text tinyshakespeare" adds data from outside.
lab: $(VENV)/test
	$(BIN)/keras-attention lab all --out examples/lab $(LAB)

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Every subject, into examples/benchmarks/results; BENCH="decoding --corpus FILE --rnn RUN --transformer RUN"
# measures some, on sentences and with models from outside.
bench: $(VENV)/bench
	$(BIN)/python -m examples.benchmarks $(BENCH)

# Runs the scripts of examples/ as notebooks and writes these beside them; NAMES="03 09" builds some.
notebooks: $(VENV)/test
	$(BIN)/python -m examples.notebooks $(NAMES)

# The documentation, into site/; open site/index.html. A warning, such as a link to nowhere, is an error.
docs: $(VENV)/docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build site *.egg-info .pytest_cache .ruff_cache

# Stamps: the environment with the package, with what the tests need, with PyTorch, and with
# what the benchmarks are run against.
$(VENV)/package: setup.cfg pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/test: $(VENV)/package
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/torch: $(VENV)/test
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	touch $@

$(VENV)/docs: $(VENV)/package
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

$(VENV)/bench: $(VENV)/torch
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@
