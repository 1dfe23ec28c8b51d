# `make demo` shows TensorScope at work, `make test` runs every check. Both set up .venv first.
PYTHON ?= python3
TORCH ?= torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
OFFSCREEN := QT_QPA_PLATFORM=offscreen

.PHONY: setup demo test lint types imports pytest bench gpu-test screens i18n clean

setup: $(STAMP)

$(STAMP): pyproject.toml scripts/system_packages.sh
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "TensorScope needs Python 3.11 or newer; $(PYTHON) is older. Set PYTHON=..."; exit 1; }
	@bash scripts/system_packages.sh
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import torch, sys; sys.exit(tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6))' \
	  2>/dev/null || $(BIN)/pip install -q --disable-pip-version-check '$(TORCH)'
	@$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: setup
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; then $(BIN)/tensorscope demo; \
	 else $(OFFSCREEN) $(BIN)/tensorscope demo --headless --out build/demo; fi

test: lint types imports pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

pytest: setup
	$(OFFSCREEN) $(BIN)/python -m pytest -n 2 --dist loadfile

bench: setup
	@$(OFFSCREEN) $(BIN)/python -m tests.benchmarks.run_all $(NAME)

gpu-test: setup
	$(OFFSCREEN) $(BIN)/python -m pytest -m gpu -rs

screens: setup
	$(OFFSCREEN) $(BIN)/python -m pytest tests/app/test_screens.py
	mkdir -p docs/images
	cp build/screens/window-light-en.png docs/images/window.png

i18n: setup
	$(BIN)/python scripts/update_translations.py

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
