# The front door. Everything else is CMakeLists.txt and tool/.
#   make demo         installs what is missing, builds, tunes MobileNetV2, checks the answer, writes the report
#   make check        installs what is missing, builds, lints, runs the tests; ends with ctest's summary
#   make all          builds into build/          make quick    offline subset of the tests
#   tool/quick_on_targets.sh   the quick tests as on each machine of test/targets
#   make check-full   also sanitizers, fuzzers, clang-tidy, cppcheck, the long tests
#   make check-onnx   the ONNX project's own tests (test/conform); those known not to pass are listed there
#   make check-gpu    every test of kernels for GPUs, the long ones too; no device is needed (tool/check_gpu.sh);
#                     INTEL=1 installs Intel's OpenCL as a second judge, 0.8 GB in .venv-intel
#   make check-safety   10,000 damaged ONNX files, damaged records, weights and plans; plain and sanitized (tool/check_safety.sh)
#   make check-threads   ThreadSanitizer over what has threads, and a tuning under it (tool/check_threads.sh)
#   make check-kill   kill -9 of the tuner and of its workers, 100 times each (test/safety/kill9.py), of runners on GPUs
#                     (kill_runners.py, on OpenCL and on CUDA's stand-in); devices that
#                     die, hang, answer nonsense or are slow, 20 times each (test/safety/devices.py); what befalls a
#                     fleet, 20 times each (test/safety/fleet.py)
#   make fuzz         every fuzzer for FUZZ_SECONDS, under sanitizers (tool/fuzz.sh)
#   make replay BASE=REVISION   code of a few thousand schedules, before and after (tool/replay.sh)
#   make soak         half an hour of tuning, in which the tuner's memory must not grow (test/safety/soak.py)
#   make bench        networks after a tuning against their parts, an earlier familyseer and peers: hours (bench/bench_networks.py)
#   make study | study-quick   the paper's studies on a table of measured times: TABLE=times.gz STUDY=folder; half an hour to two hours, a quarter of that (doc/study.md)
#   make models       the cost models that come with the program, from the tables of bench/tables (tool/models.sh)
#   make check-operators   random cases of every operator, and random graphs, against ONNX Runtime; the smallest that fails: CASES, GRAPHS, SEED, KEEP (test/differential)
#   make check-faults   planted faults, one at a time: which test sees which (test/faults): ONLY, WORK, JOBS
#   make check-exports   networks exported from torchvision, timm and transformers (test/peer/exports.py, attention_networks.py)
#   make check-torch   torch.compile's backend: what a program may do between two calls, and those networks through it
#   make check-report   reports in a browser: widths, light, dark and paper; SHOTS=folder keeps pictures (tool/report_check.py)
#   make site         README and doc/ as static pages, build/site/html/index.html (tool/site/make.py)
#   make check-site   those in a browser: widths, light and dark; SHOTS=folder keeps pictures (tool/site/check.py)
#   make portable     the program as one archive for x86-64 machines on which nothing is installed (tool/portable.sh)
#   make wheel        a Python wheel for x86-64 machines with glibc 2.28 or later, all but libc inside (tool/wheel.sh)
#   make deb          two packages for the Debian that this is, looked at by lintian (tool/deb.sh)
#   make check-wheel  that wheel as who installs it has it, where nothing else is installed (tool/check_wheel.sh)
#   make gpu-day      what only a GPU can judge, asked of the one that is here, SECONDS=1500 at most (tool/gpu_day.sh, doc/gpu.md)
#   make lint | format | docs | deps | install PREFIX=/usr/local
# Variables: BUILD (folder), TYPE (RelWithDebInfo, Debug, Release), SANITIZER (address,undefined), CC, JOBS (of the build), TESTS (at once).
BUILD ?= build
TYPE ?= RelWithDebInfo
SANITIZER ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
CASES ?= 8000
GRAPHS ?= 2000
SEED ?= 1
TABLE ?= bench/tables/x86_64-512-l2_1024k.gz
STUDY ?= $(BUILD)/study
# One test more than there are processors: some wait most of their time, for workers and for time limits.
TESTS ?= $(shell expr $(JOBS) + 1)
CTEST := ctest --test-dir $(BUILD) --output-on-failure -j $(TESTS)

.PHONY: all deps demo quick check check-full check-gpu check-onnx check-operators check-faults check-safety check-kill check-threads soak fuzz replay check-exports lint format docs bench study study-quick models check-torch check-report portable wheel deb site check-site check-wheel gpu-day install configure clean
.DEFAULT_GOAL := all
# The recipes below depend on each other in order (deps before all before lint).
.NOTPARALLEL:

all: configure
	@ninja -C $(BUILD) -j $(JOBS)

configure:
	@[ -f $(BUILD)/build.ninja ] || cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=$(TYPE) \
	  -DSANITIZER=$(SANITIZER) -DCMAKE_INSTALL_PREFIX=$(PREFIX)

deps:
	@tool/deps.sh

demo: deps all
	@tool/demo.sh

quick: all
	@$(CTEST) -L quick -LE full

check: deps all lint
	@tool/deps.sh gpu
	@$(CTEST) -LE full

check-full: check
	@tool/deps.sh cross
	@tool/check_full.sh $(FUZZ_SECONDS)

check-gpu: deps all
	@tool/deps.sh gpu-full
	@[ -z "$(INTEL)" ] || tool/deps.sh intel-opencl
	@tool/check_gpu.sh $(BUILD)

check-threads: deps
	@tool/check_threads.sh

check-onnx: deps all
	@tool/python.sh test/conform/conform.py --jobs $(JOBS)

check-operators: deps all
	@FAMILYSEER=$(abspath $(BUILD))/familyseer tool/python.sh test/differential/run.py --cases $(CASES) --graphs $(GRAPHS) --seed $(SEED) --jobs $(JOBS) $(if $(KEEP),--keep $(KEEP))

# In a copy of the tree, with a build folder of its own. About half a minute a fault on two quiet cores.
WORK ?= $(BUILD)/faults
ONLY ?=
check-faults: deps
	@tool/python.sh test/faults/run.py --work $(WORK) --only "$(ONLY)" --jobs $(JOBS) --out $(WORK)/faults.json

check-safety: deps all
	@tool/check_safety.sh

check-kill: all
	@FAMILYSEER=$(abspath $(BUILD))/familyseer python3 test/safety/kill9.py
	@FAMILYSEER=$(abspath $(BUILD))/familyseer python3 test/safety/devices.py
	@FAMILYSEER=$(abspath $(BUILD))/familyseer python3 test/safety/kill_runners.py --target mock --network mlp
	@FAMILYSEER=$(abspath $(BUILD))/familyseer python3 test/safety/kill_runners.py --if-there
	@FAMILYSEER=$(abspath $(BUILD))/familyseer python3 test/safety/fleet.py

soak: all
	@FAMILYSEER=$(abspath $(BUILD))/familyseer python3 test/safety/soak.py

fuzz: deps
	@tool/fuzz.sh $(FUZZ_SECONDS)

replay: all
	@tool/replay.sh $(BASE)

models: all
	@tool/models.sh

check-exports: deps all
	@tool/deps.sh exports
	@cd test/peer && FAMILYSEER=$(abspath $(BUILD))/familyseer $(CURDIR)/.venv-exports/bin/python exports.py && \
	  FAMILYSEER=$(abspath $(BUILD))/familyseer $(CURDIR)/.venv-exports/bin/python attention_networks.py

check-torch: deps all
	@tool/deps.sh exports
	@cd test/peer && ../../.venv-exports/bin/python torch_backend.py && ../../.venv-exports/bin/python torch_generate.py && \
	  ../../.venv-exports/bin/python torch_networks.py $(NETWORKS)

check-report: deps all
	@tool/deps.sh browser
	@FAMILYSEER=$(abspath $(BUILD))/familyseer tool/report_check.py $(if $(SHOTS),--shots $(SHOTS))

lint: all
	@tool/lint.sh $(BUILD)

format:
	@tool/sources.sh | xargs tool/wrap.py
	@tool/sources.sh | xargs clang-format-14 -i

# Text that is generated from tables; lint and test_front_operators_doc check that it is up to date.
docs: all
	@$(BUILD)/test/test_front_operators_doc --print > $(BUILD)/operators.md && cp $(BUILD)/operators.md doc/operators.md
	@$(BUILD)/tool_options > doc/options.md
	@$(BUILD)/tool_isa > $(BUILD)/isa.inc && cp $(BUILD)/isa.inc src/setup/isa.inc

# BENCH_NETWORKS, BENCH_BUDGET, BENCH_PEERS, ...: bench/bench_networks.py. PyTorch, 6 GB, only for whom it is a peer.
bench: deps all
	@tool/deps.sh bench
	@case ",$(BENCH_PEERS)," in *,inductor,*) tool/deps.sh inductor ;; esac
	@tool/bench.sh

# All policies, each with three seeds, with the published rounds and 256 trials a task.
# A quarter of the trials in rounds of 16, a quarter of the samples; STUDY_SIZE= for what the paper's policies have by default, a night.
STUDY_SIZE ?= --trials-a-task 64 --round-size 16 --samples 64
study: all
	@$(BUILD)/familyseer study all $(TABLE) -o $(STUDY) $(STUDY_SIZE)

# Two of the networks.
QUICK_NETWORKS ?= resnet18,mobilenet_v2
study-quick: all
	@$(BUILD)/familyseer study all $(TABLE) -o $(STUDY) --networks $(QUICK_NETWORKS) $(STUDY_SIZE)

portable: deps all
	@tool/portable.sh $(BUILD)

wheel: deps
	@tool/wheel.sh $(BUILD)

deb: deps all
	@tool/deps.sh deb
	@tool/deb.sh $(BUILD)

site: deps
	@tool/deps.sh site
	@.venv-site/bin/python tool/site/make.py $(BUILD)/site

check-site: site
	@tool/deps.sh browser
	@tool/site/check.py $(BUILD)/site/html $(if $(SHOTS),--shots $(SHOTS))

check-wheel: wheel
	@tool/check_wheel.sh $(BUILD)

SECONDS ?= 1500
gpu-day: deps all
	@tool/gpu_day.sh $(BUILD) $(SECONDS)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@rm -rf $(BUILD)
