# `make demo` and `make test` are the two commands of the README; each sets up all that it needs.

PYTHON ?= python3
TORCH ?= torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin
TRUNK := tests/ops tests/layers tests/models tests/decoding tests/test_training.py
# And what stands on it, where backends could differ.
ON_JAX := $(TRUNK) tests/text tests/test_translator.py tests/test_scoring.py

.PHONY: demo test test-torch test-slow mechanisms lint bench clean

demo: $(VENV)/package
	$(BIN)/keras-attention demo

test: $(VENV)/test
	$(BIN)/python -m pytest -n 2 -m "not slow"
	KERAS_BACKEND=jax $(BIN)/python -m pytest -n 2 -m "not slow" $(ON_JAX)

test-torch: $(VENV)/torch
	KERAS_BACKEND=torch $(BIN)/python -m pytest -m "not slow" $(TRUNK)

test-slow: $(VENV)/test
	$(BIN)/python -m pytest -m slow -s

mechanisms: $(VENV)/test
	$(BIN)/python -m examples.mechanisms

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: $(VENV)/test
	TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/python examples/benchmarks/rnn_attention.py
	TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/python examples/benchmarks/decoding.py

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache

# Stamps: the environment with the package, with what the tests need, and with PyTorch.
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
