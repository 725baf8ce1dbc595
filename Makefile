# Everything here needs Python 3.9 to 3.13 with venv, and make; the rest is installed into $(VENV).
#
#   make demo            the first pair: both loss curves side by side, and a picture of them
#   make test            the default tests
#   make proofs          the pairs compared, a third of the mistakes that verify has to show, and what was
#                        recorded with 1.15 recorded again: more than half an hour
#   make eras            the tests of the borders between TensorFlow's eras, on one release of each
#   make lint types      ruff and mypy
#   make docs            the guide, to build/guide; needs Python 3.11
#   make bench           what tpucompat costs, as ratios
#   make reference-env   a real TensorFlow 1.15 to compare with; needs Python 3.7
#   make clean           removes what the above made
#
# Another interpreter: make PYTHON=python3.11 demo

PYTHON ?= python3
VENV ?= .venv
PYTEST_FLAGS ?=
# Processes of the tests; a module's tests stay in one, where they share what they have trained.
TEST_JOBS ?= 2
DEMO_FLAGS ?=
BENCH_FLAGS ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
LINTERS := $(VENV)/.linters
TOX := $(VENV)/.tox

# The last TensorFlow with tf.contrib, the oldest of version 2 as tensorflow-cpu, one of the middle, the last with
# tf.estimator and Keras 2, the first without, the newest known.
ERAS ?= py37-tf1.15 py37-tf2.1 py310-tf2.8 py311-tf2.15 py312-tf2.16 py313-tf2.21
# What differs between them: private paths, symbols, and how whole scripts run.
ERA_TESTS ?= tests/behaviour/test_private.py tests/behaviour/test_symbols.py tests/behaviour/test_session_scripts.py \
  tests/behaviour/test_estimator_pairs.py tests/behaviour/test_patches.py
# The tests that take minutes and that no usual change breaks. Those of drawn programs and of rehearsals take hours.
LONG_TESTS ?= tests --ignore-glob='*/test_generated_models.py' --ignore-glob='*/test_rehears*.py'
# Where this names a folder, environments are kept there and used again while their pins are the same; else each
# is removed after its tests: together they take 6 GB.
TOX_WORK ?=

IN_PARALLEL := --numprocesses $(TEST_JOBS) --dist loadfile

REFERENCE := .venv-tf115
REFERENCE_PYTHON := $(REFERENCE)/bin/python
REFERENCE_INSTALLED := $(REFERENCE)/.installed
# Used where it is there and nothing else was named; see "reference" in pyproject.toml.
ifneq ($(wildcard $(REFERENCE_INSTALLED)),)
export TPUCOMPAT_TF115_PYTHON ?= $(abspath $(REFERENCE_PYTHON))
endif

.DEFAULT_GOAL := help
.PHONY: help demo test proofs eras lint types docs bench reference-env clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(INSTALLED)
	$(BIN)/python tools/demo.py $(DEMO_FLAGS)

test: $(INSTALLED)
	$(BIN)/python -m pytest $(IN_PARALLEL) --no-loadscope-reorder $(PYTEST_FLAGS)

proofs: $(INSTALLED)
	$(BIN)/python -m pytest -m long $(PYTEST_FLAGS) $(LONG_TESTS)

eras: $(TOX)
	failed=; for era in $(ERAS); do \
	  PATH="$$PATH:$$(tools/interpreters.sh)" $(BIN)/tox run --workdir $(or $(TOX_WORK),.tox) -e $$era -- \
	    $(IN_PARALLEL) $(ERA_TESTS) || failed="$$failed $$era"; \
	  $(if $(TOX_WORK),,rm -rf .tox/$$era;) \
	done; test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

lint: $(LINTERS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(LINTERS)
	$(BIN)/mypy

docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python tools/build_docs.py

bench: $(INSTALLED)
	$(BIN)/python benchmarks/overhead.py $(BENCH_FLAGS)

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "TensorFlow needs Python 3.9 to 3.13; $(PYTHON) is: $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[tf,test]'
	@touch $@

$(LINTERS): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	@touch $@

$(TOX): $(INSTALLED)
	$(BIN)/python -m pip install --quiet tox
	@touch $@

reference-env: $(REFERENCE_INSTALLED)
	@echo "TPUCOMPAT_TF115_PYTHON=$(abspath $(REFERENCE_PYTHON))"

# TensorFlow 1.15 has wheels for Python 3.7 and older. The limits are those of its time: newer
# releases of these packages break it.
$(REFERENCE_INSTALLED):
	@python37=$$(tools/find_python37.sh) && "$$python37" -m venv $(REFERENCE)
	$(REFERENCE_PYTHON) -m pip install --quiet --disable-pip-version-check 'pip<24.1'
	$(REFERENCE_PYTHON) -m pip install --quiet 'tensorflow==1.15.5' 'protobuf<3.21' 'numpy<1.19' \
	  'h5py<3' packaging pillow 'scipy<1.5' pandas
	@touch $@

clean:
	rm -rf $(VENV) $(REFERENCE) demo_output build *.egg-info
