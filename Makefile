# Everything here sets itself up first; a second run with an unchanged pyproject.toml asks no network.
.DEFAULT_GOAL := help
.PHONY: help setup demo test journeys fuzz lint docs pictures dist sentences bench chaos lab lab-down clean tools
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
# Written by others of the tree; linted as soon as they are there.
CHECKED := src tests $(if $(wildcard bench/*.py),bench)

help: ## this list
	@awk -F ': .*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

setup: .venv/.ready .venv/.ready-dev ## the virtual environment with what tests need (.venv)

demo: .venv/.ready ## two real training jobs, watched; one fails and is explained (about 40 s)
	@$(BIN)/dogwatch demo

test: tools lint ## lint, types, import contracts, then every test but the longest journeys
	@$(BIN)/python -m pytest -p tests.side_by_side -n 4 --no-loadscope-reorder -m "not long"

journeys: .venv/.ready .venv/.ready-dev tools ## what people do with the real program, from the first command to the last alert
	@$(BIN)/python -m pytest -p tests.side_by_side -n 4 --no-loadscope-reorder tests/journeys

fuzz: .venv/.ready .venv/.ready-dev ## every parser against hostile inputs, FUZZ_SECONDS each (600); one: TARGET=name SECONDS=60
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),$(FUZZ_SECONDS),600) $(TARGET)
	@$(if $(TARGET),,$(BIN)/python -m pytest -p tests.side_by_side -n 2 -m hypothesis --hypothesis-profile fuzz)

lint: .venv/.ready .venv/.ready-dev ## ruff, mypy --strict, import contracts
	@$(BIN)/ruff check $(CHECKED)
	@$(BIN)/ruff format --check $(CHECKED)
	@$(BIN)/mypy $(CHECKED)
	@$(BIN)/lint-imports --no-logo

docs: .venv/.ready .venv/.ready-dev ## write what is generated in docs/ (JSON, commands, man page, keys), and build the site in site/
	@$(BIN)/python tools/json_docs.py
	@$(BIN)/python tools/cli_docs.py
	@$(BIN)/python tools/config_docs.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

pictures: .venv/.ready ## draw docs/*.svg anew from the real program (about a minute)
	@$(BIN)/python tools/pictures.py

dist: .venv/.ready .venv/.ready-dev ## the source archive and both wheels in dist/, checked, and installed on every Python at hand
	@$(BIN)/python tools/dist.py dist
	@tools/setup trixie
	@DOGWATCH_DIST=$(CURDIR)/dist $(BIN)/python -m pytest -p tests.side_by_side -n 2 --no-loadscope-reorder tests/journeys/test_install.py

sentences: .venv/.ready ## write tests/wording/sentences.txt, the list of every sentence that people read
	@$(BIN)/python tools/sentences.py

bench: .venv/.ready .venv/.ready-dev ## what watching costs and what got worse; some of it: NAMES="slurm gpus"; ACCEPT=1 accepts the figures
	@$(BIN)/python -m bench $(if $(ACCEPT),--accept) $(NAMES)

chaos: .venv/.ready .venv/.ready-dev ## 2,000 kills of the real programs, 50 of a Slurm controller, 1,000 over 20,000 alerts, 100 chains on boxes
	@tools/setup chaos
	@$(BIN)/python -m tests.chaos --kills 2000 --outages 50 --alerts 1000 --points -1 --boxes 100 --alertmanager 50

lab: .venv/.ready .venv/.ready-dev tools ## a real Slurm cluster and ssh hosts on this machine, for trying things (needs root)
	@$(BIN)/python -m tests.lab start

lab-down: ## stop it
	@$(BIN)/python -m tests.lab stop

clean: ## remove the virtual environment and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .fuzz .bench build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

tools:
	@tools/setup tools

.venv/.ready: pyproject.toml tools/setup hatch_build.py src/dogwatch/logs/native.c
	@tools/setup runtime
	@touch $@

.venv/.ready-dev: pyproject.toml tools/setup | .venv/.ready
	@tools/setup dev
	@touch $@
