# The two commands of the README: `make train` and `make test`; each sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
LOCKED ?= # 1: packages of the tests only with the hashes of requirements-ci.lock
BIN := $(VENV)/bin
# Python writes the bytecode of what is imported; pip would write that of every file, half its time. Without any, which some
# machines ask for, each of the hundred processes that tests start compiles all of it anew: 3 s of 4.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install -q --no-compile

.PHONY: help train test test-rest test-all compiled test-numpy lint types stubs parity parity-all libraries suites bench trust trust-long wheel docs nightly backbone release clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

# A sentence instead of a traceback, where Python is too old.
OLD = import sys; v = sys.version_info[:2]; \
	v < (3, 11) and sys.exit("rushlight needs Python 3.11 or newer, and $(PYTHON) is %d.%d: make train PYTHON=python3.12" % v)
# What the compiler needs: oneDNN is for later, and comes with the rest.
BUILD := import tomllib; \
	print(*(r for r in tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"] if "onednn" not in r), sep="\n")
# Our dependencies and an extra's by their names: installing '.[dev]' would build the engine once more.
EXTRA = import sys, tomllib; a = tomllib.load(open("pyproject.toml", "rb")); p = a["project"]; \
	print(*a["build-system"]["requires"], *p["dependencies"], *p["optional-dependencies"][sys.argv[1]], sep="\n")

# What the build needs is installed once, here, instead of once more in an environment of pip's own. The engine
# compiles while pip fetches the rest, which takes one core.
$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c '$(OLD)'
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c '$(BUILD)' > $(VENV)/build.txt
	@$(BIN)/python -c '$(EXTRA)' cli > $(VENV)/cli.txt
	@$(PIP) -r $(VENV)/build.txt || { echo "pip says above what it could not fetch: is there a network, and room on the disk?"; exit 1; }
	@echo "Compiling the C engine for this machine's processor, on all cores, and fetching packages: about a minute"
	$(PIP) --no-warn-conflicts -r $(VENV)/cli.txt & rest=$$!; \
		$(PIP) --no-build-isolation --no-deps -e .; built=$$?; wait $$rest && exit $$built
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.run
	$(if $(LOCKED),$(PIP) --require-hashes --no-deps -r requirements-ci.lock)
	$(BIN)/python -c '$(EXTRA)' dev > $(VENV)/dev.txt
	$(PIP) -c requirements-ci.txt -r $(VENV)/dev.txt
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.run
	$(BIN)/python -c '$(EXTRA)' docs > $(VENV)/docs.txt
	$(PIP) -c requirements-ci.txt -r $(VENV)/docs.txt
	@touch $@

$(VENV)/.oracle: $(VENV)/.dev
	$(BIN)/python -c '$(EXTRA)' oracle > $(VENV)/oracle.txt
	$(PIP) -c requirements-ci.txt -r $(VENV)/oracle.txt
	@touch $@

train: $(VENV)/.run ## train on the embedded images, save, reload, test
	$(BIN)/rushlight train $(ARGS)

TEST = $(BIN)/python -m pytest -n auto --dist worksteal
test: $(VENV)/.dev ## the suite on all cores, of its long and large parts a sample (parity tests run where torch is installed)
	$(TEST) $(if $(ALL),,--part quick) $(ARGS)

test-rest: $(VENV)/.dev ## what `make test` leaves out (tests/support/parts.py)
	$(TEST) --part rest $(ARGS)

test-all: ## both, in one run
	$(MAKE) test ALL=1

compiled: $(VENV)/.oracle ## the bytecode of the tests, which otherwise every worker of their first run makes for itself
	$(BIN)/python -m pytest --collect-only -qq > /dev/null

test-numpy: $(VENV)/.dev ## ops and layers without the native CPU engine: the NumPy bodies behind it
	RUSHLIGHT_CPU_ENGINE=numpy $(TEST) -k "not derivative_is_numeric and not meta_rule" tests/ops/test_ops.py \
		tests/nn/test_layers.py tests/ops/test_conv.py tests/ops/test_matmul.py tests/optim/test_optim.py tests/nn/test_nn_sequences.py $(ARGS)

bench: $(VENV)/.run ## images per second over width and batch size, on every device
	$(BIN)/rushlight bench $(ARGS)

lint: $(VENV)/.dev ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## mypy over the package; the table of late ops is up to date
	$(BIN)/python tools/stubs.py --check
	$(BIN)/python tools/stubs.py
	$(BIN)/mypy

stubs: $(VENV)/.dev ## write the .pyi files anew, after public functions changed, and the table of late ops
	$(BIN)/python tools/stubs.py

parity: $(VENV)/.oracle ## a sample of the databases of PyTorch's own tests, on PyTorch 2.13.0 and on rushlight (ARGS="--seed 7", "add sum")
	$(BIN)/python -W ignore tools/parity.py $(ARGS)

parity-all: ## all of them: what a night runs
	$(MAKE) parity ARGS="--whole $(ARGS)"

libraries: $(VENV)/.run ## real libraries that import torch, on rushlight without PyTorch: docs/libraries.md (ARGS="einops timm" for some)
	$(BIN)/python tools/libraries.py $(ARGS)

suites: $(VENV)/.oracle ## the tests that libraries carry, on PyTorch and on rushlight: docs/suites.md (LIB="zuko gpytorch", ARGS="--most 300" for a sample)
	$(BIN)/python tools/suites.py $(LIB) $(ARGS)

trust: $(VENV)/.dev ## mutated files, kills, full disks, same bits: minutes (docs/trust.md has the hours)
	$(BIN)/python tools/trust.py ci

trust-long: $(VENV)/.dev ## 1,000,000 mutated files over all readers: hours
	$(BIN)/python tools/trust.py files 1000000 --record

wheel: $(VENV)/.dev ## build the wheel and the sdist, repair, try them without a compiler
	$(BIN)/python tools/wheel.py

docs: $(VENV)/.docs ## the documentation site, into site/; building needs no network, a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict $(ARGS)

nightly: $(VENV)/.oracle ## a few benchmarks beside PyTorch: lines in benchmarks/ledger.jsonl; tells what lost 5 %
	$(BIN)/python benchmarks/ledger.py nightly $(ARGS)

backbone: $(VENV)/.dev ## the weights inside the package, trained anew: DATA=folder with CIFAR-10, MNIST, Fashion-MNIST and openclipart-png (docs/train.md)
	$(BIN)/python tools/backbone.py pack $(DATA) build/backbone/pack.xz
	$(BIN)/python tools/backbone.py train build/backbone/pack.xz build/backbone $(ARGS)
	$(BIN)/python tools/backbone.py install build/backbone

release: $(VENV)/.dev ## version, changelog, checks, sdist and wheel; uploads nothing (ARGS="0.2.0 --dry-run")
	$(BIN)/python tools/release.py $(ARGS)

clean: ## remove what was built and installed here
	rm -rf $(VENV) build dist site src/*.egg-info
