# Front door. Every target that compiles calls scons (see SConstruct).
#
#   make             build only, no root: build/tessera
#   make demo        install what is missing, build, map one GPT-3 6.7B layer onto a TPU-v4i
#   make test        install what is missing, build, run all tests (SUITES="unit spec": only these;
#                    JUNIT=DIR: reports for other tools)
#   make check       the tests that are quick, less than a minute once they are built
#   make fuzz        FUZZ random inputs for every reader, under sanitizers (a build of its own)
#   make bench       build the benchmarks and run BENCHES (bench/breadth and bench/vs-accelforge
#                    take long; see bench/README.md)
#   make reproduce   what the papers' evaluations say, beside ours: docs/reproduction.md (hours);
#                    QUICK=1: all of it in a short form (minutes). One paper of them:
#   make reproduce-transfusion   the figures of TransFusion's evaluation
#   make reproduce-fusecu        the figures of FuseCU's evaluation
#   make reproduce-mind-mappings the evaluation of Mind Mappings (an hour and more)
#   make reproduce-ffm           figures of the FFM paper's evaluation
#   make comparison  every mapper on docs/comparison/instances.yaml: docs/comparison/report.html
#                    (SEEDS=5 LIMIT="--max-time 5s"; two hours)
#   make install     into DESTDIR/PREFIX; PLUGINS=loaded: every built-in a shared object
#   make uninstall   what the same DESTDIR and PREFIX were given by `make install`
#   make dist        BUILD/tessera-VERSION.tar.gz, the sources of the last commit
#   make deb         BUILD/tessera_VERSION_ARCHITECTURE.deb, a Debian package
#   make deps clean format tidy
#
# Settings: BUILD=dir CXX=clang++ WERROR=1 SANITIZE=address,undefined VERBOSE=1
#           DEBUG=1 (debug information) PRECOMPILED=0 (see SConstruct)

comma := ,
BUILD ?= build$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))
PREFIX ?= /usr/local
DESTDIR ?=
PLUGINS ?= linked
SUITES ?=
BENCHES ?= tile_shapes evaluate_speed chains paper

# -jN of make is handed on; without it scons uses every core.
jobs = $(or $(patsubst -j%,%,$(filter -j%,$(MAKEFLAGS))),$(shell nproc))
settings = BUILD=$(BUILD) $(if $(filter-out default,$(origin CXX)),CXX='$(CXX)') \
	$(if $(WERROR),WERROR=$(WERROR)) $(if $(SANITIZE),SANITIZE=$(SANITIZE)) \
	$(if $(VERBOSE),VERBOSE=$(VERBOSE)) $(if $(DEBUG),DEBUG=$(DEBUG)) \
	$(if $(PRECOMPILED),PRECOMPILED=$(PRECOMPILED))
# A failed build says which packages are missing, in case that is the cause.
scons = scons -Q -j$(jobs) $(settings)
build = $(scons) $(1) || { tools/deps --check; exit 1; }

sources = $(shell git ls-files -co --exclude-standard -- '*.cpp' '*.hpp')

.PHONY: all deps demo test check soak fuzz fuzz-run bench install install-files uninstall clean format tidy reproduce reproduce-transfusion \
	reproduce-fusecu reproduce-mind-mappings reproduce-ffm comparison dist deb

all:
	@$(call build,)

deps:
	@tools/deps

demo: deps
	@$(call build,)
	$(BUILD)/tessera map -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=2048 --metric edp \
		-o runs/gpt3-6.7b --force

# Under a sanitizer without those suites that build plugins as users do, plain, and that limit the
# address space, of which a sanitizer takes most.
sanitized = $$(ls $(BUILD)/test | grep -vx -e install -e memory)

# Sweeps and comparisons fork, and their children start threads. Tests of interrupts measure how long
# a process takes to end, which is a second longer by default, and those of crashes its exit status.
export TSAN_OPTIONS ?= die_after_fork=0:atexit_sleep_ms=0:handle_segv=0
export ASAN_OPTIONS ?= handle_segv=0
export LSAN_OPTIONS ?= suppressions=$(CURDIR)/test/leaks.supp:print_suppressions=0

test: deps
	@$(call build,program tests)
	@tools/run-tests $(BUILD) $(or $(SUITES),$(if $(SANITIZE),$(sanitized)))

quick = rooms abi api error contract plugin-annealing plugin-cosa plugin-ddpg plugin-ffm \
	plugin-portfolio plugin-timeloop unit:1-4
check:
	@$(call build,program loaded $(patsubst %,test-%,$(filter-out unit:%,$(quick))) test-unit)
	@tools/run-tests $(BUILD) $(quick)

# Brute force against the search, and optima of transformed problems, on SOAK random problems each;
# the test suite has 2000 and 300 of them.
SOAK ?= 20000
soak: deps
	@$(call build,test-oracle test-transformation)
	TESSERA_SOAK=$(SOAK) $(BUILD)/test/oracle --run_test=ffm_is_optimal_in_the_whole_mapspace
	TESSERA_SOAK=$(SOAK) $(BUILD)/test/transformation

# Random inputs for every reader; the test suite has 400 of them, without sanitizers.
FUZZ ?= 50000
fuzz: deps
	@$(MAKE) --no-print-directory fuzz-run SANITIZE=address,undefined

fuzz-run:
	@$(call build,program test-fuzz)
	TESSERA_FUZZ=$(FUZZ) $(BUILD)/test/fuzz --log_level=error

bench: deps
	@$(call build,program benches)
	@set -e; for b in $(BENCHES); do echo "== $$b"; $(BUILD)/bench/$$b; done

# Figures 8 to 13 of the TransFusion paper, in runs/transfusion. See docs/transfusion.md.
reproduce-transfusion:
	@$(call build,$(BUILD)/bench/reproduce_transfusion $(BUILD)/bench/transfusion_common)
	$(BUILD)/bench/reproduce_transfusion runs/transfusion
	$(BUILD)/bench/transfusion_common . $(or $(FFM),0)

# Figures 9 to 11 of the FuseCU paper, in runs/fusecu. See docs/fusecu.md. Each search of figure 9 has
# 60 CPU seconds (84 searches), in the short form none is made.
reproduce-fusecu:
	@$(call build,$(BUILD)/bench/reproduce_fusecu)
	$(BUILD)/bench/reproduce_fusecu runs/fusecu test/reference/fusecu $(if $(QUICK),0,60)

# Figures 3 and 5 to 7a of the Mind Mappings paper, in runs/mind-mappings. See docs/learning.md.
reproduce-mind-mappings:
	@$(call build,program $(BUILD)/bench/reproduce_mind_mappings)
	$(BUILD)/bench/reproduce_mind_mappings \
		$(if $(QUICK),--folder runs/mind-mappings-quick --quick --seeds 2 --steps 1000 --ffm-seconds 5)

# What fusion is worth, and figures 8 to 13 of the FFM paper. See docs/comparison/README.md.
reproduce-ffm:
	@$(call build,program $(BUILD)/bench/reproduce_ffm $(BUILD)/bench/reproduce_ffm_edge)
	$(BUILD)/bench/reproduce_ffm $(if $(QUICK),--quick)
	$(BUILD)/bench/reproduce_ffm_edge $(if $(QUICK),--lengths 1024$(comma)4096)

# All of these. See docs/reproduction.md.
reproduce: reproduce-fusecu reproduce-transfusion reproduce-ffm reproduce-mind-mappings

# What each mapper finds within LIMIT, with SEEDS seeds. See docs/comparison/README.md. RESUME=1 goes on.
SEEDS ?= 5
LIMIT ?= --max-time 5s
comparison: deps
	@$(call build,program)
	$(BUILD)/tessera compare --instances docs/comparison/instances.yaml \
		--mapper "$$(paste -sd, docs/comparison/mappers.txt)" --seeds $(SEEDS) $(LIMIT) \
		-o runs/comparison $(if $(RESUME),--resume,--force) || [ $$? = 4 ]
	for file in report.html trials.csv; do \
		sed 's|$(CURDIR)/||g' runs/comparison/$$file >docs/comparison/$$file; done

# PREFIX/bin, PREFIX/lib, PREFIX/include, PREFIX/share/tessera; nothing there refers to the checkout.
install:
	@$(call build,$(if $(filter loaded,$(PLUGINS)),program loaded,program))
	@$(MAKE) --no-print-directory install-files

# Copies what is built, whatever its settings were.
install-files:
	@DESTDIR='$(DESTDIR)' tools/install '$(BUILD)' '$(PREFIX)' $(PLUGINS)

uninstall:
	@DESTDIR='$(DESTDIR)' tools/install --remove '$(PREFIX)'

dist:
	@tools/dist '$(BUILD)'

deb:
	@$(call build,program)
	@tools/deb '$(BUILD)'

clean:
	rm -rf $(BUILD)

format:
	clang-format -i $(sources)

tidy:
	@$(call build,compdb)
	printf '%s\n' $(filter %.cpp,$(sources)) | xargs -P $(jobs) -n 4 clang-tidy --quiet -p $(BUILD)
