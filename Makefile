# What Draftproof can be asked to do; `make` alone lists it. The first target that needs Python builds the locked
# environment in $(VENV); after that no target uses the network, except `lock`.

VENV          ?= .venv
PYTHON        ?= python3
PROVE_FLAGS   ?=
PYTEST_FLAGS  ?= -n 2 --dist loadgroup
MUTANTS_FLAGS ?=
GPU_FLAGS    ?=
EVIDENCE_FLAGS ?=
COQ_FLAGS    ?=

BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help prove prove-full test test-full check mutants evidence audit-coq gpu bench debug environment lock clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'PROVE_FLAGS, PYTEST_FLAGS and MUTANTS_FLAGS are passed on; VENV and PYTHON choose the environment. For example:'
	@echo "  make prove PROVE_FLAGS='--only store/*'"

prove: environment ## check every claim with Z3 and cvc5; what CI runs
	@$(BIN)/draftproof prove $(PROVE_FLAGS)

prove-full: environment ## prove, and the slower confirmations beside it
	@$(BIN)/draftproof prove --full $(PROVE_FLAGS)

# Terms built when these files are imported do not survive the fresh solver contexts of other tests: a process each.
APART := --ignore=tests/tracelog/test_conditions.py --ignore=tests/reference/test_contracts.py

# What the bundle of evidence tells of the tests.
TESTED := build/tests

test: environment ## run the tests
	@rm -rf $(TESTED)
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) --junitxml=$(TESTED)/conditions.xml tests/tracelog/test_conditions.py
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) --junitxml=$(TESTED)/contracts.xml tests/reference/test_contracts.py
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) --junitxml=$(TESTED)/others.xml -m 'not exhaustive' $(APART)

test-full: environment ## run the tests, and those that take many minutes
	@rm -rf $(TESTED)
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) --junitxml=$(TESTED)/conditions.xml tests/tracelog/test_conditions.py
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) --junitxml=$(TESTED)/contracts.xml tests/reference/test_contracts.py
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) --junitxml=$(TESTED)/others.xml $(APART)

check: environment ## lint, format, types, import directions, lock, generated files
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy
	@$(BIN)/python -m pytest -q tests/house -m 'not slow'
	@$(BIN)/draftproof inventory
	@$(BIN)/draftproof report assumptions --check
	@$(BIN)/draftproof evidence soundness --check

mutants: environment ## change reference, models and kernels line by line: tests and claims must notice
	@$(BIN)/draftproof mutants $(MUTANTS_FLAGS)

evidence: prove ## one archive with all that a stranger needs to check the claims again, in build/evidence
	@$(BIN)/draftproof evidence build --out build/evidence $(EVIDENCE_FLAGS)

audit-coq: environment ## prove every theorem again in Coq, from its certificate; needs coqc and coqchk
	@$(BIN)/draftproof evidence coq $(COQ_FLAGS)

debug: environment ## a tour: a rule is broken, explained, replayed, and kept as a test
	@$(BIN)/python -m proofs.explain.tour

gpu: environment ## run everything on the GPU, and keep the record; fails where there is none
	@$(BIN)/draftproof gpu check --require-device --record proofs/records $(GPU_FLAGS)
	@$(BIN)/draftproof gpu bench --require-device --record proofs/records $(GPU_FLAGS)
	@DRAFTPROOF_REQUIRE_GPU=1 $(BIN)/python -m pytest -q $(PYTEST_FLAGS) -m 'not slow' tests/batched tests/engine

bench: environment ## figures beside ceilings; on a machine without a GPU, of the processor
	@$(BIN)/draftproof gpu bench $(GPU_FLAGS)

# Returns at once when the environment stands. Another Python that is new enough is taken where $(PYTHON) is not.
environment: ## build the environment, or bring it up to the lock
	@for python in '$(PYTHON)' python3.14 python3.13 python3.12 python3.11; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    exec $$python .ci/environment.py '$(VENV)'; \
	  fi; \
	done; \
	echo 'draftproof: no Python >= 3.11 found; install one or pass PYTHON=COMMAND' >&2; exit 2

lock: environment ## resolve requirements.lock anew (needs the network)
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --fork-strategy fewest --extra dev \
	  --generate-hashes --no-emit-index-url --no-annotate --no-header --output-file requirements.lock pyproject.toml

clean: ## delete what the targets made, except the environment
	@rm -rf build dist mutants .mypy_cache .pytest_cache .ruff_cache .hypothesis
