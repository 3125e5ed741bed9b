# The project's own commands; each sets up what it needs by itself (see tools/bootstrap).

BUILD := build
VENV  := .venv
BIN   := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
ENGINE_SOURCES := $(shell find engine cmake -type f) CMakeLists.txt

.DEFAULT_GOAL := run
.PHONY: run build test test-python test-engine test-sanitized fuzz test-gpu lint format bench schema clean

run: $(BUILD)/.installed ## Measure this machine's memory and show it
	$(BIN)/tierscope run --profile quick

build: $(BUILD)/.installed ## System packages, virtual environment, engine

# System packages and the virtual environment with everything that builds, tests and lints.
$(BUILD)/.environment: tools/bootstrap pyproject.toml
	tools/bootstrap $(VENV)
	@mkdir -p $(BUILD) && touch $@

# The engine and the package; --no-build-isolation keeps the build folder, so it is incremental.
$(BUILD)/.installed: $(BUILD)/.environment $(ENGINE_SOURCES)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

test: test-engine test-sanitized test-python ## Everything that needs no GPU and no virtual machine

test-engine: $(BUILD)/.environment
	$(call cmake_build,tests,-DTIERSCOPE_TESTS=ON)
	$(BUILD)/tests/engine-tests --gtest_brief=1

# The sanitizers and nvcc's host code do not mix, and the GPU part needs a GPU to be tested anyway.
test-sanitized: $(BUILD)/.environment
	$(call cmake_build,sanitized,-DTIERSCOPE_TESTS=ON -DTIERSCOPE_SANITIZE=ON -DTIERSCOPE_CUDA=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	$(BUILD)/sanitized/engine-tests --gtest_brief=1

test-python: $(BUILD)/.installed
	$(PYTEST) -m "not gpu and not testbed" tests

FUZZ_SECONDS ?= 20
fuzz: $(BUILD)/.environment ## Feed the engine's plan parser malformed plans
	$(call cmake_build,fuzz,-DTIERSCOPE_FUZZ=ON -DTIERSCOPE_SANITIZE=ON -DTIERSCOPE_CUDA=OFF -DCMAKE_CXX_COMPILER=clang++)
	@mkdir -p $(BUILD)/fuzz/corpus
	$(BUILD)/fuzz/fuzz-plan -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 $(BUILD)/fuzz/corpus engine/tests/plans

test-gpu: $(BUILD)/.installed ## On a machine with NVIDIA GPUs
	$(PYTEST) -m gpu tests

define cmake_build
	@$(BIN)/cmake -G Ninja -S . -B $(BUILD)/$(1) -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DPython3_EXECUTABLE=$(abspath $(BIN))/python $(2) > $(BUILD)/$(1).log || { cat $(BUILD)/$(1).log; exit 1; }
	$(BIN)/cmake --build $(BUILD)/$(1)
endef

lint: $(BUILD)/.environment ## Complain precisely; `make format` mends what can be mended
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(shell git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' '*.c')
	$(call cmake_build,tests,-DTIERSCOPE_TESTS=ON)
	$(BIN)/python $(BIN)/run-clang-tidy.py -clang-tidy-binary $(BIN)/clang-tidy -p $(BUILD)/tests -quiet -j 2 '/engine/(?!tests/).*\.cpp$$' > $(BUILD)/tidy.log 2>&1 || { grep -E 'error|warning|note' $(BUILD)/tidy.log; exit 1; }

format: $(BUILD)/.environment
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(shell git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' '*.c')

bench: $(BUILD)/.installed ## Paired with the peers, in one run
	$(BIN)/python bench/run.py

schema: $(BUILD)/.installed ## Write the door's JSON Schemas from the models
	$(BIN)/python -m tierscope.model.schema

clean:
	rm -rf $(BUILD) dist
