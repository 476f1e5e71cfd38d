# Front door. Every target that compiles calls scons (see SConstruct).
#
#   make             build only, no root: build/tessera
#   make demo        install what is missing, build, map one GPT-3 6.7B layer onto a TPU-v4i
#   make test        install what is missing, build, run all tests (SUITES="unit spec": only these)
#   make bench       build the benchmarks and run BENCHES (bench/breadth and bench/vs-accelforge
#                    take long; see bench/README.md)
#   make install     into DESTDIR/PREFIX
#   make deps clean format tidy
#
# Settings: BUILD=dir CXX=clang++ WERROR=1 SANITIZE=address,undefined VERBOSE=1

comma := ,
BUILD ?= build$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))
PREFIX ?= /usr/local
DESTDIR ?=
SUITES ?=
BENCHES ?= tile_shapes evaluate_speed chains paper

# -jN of make is handed on; without it scons uses every core.
jobs = $(or $(patsubst -j%,%,$(filter -j%,$(MAKEFLAGS))),$(shell nproc))
settings = BUILD=$(BUILD) $(if $(filter-out default,$(origin CXX)),CXX='$(CXX)') \
	$(if $(WERROR),WERROR=$(WERROR)) $(if $(SANITIZE),SANITIZE=$(SANITIZE)) \
	$(if $(VERBOSE),VERBOSE=$(VERBOSE))
# A failed build says which packages are missing, in case that is the cause.
scons = scons -Q -j$(jobs) $(settings)
build = $(scons) $(1) || { tools/deps --check; exit 1; }

sources = $(shell git ls-files -co --exclude-standard -- '*.cpp' '*.hpp')

.PHONY: all deps demo test bench install clean format tidy

all:
	@$(call build,)

deps:
	@tools/deps

demo: deps
	@$(call build,)
	$(BUILD)/tessera map -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=2048 --metric edp \
		-o runs/gpt3-6.7b --force

test: deps
	@$(call build,program tests)
	@tools/run-tests $(BUILD) $(SUITES)

bench: deps
	@$(call build,program benches)
	@set -e; for b in $(BENCHES); do echo "== $$b"; $(BUILD)/bench/$$b; done

install:
	@$(call build,)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include \
		$(DESTDIR)$(PREFIX)/share/tessera
	install -m 755 $(BUILD)/tessera $(DESTDIR)$(PREFIX)/bin/
	ln -sf tessera $(DESTDIR)$(PREFIX)/bin/timeloop-mapper
	ln -sf tessera $(DESTDIR)$(PREFIX)/bin/timeloop-model
	install -m 644 $(BUILD)/libtessera.a $(DESTDIR)$(PREFIX)/lib/
	cp -R include/tessera $(DESTDIR)$(PREFIX)/include/
	cp -R arch-specs problem-shapes timeloop-shapes $(DESTDIR)$(PREFIX)/share/tessera/

clean:
	rm -rf $(BUILD)

format:
	clang-format -i $(sources)

tidy:
	@$(call build,compdb)
	printf '%s\n' $(filter %.cpp,$(sources)) | xargs -P $(jobs) -n 4 clang-tidy --quiet -p $(BUILD)
