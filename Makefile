# Two commands do everything on a bare machine: `make run` and `make test`. Both begin with `make setup`.
SHELL := bash
BIN := .venv/bin
PY := $(BIN)/python

.PHONY: help setup setup-test run test lint format bench soak pictures dist sample locks clean

help:
	@echo 'make run       set up, then open the application on the sample profile'
	@echo 'make test      set up, then every check and test'
	@echo 'make setup     build .venv (instant when nothing changed)'
	@echo 'make lint      formatting, style, types, layers'
	@echo 'make format    mend formatting and what ruff can mend'
	@echo 'make bench     measure against the budgets: a table, and build/bench.json'
	@echo 'make soak      ten minutes of damaged traces and profiles (SOAK_SECONDS=600, SOAK_FIRST=1)'
	@echo 'make pictures  a picture of every page, light and dark, under build/pictures/'
	@echo 'make dist      wheels and source archives under dist/'
	@echo 'make sample    make the sample profile in resources/ anew'
	@echo 'make locks     resolve locks/*.txt anew (UPGRADE=1: the newest of everything)'

setup:
	@bash packaging/setup.sh run

setup-test:
	@bash packaging/setup.sh test

run: setup
	@bash packaging/run.sh

pictures: setup
	@bash packaging/pictures.sh

lint: setup-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: lint
	$(PY) -m pytest
	$(PY) -m pytest -p no:pytest-qt -p tests.without_qt

bench: setup-test
	$(PY) tests/bench/run.py

soak: setup-test
	$(PY) -m tests.soak.run

dist: setup-test
	rm -rf dist
	$(PY) -m build --no-isolation --outdir dist ./collector
	$(PY) -m build --no-isolation --outdir dist .

sample: setup
	$(PY) packaging/sample.py

locks:
	@bash packaging/lock.sh

clean:
	rm -rf build dist .venv *.egg-info collector/*.egg-info
