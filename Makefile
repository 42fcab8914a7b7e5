# `make demo` and `make test` are the two commands of the README; each sets up all that it needs.

PYTHON ?= python3
TORCH ?= torch==2.13.0
# Processes of the tests; each takes a core and up to 4 GB.
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
# A file stays with one process, and so does what its tests share; the longest come first.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder
LAYERS := tests/ops tests/kernels tests/layers
MODELS := tests/models tests/decoding tests/training
# What stands on them, where backends could differ.
ABOVE := tests/corpora/test_batches.py tests/translation/test_translator.py tests/translation/test_alignment.py tests/translation/test_interventions.py tests/translation/test_evaluation.py tests/attributions tests/lab/test_writer.py
# Rooms of thorough tests.
LARGE := benchmarks compiling distribution export lab

.PHONY: demo test test-backends test-all test-rest test-slow mutants campaign oldest audit mechanisms lab lint bench bench-maps notebooks colab translators diagrams docs clean

demo: $(VENV)/package
	$(BIN)/keras-attention demo

# The everyday suite: every promise once, on TensorFlow.
test: $(VENV)/test
	$(PYTEST)

# Every promise of the trunk on JAX and on PyTorch. Several runs, since a process keeps the programs
# that it compiles.
test-backends: $(VENV)/backends
	KERAS_BACKEND=jax $(PYTEST) $(LAYERS)
	KERAS_BACKEND=jax $(PYTEST) $(MODELS)
	KERAS_BACKEND=jax $(PYTEST) $(ABOVE)
	KERAS_BACKEND=torch $(PYTEST) $(LAYERS) $(MODELS)

# The whole suite, before a release: what is everyday, then the rest.
test-all: test test-rest

# The other backends, then what is thorough.
test-rest: $(VENV)/all test-backends
	$(PYTEST) -m "thorough and not slow" $(addprefix tests/,$(LARGE))
	$(PYTEST) -m "thorough and not slow" $(addprefix --ignore=tests/,$(LARGE))
	$(BIN)/python -m tests.campaign kills inputs numbers pages --few
	KERAS_BACKEND=jax $(PYTEST) -m "not slow" tests/compiling/test_programs.py

# Models that learn run long enough for XLA to optimise, which it does not for other tests.
test-slow: export XLA_FLAGS = --xla_backend_optimization_level=3 --xla_llvm_disable_expensive_passes=false
test-slow: $(VENV)/all
	$(BIN)/python -m pytest -m slow -s

# Which small changes of the package the tests notice; resumes where it was interrupted.
mutants: $(VENV)/mutants
	$(BIN)/python -m tests.mutants $(MUTANTS)

# Faults during training, hostile input, and load: hours. CAMPAIGN="--few" takes minutes.
campaign: $(VENV)/all
	$(BIN)/python -m tests.campaign $(CAMPAIGN)

mechanisms: $(VENV)/package
	$(BIN)/python -m examples.mechanisms

# Every experiment, into examples/lab; LAB="--babi FOLDER --text tinyshakespeare" adds data from outside.
lab: $(VENV)/package
	$(BIN)/keras-attention lab all --out examples/lab $(LAB)

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every subject, into examples/benchmarks/results; BENCH="decoding --corpus FILE --rnn RUN --transformer RUN"
# measures some, on sentences and with models from outside.
bench: $(VENV)/bench
	$(BIN)/python -m examples.benchmarks $(BENCH)

# How true the maps are, and whether the model needs the words that they name, beside eflomal;
# MAPS="runs/mine --corpus bundled --pairs 20" scores a run.
bench-maps: $(VENV)/bench
	$(BIN)/python -m examples.attributions $(MAPS)

# Runs the scripts of examples/ as notebooks and writes these beside them; NAMES="03 09" builds some.
notebooks: $(VENV)/all
	$(BIN)/python -m examples.notebooks $(NAMES)

# The versions of Google Colab, in .venv-colab/: the package moves none of them, and runs with them.
# COLAB="cpu -- tests/layers" tries some tests with one of the images.
colab:
	JOBS=$(JOBS) $(PYTHON) -m tests.colab $(COLAB)

# The oldest versions that setup.cfg allows, in .venv-oldest/; `make test` on a fresh clone has the newest.
# OLDEST="tests/layers" tries some tests.
oldest: $(VENV)-oldest/ready
	$(VENV)-oldest/bin/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(OLDEST)

# What a wheel brings with it, into dist/: the wheel and its SHA-256, a list of all that it needs
# (CycloneDX), and whether any of that has a known weakness.
audit: $(VENV)-audit/tools/ready
	rm -rf dist $(VENV)-audit/package
	$(VENV)-audit/tools/bin/python -m build --wheel --outdir dist .
	cd dist && sha256sum *.whl > SHA256SUMS
	$(PYTHON) -m venv $(VENV)-audit/package
	$(VENV)-audit/package/bin/python -m pip install --quiet dist/*.whl
	$(VENV)-audit/tools/bin/cyclonedx-py environment --output-format JSON --output-file dist/sbom.json $(VENV)-audit/package/bin/python
	$(VENV)-audit/tools/bin/pip-audit --path $(VENV)-audit/package/lib/python3*/site-packages

# Trains the translators that come with the package and writes them into data/; hours.
# TRANSLATORS="spa-eng-rnn --corpus FILE --validation FILE" trains one, on sentences of your own.
translators: $(VENV)/package
	$(BIN)/python -m examples.translators $(TRANSLATORS)

# The diagrams of the course, into the package.
diagrams: $(VENV)/docs
	$(BIN)/python -m docs.diagrams

# The documentation, into site/; open site/index.html. A warning, such as a link to nowhere, is an error.
# The README's table of scores is written first.
docs: $(VENV)/docs
	$(BIN)/python docs/tables.py
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(VENV)-colab $(VENV)-oldest $(VENV)-audit build dist site *.egg-info .pytest_cache .ruff_cache

# Stamps: the environment with the package, with what each command needs beside it.
$(VENV)/package: setup.cfg pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[jax,onnxruntime]"
	touch $@

$(VENV)/lint: $(VENV)/package
	$(BIN)/python -m pip install --quiet --editable ".[lint]"
	touch $@

$(VENV)/test: $(VENV)/package
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/backends: $(VENV)/test
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	touch $@

$(VENV)/all: $(VENV)/backends
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	touch $@

$(VENV)/mutants: $(VENV)/all
	$(BIN)/python -m pip install --quiet --editable ".[mutants]"
	touch $@

$(VENV)/docs: $(VENV)/package
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

$(VENV)/bench: $(VENV)/all
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

$(VENV)-oldest/ready: setup.cfg pyproject.toml
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet uv
	$(VENV)-oldest/bin/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct --editable ".[test]"
	touch $@

$(VENV)-audit/tools/ready:
	$(PYTHON) -m venv $(VENV)-audit/tools
	$(VENV)-audit/tools/bin/python -m pip install --quiet build cyclonedx-bom pip-audit
	touch $@
