# The project's own commands; each sets up what it needs by itself (see tools/bootstrap).

BUILD := build
VENV  := .venv
BIN   := $(VENV)/bin
# Tests start programs that would ask this make for jobs, rustc for one; and they start Python hundreds
# of times, which compiles every module each time unless it may keep what it compiled.
PYTEST := env -u MAKEFLAGS -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest
ENGINE_SOURCES := $(shell find engine alloc cmake -type f -not -path '*/tests/*') CMakeLists.txt
TEST_SOURCES := $(shell find engine/tests alloc/tests -type f)

# ninja cannot use make's job server, which only recipes that call make are given.
CMAKE_BUILD := env -u MAKEFLAGS $(BIN)/cmake --build

.DEFAULT_GOAL := run
.PHONY: run build docs test test-python test-engine check test-sanitized engine-sanitized alloc-sanitized fuzz soak mutants test-gpu test-arm fast lint format bench schema site release lock clean testbed test-testbed test-testbed-inside inside-compiled inside-first inside-second wheels offline test-install

# A machine that was set up to develop measures with that build.
run: $(if $(wildcard $(BUILD)/.environment),$(BUILD)/.installed,$(BUILD)/.measures) ## Measure this machine's memory and show it
	$(BIN)/tierscope run quick
	@command -v tierscope >/dev/null || echo "tierscope without its path, in this shell: export PATH=$(abspath $(BIN)):\$$PATH" >&2

$(BUILD)/.measures: tools/bootstrap tools/lock.txt pyproject.toml $(ENGINE_SOURCES)
	@tools/bootstrap --measure $(VENV) $(BUILD)/engine
	@touch $@

build: $(BUILD)/.installed ## System packages, virtual environment, engine

# System packages and the virtual environment with everything that builds, tests and lints.
$(BUILD)/.environment: tools/bootstrap tools/lock.txt pyproject.toml
	tools/bootstrap $(VENV)
	@mkdir -p $(BUILD) && touch $@

# The engine and the package; --no-build-isolation keeps the build folder, so it is incremental.
$(BUILD)/.installed: $(BUILD)/.environment $(ENGINE_SOURCES) | $(BUILD)/compile_commands.json
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
	  --config-settings=cmake.define.TIERSCOPE_CUDA=ON --config-settings=cmake.define.TIERSCOPE_TESTS=ON --editable .
	@touch $@

# Each file's command: for clangd, which finds it here, and for clang-tidy. Targets that share a source
# each have a command for it, and clang-tidy would obey them all.
ONE_COMMAND_EACH := import json, sys; json.dump([*{one["file"]: one for one in json.load(sys.stdin)[::-1]}.values()], sys.stdout)
$(BUILD)/compile_commands.json: $(BUILD)/.environment CMakeLists.txt $(wildcard cmake/*)
	@$(BIN)/cmake -G Ninja -S . -B $(BUILD)/commands -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DPython3_EXECUTABLE=$(abspath $(BIN))/python -DTIERSCOPE_TESTS=ON -DTIERSCOPE_UNITY=OFF > $(BUILD)/commands.log || { cat $(BUILD)/commands.log; exit 1; }
	@$(BIN)/python -c '$(ONE_COMMAND_EACH)' < $(BUILD)/commands/compile_commands.json > $@

# A change has to pass `make test`, `make lint` and `make check`. .ci/run calls all three; there the
# engine's tests run once, in the sanitized build.
TEST ?= tests
SOURCES_TESTED := $(filter %.cpp,$(TEST))
ENGINE_TESTS := $(if $(CI),,engine-tests alloc-tests alloc-sequences) gpu-tests
ifneq ($(SOURCES_TESTED),)
  ENGINE_TESTS := $(sort $(foreach one,$(SOURCES_TESTED),$(if $(filter alloc/%,$(one)),alloc-tests,$(if $(filter engine/tests/gpu/%,$(one)),gpu-tests,engine-tests))))
  # The dot is a parenthesis.
  SUITES = $(shell sed -nE 's/^(TYPED_)?TEST(_[FP]|_SUITE)?.(\w+).*/*\3.*/p' $(SOURCES_TESTED) | sort -u | paste -sd:)
endif
test: $(if $(SOURCES_TESTED)$(filter tests,$(TEST)),test-engine) $(if $(SOURCES_TESTED),,test-python) ## The engine's tests and Python's; TEST=tests/kinds or TEST=engine/tests/kernel_test.cpp: those

# Sanitizers, fuzzing and Arm keep one CPU busy each, the virtual machines two.
check: $(BUILD)/.installed ## What takes another build or machine: sanitizers, Valgrind, fuzzing, Arm, a virtual machine
	@$(MAKE) --no-print-directory -j2 --output-sync=target test-sanitized fuzz test-arm
	@$(MAKE) --no-print-directory test-testbed-inside

ARGUMENTS = $(if $(filter alloc-sequences,$(1)),--count 300,--gtest_brief=1$(if $(SUITES), --gtest_filter='$(SUITES)'))
test-engine: $(BUILD)/.tests $(BUILD)/.programs
	$(foreach one,$(ENGINE_TESTS),$(BUILD)/engine/$(one) $(call ARGUMENTS,$(one)) &&) true

# One ninja at a time may work in a build folder, so all test programs are built here. For some suites
# of the engine the package need not be installed again.
BUILT := $(wildcard $(BUILD)/engine/build.ninja)
$(BUILD)/.tests: $(if $(and $(SOURCES_TESTED),$(BUILT)),,$(BUILD)/.installed) $(ENGINE_SOURCES) $(TEST_SOURCES)
	$(CMAKE_BUILD) $(BUILD)/engine --target $(sort $(ENGINE_TESTS) alloc-sequences fake-gpu-engine)
	@$(if $(CI)$(SOURCES_TESTED),,touch $@)

fast: $(BUILD)/.installed ## What the change since BASE touches, in a minute: format, types, the nearest tests
	$(BIN)/python tools/fast.py $(BASE)

lock: $(BUILD)/.environment ## Write versions and hashes of what pyproject.toml asks for; UPGRADE=--upgrade: the newest
	PIP_CONSTRAINT=tools/lock.txt $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --group lock
	PATH=$(BIN):$$PATH $(BIN)/python tools/lock.py $(UPGRADE)

# The GPU part is tested by gpu-tests and on GPUs. The installed build comes first because it builds
# jemalloc for all.
SANITIZED = engine-tests alloc-tests alloc-sequences $(FUZZED)
$(BUILD)/.sanitized: $(BUILD)/.environment $(BUILD)/.clang $(ENGINE_SOURCES) $(TEST_SOURCES) | $(BUILD)/.installed
	@$(BIN)/cmake -G Ninja -S . -B $(BUILD)/sanitized -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTIERSCOPE_CUDA=OFF \
	  -DTIERSCOPE_TESTS=ON -DTIERSCOPE_SANITIZE=ON > $(BUILD)/sanitized.log || { cat $(BUILD)/sanitized.log; exit 1; }
	$(CMAKE_BUILD) $(BUILD)/sanitized --target $(SANITIZED)
	@touch $@

# The thread sanitizer goes with no other, so what threads share has a build for it. Valgrind runs one
# thread at a time; --fair-sched has each get its turn.
$(BUILD)/.sanitized-threads: $(BUILD)/.environment $(BUILD)/.clang $(ENGINE_SOURCES) $(TEST_SOURCES) | $(BUILD)/.installed
	@$(BIN)/cmake -G Ninja -S . -B $(BUILD)/sanitized-threads -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTIERSCOPE_CUDA=OFF \
	  -DTIERSCOPE_TESTS=ON -DTIERSCOPE_SANITIZE_THREADS=ON > $(BUILD)/sanitized-threads.log || { cat $(BUILD)/sanitized-threads.log; exit 1; }
	$(CMAKE_BUILD) $(BUILD)/sanitized-threads --target alloc-sequences shared-index-tests
	@touch $@

# Plugins of hwloc, which come with other packages (Open MPI's, for one), leave memory behind: none is
# loaded where leaks are looked for.
VALGRIND := valgrind --quiet --error-exitcode=1 --fair-sched=yes
test-sanitized: engine-sanitized alloc-sanitized ## The engine's and the allocator's tests under ASan and UBSan, TSan, Valgrind
engine-sanitized: $(BUILD)/.sanitized $(BUILD)/.sanitized-threads $(BUILD)/.programs
	HWLOC_PLUGINS_PATH=$(BUILD) $(BUILD)/sanitized/engine-tests --gtest_brief=1
	$(BUILD)/sanitized-threads/shared-index-tests --gtest_brief=1

alloc-sanitized: $(BUILD)/.sanitized $(BUILD)/.sanitized-threads $(BUILD)/.tests $(BUILD)/.valgrind
	$(BUILD)/sanitized/alloc-tests --gtest_brief=1
	$(BUILD)/sanitized/alloc-sequences --count 200
	$(BUILD)/sanitized-threads/alloc-sequences --count 200
	$(VALGRIND) $(BUILD)/engine/alloc-sequences --count 20

# System packages that only some tests need: a browser that opens reports, compilers, programs that
# recipes run.
$(BUILD)/.browser $(BUILD)/.arm $(BUILD)/.clang $(BUILD)/.rust $(BUILD)/.valgrind $(BUILD)/.programs $(BUILD)/.portable: $(BUILD)/.%: tools/bootstrap
	tools/bootstrap --$*
	@mkdir -p $(BUILD) && touch $@

# Many tests wait, so there are more processes than CPUs, up to eight.
WORKERS = $(shell echo $$(($$(nproc) < 4 ? 2 * $$(nproc) : 8)))
test-python: $(BUILD)/.tests $(BUILD)/.browser $(BUILD)/.rust $(BUILD)/.programs
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not gpu and not testbed and not soak" $(TEST)

FUZZ_SECONDS ?= 12
FUZZED := fuzz-plan fuzz-manifest fuzz-answer fuzz-rules
fuzz: $(FUZZED) ## Feed parsers malformed plans, manifests of files, answers of servers, rules of the allocator
$(FUZZED): fuzz-%: $(BUILD)/.sanitized
	@mkdir -p $(BUILD)/corpus-$*
	$(BUILD)/sanitized/$@ -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 \
	  $(BUILD)/corpus-$* $(wildcard engine/tests/$*s alloc/tests/$*)

# What is too long for every change: malformed plans and manifests for half an hour each, a thousand
# attempts at files of others, ten thousand sequences of the allocator's calls in each way, twenty
# times the examples of every property, the simulations of many thousand runs, 500 killed writers of
# persistent memory, mutants of the code, and 200 kills of tiering, each at another step.
SOAK_SECONDS ?= 1800
SOAK_SEQUENCES := --seed 1000 --count 10000
soak: $(BUILD)/.tests $(BUILD)/.browser $(BUILD)/.sanitized $(BUILD)/.sanitized-threads $(BUILD)/.valgrind $(BUILD)/.programs testbed ## The same tests as in CI, for hours instead of minutes
	$(MAKE) -j $(words $(FUZZED)) --output-sync=target fuzz FUZZ_SECONDS=$(SOAK_SECONDS)
	TIERSCOPE_HOSTILE_ATTEMPTS=1000 $(BUILD)/engine/engine-tests --gtest_brief=1 --gtest_filter='HostileFiles.*'
	$(BUILD)/engine/alloc-sequences $(SOAK_SEQUENCES)
	$(BUILD)/sanitized/alloc-sequences $(SOAK_SEQUENCES)
	$(BUILD)/sanitized-threads/alloc-sequences $(SOAK_SEQUENCES)
	$(VALGRIND) $(BUILD)/engine/alloc-sequences $(SOAK_SEQUENCES)
	$(PYTEST) -m "not gpu and not testbed" --hypothesis-profile=soak tests
	$(BIN)/tierscope pmem-check /dev/shm --kills 500
	$(MAKE) mutants
	testbed/run -t 5400 -- $(PYTEST) -m "testbed and soak" tests/testbed/inside

# Another sample each time; MUTANTS="--seed N" repeats one, MUTANTS=src/tierscope/runs/read.py tries one module.
MUTANTS ?= --each 5 --least 0.65
mutants: $(BUILD)/.tests ## Change the code at random, and show which changes no test notices
	$(BIN)/python tools/mutants.py $(MUTANTS)

testbed: $(BUILD)/.installed ## What the virtual machines need: packages and kernels, once
	testbed/setup

# An emulated machine keeps one CPU busy, so two of them boot and share the tests.
INSIDE := tests/testbed/inside
HALF := $(patsubst %,$(INSIDE)/test_%.py,arrays coherent_tiers core_latency_homes cxlbench_files destroy_data \
  faulty_drives lost_writes persist_on_tiers persistent_targets stream_places tier_hot_plug tier_restored)
IN_TESTBED := testbed/run -t 3000 -- $(PYTEST) -m "testbed and not soak" -p no:cacheprovider

test-testbed-inside: testbed inside-compiled $(BUILD)/.programs ## All tests that run inside the virtual machine
	@$(MAKE) --no-print-directory -j2 --output-sync=target inside-first inside-second

# Python compiles here what it would compile in the guests, where it takes its time.
inside-compiled: $(BUILD)/.tests
	@$(BIN)/python -m compileall -q src
	@$(PYTEST) --collect-only -qq -p no:cacheprovider $(INSIDE) > $(BUILD)/inside.log || { cat $(BUILD)/inside.log; exit 1; }

inside-first:
	$(IN_TESTBED) $(HALF)

inside-second:
	$(IN_TESTBED) $(INSIDE) $(addprefix --ignore=,$(HALF))

test-testbed: test-testbed-inside ## Those, the other machines, and testbed/run itself
	$(PYTEST) -m "testbed and not soak" --ignore tests/testbed/inside tests/testbed

# The kernels and what they rest on, on two kinds of Arm CPU: with SVE and without.
test-arm: $(BUILD)/.environment $(BUILD)/.arm ## Cross-build for aarch64, test under qemu's user emulation
	@$(BIN)/cmake -G Ninja -S engine/tests/arm -B $(BUILD)/arm -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja > $(BUILD)/arm.log || { cat $(BUILD)/arm.log; exit 1; }
	$(CMAKE_BUILD) $(BUILD)/arm
	aarch64-linux-gnu-objdump -d -C --no-show-raw-insn $(BUILD)/arm/kernel-tests | $(BIN)/python tools/check_streaming_stores.py
	qemu-aarch64 -cpu max $(BUILD)/arm/kernel-tests --gtest_brief=1
	qemu-aarch64 -cpu cortex-a57 $(BUILD)/arm/kernel-tests --gtest_brief=1

# On a GPU machine without internet: install the wheel there, then `make test-gpu PYTHON=python3`.
PYTHON ?= $(BIN)/python
test-gpu: $(if $(filter $(BIN)/python,$(PYTHON)),$(BUILD)/.installed) ## On a machine with NVIDIA GPUs
	$(PYTHON) -m pytest -m gpu tests/gpu

wheels: $(BUILD)/.environment $(BUILD)/.portable ## Wheels in dist/ for any Linux of glibc 2.28 or newer, x86-64 and Arm
	tools/wheel x86_64 dist
	tools/wheel aarch64 dist

offline: wheels ## Archives in dist/ that install tierscope without a network, one for each Python and machine
	$(BIN)/python tools/offline.py dist $(BUILD)/offline

test-install: offline ## As root: install the wheels in bare Debian 11, 12 and 13 and measure there
	tools/test-install dist

# These headers are most of what clang-tidy reads. As a module it parses them once, not for each file.
PRELUDE := $(abspath $(BUILD))/lint/prelude
PRELUDE_ONCE := $(addprefix -extra-arg=,-include$(PRELUDE).h -fmodules -fcxx-modules \
  -fno-implicit-module-maps -fmodule-map-file=$(PRELUDE).modulemap -fmodules-cache-path=$(PRELUDE))

lint: $(BUILD)/.installed $(BUILD)/compile_commands.json ## Complain precisely; `make format` mends what can be mended
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.11 testbed/run testbed/*.py
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/check_layout.py
	$(BIN)/python tools/check_includes.py
	@$(BIN)/clang-format --dry-run --Werror $(shell git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' '*.c')
	@mkdir -p $(BUILD)/lint
	@printf '#ifdef __cplusplus\n#include <fmt/format.h>\n#include <nlohmann/json.hpp>\n#endif\n' > $(PRELUDE).h
	@echo 'module prelude [system] { header "$(PRELUDE).h" export * }' > $(PRELUDE).modulemap
	$(BIN)/python $(BIN)/run-clang-tidy.py -clang-tidy-binary $(BIN)/clang-tidy -p $(BUILD) $(PRELUDE_ONCE) -quiet -j $(shell nproc) '/(engine/(?!tests/).*\.cpp|alloc/[^/]*\.c)$$' > $(BUILD)/tidy.log 2>&1 || { grep -E 'error|warning|note' $(BUILD)/tidy.log; exit 1; }

format: $(BUILD)/.environment
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(shell git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' '*.c')

bench: $(BUILD)/.installed ## Paired with the peers, in one run
	$(BIN)/python bench/run.py

docs: $(BUILD)/.installed ## Write docs/cli.md's description of commands, and manual pages, from the options
	$(BIN)/python -m tierscope.cli.reference docs/cli.md
	$(BIN)/python -m tierscope.cli.manual share/man/man1

schema: $(BUILD)/.installed ## Write the protocol's JSON Schemas from the models
	$(BIN)/python -m tierscope.kinds.schema

# A link that leads nowhere ends it. The pages need no server: build/site/index.html opens in a browser.
site: $(BUILD)/.environment ## The documentation as pages, with search, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

release: $(BUILD)/.installed ## Test all, then dist/: wheels, archives, sdist, SBOM, checksums; docs/releases.md
	$(BIN)/python tools/release.py check
	$(MAKE) lint test check
	rm -rf dist
	$(MAKE) offline
	$(BIN)/python -c "from scikit_build_core.build import build_sdist; build_sdist('dist')"
	$(BIN)/python tools/release.py finish dist

clean:
	rm -rf $(BUILD) dist
