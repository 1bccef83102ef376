# make demo     set-up, build, and the main job with explanations
# make test     set-up, build, C++ and Python tests
# make build    set-up and build; make help lists the rest
PY := .venv/bin/python
# Hundreds of processes import the package and the tests: each module is compiled once, and not in every one of them.
unexport PYTHONDONTWRITEBYTECODE
# Output is buffered in tests, as it is in most shells.
unexport PYTHONUNBUFFERED
TESTS ?= tests
# of pytest: some tests wait, and leave their processor to the others
JOBS ?= $(shell expr $$(nproc) + 1)
PROGRAMS ?= 10000
EVERY ?= 12

.DEFAULT_GOAL := help
.PHONY: help setup setup-checks setup-tests build demo test conformance packages fuzz breaks pythons smoke ulp bench site sanitize sanitize-quick sanitize-threads refleak mutate lint clean gpu

help:
	@echo "make demo      the main job, explained (installs what is needed first)"
	@echo "make test      every test (installs what is needed first)"
	@echo "make build     the compiled package, importable from .venv"
	@echo "make conformance  CPython's test modules, plain and with every function compiled; writes docs/conformance.md"
	@echo "make packages  the own tests of ten packages (downloaded), plain and with every function compiled"
	@echo "make fuzz      PROGRAMS=10000 more random programs, plain and compiled; adds a line to tests/fuzz/ledger"
	@echo "make breaks    the programs of all tests with breaks forced at every n-th place, n up to 12 (half an hour)"
	@echo "make pythons   the suite on the other Pythons found (3.12, 3.13); make smoke: smoke tests there"
	@echo "make bench     benchmarks, JSON to out/bench.json"
	@echo "make gpu       tests of GPU programs, predictions, and, with a card, its measurements, JSON to out/gpu.json"
	@echo "make site      the registry and the documentation as web pages, in out/site"
	@echo "make ulp       every float32 input of each unary function against libm, float64 against mpmath (an hour)"
	@echo "make sanitize  the examples under AddressSanitizer and UBSan"
	@echo "make sanitize-quick  as above, the tables, the graph and the frontend only: no machine code (six minutes)"
	@echo "make sanitize-threads  tests about threads and the examples under ThreadSanitizer (ten minutes after the build)"
	@echo "make refleak   the examples and every EVERY=12th test again and again: memory blocks must not grow (ten minutes)"
	@echo "make mutate    with any one op, opcode, graph break, guard, pass or alias fact disabled some test fails (half an hour)"
	@echo "make lint      formatting and static checks"

setup:
	@tools/setup

setup-tests: setup
	@tools/setup tests

setup-checks: setup
	@tools/setup checks

build: setup
	@tools/stage "C++ build" tools/build build -DMINIDYNAMO_TESTS=ON

demo: setup
	@tools/stage "C++ build" tools/build build -DMINIDYNAMO_TESTS=ON -- _C
	@tools/demo

test: build setup-tests
	@tools/stage "C++ tests" ctest --test-dir build --output-on-failure -j $$(nproc)
	@tools/stage "Python tests" $(PY) -m pytest -n $(JOBS) $(TESTS)
	@tools/stage "GPU tests" $(PY) -m pytest -n $(JOBS) tests/gpu

conformance: build
	@$(PY) tests/conformance/run.py $(MODULES)

packages: build
	@nice $(PY) tests/conformance/packages.py $(PACKAGES)

fuzz: build
	@nice $(PY) tests/fuzz/run.py --programs $(PROGRAMS)

breaks: build
	@MINIDYNAMO_BREAK_EVERY=12 nice $(PY) -m pytest -n $(JOBS) --timeout 900 tests/frontend/test_forced_breaks.py

pythons: build setup-checks setup-tests
	@tools/pythons

smoke: build setup-checks
	@tools/pythons smoke

ulp: build
	@cmake --build build --target ulp
	@nice build/tests/ulp
	@MINIDYNAMO_ULP_POINTS=1000000 nice $(PY) -m pytest -s -n 0 tests/ulp

gpu: build
	@MINIDYNAMO_CUDA_DRIVER=$$($(PY) -c 'import minidynamo as torch; print("libcuda.so.1" if torch.cuda.is_available() else "emulated")') \
	  $(PY) -m pytest -n $(JOBS) tests/gpu
	@mkdir -p out
	@$(PY) benchmarks/gpu_predicted.py
	@$(PY) benchmarks/gpu.py --out out/gpu.json

bench: build
	@mkdir -p out
	@$(PY) benchmarks/run --out out/bench.json

site: build
	@mkdir -p out
	@$(PY) -m minidynamo site out/site

sanitize: setup
	@tools/sanitize

sanitize-quick: setup-checks
	@tools/stage "sanitizers, quick" tools/sanitize quick

sanitize-threads: setup
	@tools/sanitize threads

refleak: build
	@$(PY) tools/refleak.py
	@REFLEAK_EVERY=$(EVERY) nice $(PY) -m pytest -p refleak_plugin -p no:logging -p no:unraisableexception -n $(JOBS) --timeout 900 tests/graph_breaks tests/guards tests/frontend tests/python

mutate: setup
	@$(PY) tools/mutate.py

lint: setup-checks
	@tools/stage lint tools/lint

clean:
	rm -rf build build-* out
