# Every target sets up what it needs in $(VENV), from nothing but Python 3.11 or newer.
#
#   make demo          optimize the example kernels; report in build/demo/report.html
#   make test          the fast tests, in parallel
#   make help          everything else

PYTHON ?= python3
VENV   ?= .venv
# "local" brings torch and triton. EXTRAS=dev leaves them out: everything that needs no device works.
EXTRAS ?= local,dev
TARGET ?= cuda:90
DEMO_DIR := build/demo
BIN    := $(VENV)/bin
comma  := ,
STAMP  := $(VENV)/.installed-$(subst $(comma),-,$(EXTRAS))
RAY_STAMP := $(VENV)/.with-ray
CORPORA_STAMP := build/corpora/.installed
LSP_STAMP := build/lsp-servers/.installed
SOURCES := engine server tests examples benchmarks docs/issue_pages.py docs/pictures/make.py docs/pictures/package_map.py
FAST   := not gpu and not browser and not slow and not editor
# Tests of these folders start no process and look for no package: an environment changes nothing.
PURE   := agents analysis compiled knowledge mutation navigation precision profiling realbugs report search search_evidence source strategies
# These talk to a server whose engine is scripted: what it finds of an environment others test.
SCRIPTED := $(patsubst %,server/test_%.py,apply_candidate certificates_shown compiled jobs models server_runs)

# A third of the time of a fast test is spent waiting for a process.
FAST_WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 1); echo $$((n + n / 2)))
# Long tests wait for processes about as long as they compute: two of them for each core.
SLOW_WORKERS ?= $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 1))))
# "all" for every random example and every case of a sample, which is for changes of what they test.
PROFILE ?= ci

# Byte code is kept: tests start hundreds of processes, and pytest rewrites each file of tests anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help docs pictures setup honesty gpu search-evidence bench-lsp demo test test-light test-slow test-all test-editor corpora ray agreement compile-table precision recall realbugs realbugs-executed realbugs-reviewed lint format types wheel clean distclean

help: ## say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

setup: $(STAMP) ## the development environment in .venv

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	  echo "$(PYTHON) cannot make an environment; on Debian and Ubuntu: apt-get install python3-venv"; \
	  exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  -e '.[$(EXTRAS)]' || { \
	  echo; \
	  echo "The pinned packages of constraints.txt could not be installed. If it was torch or triton:"; \
	  echo "this Python or system may have no wheel of that version. Either name another Python"; \
	  echo "(make PYTHON=python3.12), point pip at an index that has one (PIP_EXTRA_INDEX_URL,"; \
	  echo "PIP_FIND_LINKS), or go without both: make EXTRAS=dev $(MAKECMDGOALS)"; \
	  exit 1; }
	@rm -f $(VENV)/.installed-*
	@touch $@

demo: setup ## optimize the example kernels for TARGET and write a report
	$(BIN)/python examples/demo.py --target $(TARGET) --out $(DEMO_DIR)

test: setup ## the fast tests, in parallel
	$(BIN)/python -m pytest -n $(FAST_WORKERS) --dist worksteal -m "$(FAST)" $(addprefix --ignore=tests/,$(LEFT_OUT))

test-light: ## the fast tests that may differ without torch and triton, in such an environment
	$(MAKE) EXTRAS=dev VENV=$(VENV)-light LEFT_OUT="$(PURE) $(SCRIPTED)" test

test-slow: corpora ray ## wheel and environment tests, long runs
	$(BIN)/python -m pytest -n $(SLOW_WORKERS) --dist loadfile --no-loadscope-reorder \
	  --hypothesis-profile=$(PROFILE) -m "(slow or hypothesis) and not gpu and not browser" \
	  $(addprefix tests/,$(ONLY)) $(addprefix --ignore=tests/,$(LEFT_OUT))

ray: $(RAY_STAMP) ## Ray (79 MB), for the slow tests of clusters

$(RAY_STAMP): pyproject.toml constraints.txt | setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[ray]'
	@touch $@

corpora: $(CORPORA_STAMP) ## kernels of published packages, in build/corpora, for the slow tests

$(CORPORA_STAMP): tests/corpora/requirements.txt | setup
	rm -rf build/corpora
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile \
	  --target build/corpora -r tests/corpora/requirements.txt
	@touch $@

agreement: corpora ## compare tile inference with the compiler over the corpora; writes docs/agreement.md
	PYTHONPATH=tests/corpora $(BIN)/python tests/agreement/agreement_table.py

precision: corpora ## reports on the corpora against the reviewed lists; writes docs/precision.md
	PYTHONPATH=tests/corpora $(BIN)/python tests/precision/precision_table.py

compile-table: corpora ## compile the corpora for three chips, an hour; writes docs/compile-table.md
	for corpus in liger_kernel flag_gems; do PYTHONPATH=tests/corpora $(BIN)/python \
	  tests/corpora/compile_sweep.py --corpus $$corpus || exit 1; done
	PYTHONPATH=tests/corpora:tests/targets $(BIN)/python tests/corpora/compile_table.py

realbugs: setup ## faults of public reports, and which of them are found; writes docs/realbugs.md
	PYTHONPATH=tests/realbugs:benchmarks/slow_spots $(BIN)/python tests/realbugs/realbugs_page.py

realbugs-executed: setup ## the same run in the interpreter on drafted inputs, minutes; then make realbugs
	PYTHONPATH=tests/realbugs $(BIN)/python tests/executed/executed_cases.py

realbugs-reviewed: setup ## recorded reviews by a model, run in the interpreter, minutes; then make realbugs
	PYTHONPATH=tests/realbugs $(BIN)/python tests/executed/reviewed_cases.py

honesty: setup ## the tables of docs/honesty.md from the verdicts in tests/evidence/results
	PYTHONPATH=tests/evidence $(BIN)/python tests/evidence/table.py

gpu: setup ## repeat what is claimed of GPUs, on those of this machine; results in build/gpu
	$(BIN)/python benchmarks/on_gpu.py --out build/gpu

search-evidence: setup ## what strategies, memory and scale are worth; writes docs/search-evidence.md
	$(BIN)/python benchmarks/search_evidence/evidence_page.py

bench-lsp: corpora $(LSP_STAMP) ## edits to diagnostics, next to other language servers; writes docs/editor-speed.md
	$(BIN)/python benchmarks/lsp/measure.py $(BENCH_LSP)
	$(BIN)/python benchmarks/lsp/load.py $(BENCH_LSP_LOAD)
	$(BIN)/python benchmarks/lsp/page.py build/bench-lsp.json --load build/bench-lsp-load.json

$(LSP_STAMP): benchmarks/lsp/requirements.txt
	rm -rf build/lsp-servers
	$(PYTHON) -m venv build/lsp-servers
	build/lsp-servers/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r benchmarks/lsp/requirements.txt
	@touch $@

recall: corpora ## faults put into kernels, and how many are found; writes docs/recall.md
	PYTHONPATH=tests/corpora $(BIN)/python tests/mutation/write_recall.py

test-all: test test-light test-slow test-editor ## everything that needs no GPU

test-editor: setup vscode-extension/node_modules/.package-lock.json ## the extension in a real VS Code in headless Chromium
	cd vscode-extension && npm test
	$(BIN)/python -m pytest -m "editor or browser" tests/editor

vscode-extension/node_modules/.package-lock.json: vscode-extension/package-lock.json
	cd vscode-extension && npm ci --no-audit --no-fund

lint: setup ## ruff: rules and layout
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

format: setup ## let ruff lay the code out
	$(BIN)/ruff format $(SOURCES)

types: setup ## mypy, strict
	$(BIN)/mypy

pictures: setup vscode-extension/node_modules/.package-lock.json ## docs/pictures, from a real VS Code and the demo's report
	$(BIN)/python examples/demo.py softmax --out $(DEMO_DIR)
	cd vscode-extension && PYTHON=$(abspath $(BIN))/python npm run package
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python docs/pictures/make.py
	$(BIN)/python docs/pictures/package_map.py

docs: setup ## the pages of docs/issues
	$(BIN)/python docs/issue_pages.py

wheel: setup ## dist/*.whl
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist

clean: ## remove what was built, keep the environment
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis vscode-extension/bundled
	find engine server tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the environment as well
	rm -rf $(VENV) vscode-extension/node_modules
