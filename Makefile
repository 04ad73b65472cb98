PYTHON ?= python3
VENV ?= .venv
PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint .ci/constraints.txt

.PHONY: demo test lint soak golden clean

demo: $(VENV)/.demo  ## the whole way, from two public corpora to steered answers (ARGS=--full, ARGS=--json)
	$(VENV)/bin/prefdex demo $(ARGS)

test: $(VENV)/.dev  ## all tests that need no second environment
	$(VENV)/bin/pytest -m "not soak" $(ARGS)

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

soak: $(VENV)/.dev  ## the long forms of kill, fuzz and property tests
	$(VENV)/bin/pytest -m soak $(ARGS)
	$(VENV)/bin/pytest --hypothesis-profile soak tests/integration/test_laws.py tests/integration/test_store_laws.py tests/unit/shared \
		-m "not soak" $(ARGS)

golden: $(VENV)/.dev  ## after a change of the format
	$(VENV)/bin/python tests/golden/make.py

clean:
	rm -rf $(VENV) .demo .cache dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml $(VENV)/bin/python
	$(PIP) --editable '.[client,builder,demo]'
	touch $@

$(VENV)/.dev: pyproject.toml .ci/constraints.txt $(VENV)/bin/python
	$(PIP) --editable '.[client,builder,demo,torch,llamacpp,dev]'
	touch $@
