# expired: one Makefile for the whole tree, with tools/install.mk for what is installed and tests/long.mk for
# longer tests. It calls itself only to build a variant, or after tools/deps has installed packages.
#
#   make            builds ./expired             make test     runs the core of the tests
#   make run        serves 127.0.0.1:6379        make test-all runs all tests
#   make unit       runs the unit tests          make asan     the same under ASan and UBSan
#   make lint       all checks of the sources    make format   formats the sources
#   make install    PREFIX, DESTDIR, SYSCONFDIR  make uninstall  removes what install has installed
#   make deb        Debian packages (tools/install.mk)  make tools    builds build/tools/
#   make module     builds build/expired.so, for Redis and Valkey (tools/module.mk)
#   make clean      removes build/               make diff     N random programs against redis-server
#   make example    writes expired.conf.example  make reference  writes doc/commands/ and clients
#   make crash      crashes and failing disks    make service-test  the units, booted, as root
#   make soak       a mixed load for MINUTES     make fuzz     runs each fuzzer for FUZZ_SECONDS
#   make tidy       clang-tidy                   make coverage lines and branches by folder
#   make mutants    N faults, SEED               make tsan     threads, under ThreadSanitizer
#   make compile_commands.json   for editors
#   make bench      measures, and writes doc/performance.md and doc/durability.md. Prints a part of it
#                   with BENCH="set memory", ROUNDS=3, QUICK=1, BENCH_ARGS="--pipeline 16"
#
# MALLOC=jemalloc|libc   RUN_ARGS="--port 7000"   TESTS="build/tests/unit/store/struct/dict_test ..."   V=1

# Without make's own rules, which it would try for each source and header.
MAKEFLAGS += -r

PREFIX ?= /usr/local
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
# Expanded once: MALLOC is in the name of each target.
MALLOC := $(or $(MALLOC),$(if $(shell pkg-config --exists jemalloc 2>/dev/null && echo yes),jemalloc,libc))
JOBS := $(or $(JOBS),$(shell nproc 2>/dev/null || echo 2))
# Test programs at a time: many wait more than they compute.
TEST_JOBS ?= $(shell echo $$((2 * $(JOBS))))
CFLAGS ?= -O2 -g

# A variant lives in its own folder: object files, libraries, the daemon, tests and tools.
B ?= build$(if $(filter libc,$(MALLOC)),/libc)
# A make inside another shares the jobserver of a `make -j`. Recipes name $(MAKE) themselves, because
# make looks for that word before it lets a command use the jobserver.
PARALLEL = --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))

# The daemon and the module are optimized as a whole, where gcc builds them without sanitizers. For x86-64 gcc would
# fill structs with "rep stos", which a processor takes about 10 ns to begin, up to five times in a request.
FILL_x86_64 = -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign
FILL := $(FILL_$(shell uname -m))
LTO ?= $(if $(SANITIZE)$(filter-out cc gcc,$(CC)),,-flto=auto -ffat-lto-objects $(FILL))

WARNINGS = -Wall -Wextra -Wshadow -Wconversion $(WERROR)
BASE = -std=c11 -D_GNU_SOURCE -I. -pthread -fno-omit-frame-pointer $(LTO) $(SANITIZE)
COMPILE = $(CC) $(BASE) $(WARNINGS) $(CPPFLAGS) $(CFLAGS) $(OF_UNIT) -MMD -MP
LINK = $(call say,LD )mkdir -p $(@D) && $(CC) $(BASE) $(CFLAGS) $(LDFLAGS) $(PARTS) -o $@ $(filter %.o,$^)
MALLOC_LIBS = $(if $(filter jemalloc,$(MALLOC)),-ljemalloc)
# Debian builds cjson for Lua 5.1; it finds Lua's functions in LuaJIT, which has the same interface.
SCRIPT_LIBS = -llua5.1-cjson -lluajit-5.1
SERVER_LIBS = -levent_extra -levent_openssl -levent_core -llz4 $(SCRIPT_LIBS) -lssl -lcrypto
DAEMON_LIBS = $(MALLOC_LIBS) $(SERVER_LIBS) -lm
CHECK_LIBS := $(shell pkg-config --libs check 2>/dev/null || echo -lcheck)
SANITIZERS = address,undefined
# One short line per file, none under -s; the commands themselves with V=1.
say = $(if $(V),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,echo "  $(1) $@";))

# ---- what there is ----

sources = $(foreach d,$(1),$(wildcard $d/*.c $d/*/*.c $d/*/*/*.c $d/*/*/*/*.c))
MODULE_SRC := $(call sources,server/module)
SERVER_SRC := $(filter-out $(MODULE_SRC),$(call sources,server))
UNIT_SRC := $(filter %_test.c,$(call sources,tests/unit))
SUPPORT_SRC := $(wildcard tests/support/*.c)
TOOL_SRC := $(wildcard tools/*.c tools/bench/*.c)
TOOL_LIB_SRC := $(wildcard $(patsubst %,tools/%/*.c,lib files manual reference bench/load))
INSTALLED_TOOLS := expired-check expired-export
FUZZ_SRC := $(wildcard tests/fuzz/*_fuzz.c)
LIB_SRC := $(call sources,proto conf store)
OTHER_SRC := $(UNIT_SRC) $(wildcard tests/*/*.c tests/sim/kernel/*.c tools/*/*.c)
ALL_SRC := $(sort $(LIB_SRC) $(SERVER_SRC) $(MODULE_SRC) $(TOOL_SRC) $(TOOL_LIB_SRC) $(OTHER_SRC))
HEADERS := $(sort $(foreach d,proto conf store server tools tests tests/unit tests/unit/server,\
    $(wildcard $d/*.h $d/*/*.h $d/*/*/*.h $d/*/*/*/*.h)))
E2E := $(sort $(wildcard tests/e2e/*/test_* tests/crash/test_* tests/sim/test_*))
NOT_CORE := $(sort $(wildcard $(shell grep -v '^\#' tests/not_core)))

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
PROTO = $(B)/libproto.a
CONF = $(B)/libconf.a
STORE = $(B)/libstore.a
BOTTOM = $(B)/libbottom.a
DISK = $(B)/libdisk.a
SUPPORT = $(B)/libsupport.a
TOOL_LIB = $(B)/libtool.a
SERVER = $(filter-out %/main.o,$(call obj,$(SERVER_SRC)))
UNIT = $(patsubst %.c,$(B)/%,$(UNIT_SRC))
TOOLS = $(patsubst %.c,$(B)/%,$(TOOL_SRC))
FUZZERS = $(patsubst %.c,$(B)/%,$(FUZZ_SRC))

.DELETE_ON_ERROR .SECONDARY:
.PHONY: all expired installed tools run unit test test-all lint format clean example reference
.PHONY: objects tests-built test-here test-core bench tidy coverage compile_commands.json

all: expired installed

# ---- building ----

expired: $(B)/expired
	@cmp -s $< $@ || { rm -f $@ && cp $< $@; }

# To optimize the whole takes half as long as to compile it, so `make test` links the same objects without that.
$(B)/core/expired: PARTS = -fno-lto
$(B)/expired $(B)/core/expired: $(B)/obj/server/main.o $(SERVER) $(PROTO) $(CONF) $(STORE) $(BOTTOM)
	$(LINK) $(filter %.a,$^) $(DAEMON_LIBS)

$(B)/obj/%.o: %.c | $(B)/.complete
	@mkdir -p $(@D)
	$(call say,CC )$(COMPILE) -c $< -o $@
$(B)/.complete: # names what is missing, before the compiler fails at it
	@CC="$(CC)" CPPFLAGS="$(CPPFLAGS)" MALLOC=$(MALLOC) tools/deps --check && mkdir -p $(B) && >$@

# Tests and tools are linked without link-time optimization. It also does not see symbols of .incbin.
$(B)/obj/tests/%.o $(B)/obj/tools/%.o $(B)/obj/server/http/page_files.o: LTO =
UNIT_CFLAGS ?= -O0 -U_FORTIFY_SOURCE # to optimize them costs more than it saves
$(B)/obj/tests/unit/%.o: OF_UNIT = $(UNIT_CFLAGS) -Dtest_suite=$(subst /,_,$*)
$(B)/obj/server/http/page_files.o: $(wildcard server/http/page/*)

$(foreach l,proto conf store,$(eval $(B)/lib$l.a: $(call obj,$(filter-out store/base/% store/mem/%,$(filter $l/%,$(LIB_SRC))))))
$(BOTTOM): $(call obj,$(filter store/base/% store/mem/%,$(LIB_SRC)))
$(DISK): $(call obj,$(filter server/disk/effect/% server/disk/format/%,$(SERVER_SRC)))
$(SUPPORT): $(call obj,$(SUPPORT_SRC))
$(TOOL_LIB): $(call obj,$(TOOL_LIB_SRC))
$(BOTTOM) $(PROTO) $(CONF) $(STORE) $(DISK) $(SUPPORT) $(TOOL_LIB):
	$(call say,AR )rm -f $@ && $(AR) rcs $@ $^

# A unit test sees the library it is about and the one at the bottom, and no other. All tests of a library are one
# program with many names (tests/support/suite.c): a link of each took longer than most of them.
SUITES = $(patsubst %,$(B)/tests/unit/%/suites,proto conf store server server/module)
$(foreach l,proto conf store,$(eval $(B)/tests/unit/$l/suites: $(B)/lib$l.a))
$(filter $(B)/tests/unit/server/%,$(SUITES)): $(SERVER) $(PROTO) $(CONF) $(STORE)
$(B)/tests/unit/server/module/suites: $(call obj,$(MODULE_SRC))
suites_of = $(lastword $(foreach s,$(SUITES),$(if $(filter $(dir $s)%,$(1)),$s)))
$(foreach t,$(UNIT),$(eval $t: $(call suites_of,$t))$(eval $(call suites_of,$t): $(t:$(B)/%=$(B)/obj/%.o)))
$(UNIT): ; @mkdir -p $(@D) && ln -f $< $@
UNIT_LIBS = $(if $(findstring unit/server/,$@),$(SERVER_LIBS)) $(MALLOC_LIBS) $(CHECK_LIBS) -lm
$(SUITES): $(SUPPORT) $(BOTTOM)
	$(LINK) -Wl,--dynamic-list=tests/unit/suites.list -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(UNIT_LIBS)

$(B)/tools/bench/deadlines: $(STORE)
$(addprefix $(B)/tools/,$(INSTALLED_TOOLS)): $(DISK) $(STORE)
$(B)/tools/command_reference: $(SERVER) $(STORE)
$(B)/tools/command_reference: TOOL_LIBS = $(MALLOC_LIBS) $(SERVER_LIBS)
$(addprefix $(B)/tools/,$(INSTALLED_TOOLS)): TOOL_LIBS = $(MALLOC_LIBS) -llz4
$(TOOLS): $(B)/%: $(B)/obj/%.o $(TOOL_LIB) $(PROTO) $(CONF) $(BOTTOM)
	$(LINK) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TOOL_LIBS) -lm

GOLD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
QUICK_LINK ?= $(GOLD) $(if $(SANITIZE),,-Wl,-S) # empty: for a debugger
$(SUITES) $(TOOLS) $(FUZZERS): PARTS = -fno-lto $(if $(filter $(SUITES),$@),$(QUICK_LINK))

# Whole programs need a server to run in, payloads and journals a part of it.
$(addprefix $(B)/tests/fuzz/,brief_fuzz import_fuzz restore_fuzz script_formats_fuzz): $(SERVER)
IN_A_SERVER := $(patsubst %,$(B)/tests/fuzz/%_fuzz,acl http program script tls)
$(IN_A_SERVER): $(SERVER) $(call obj,$(filter-out %/suite.c,$(SUPPORT_SRC)))
$(IN_A_SERVER): FUZZ_LIBS = $(CHECK_LIBS)
$(FUZZERS): $(B)/%: $(B)/obj/%.o $(PROTO) $(CONF) $(STORE) $(BOTTOM)
	$(LINK) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -fsanitize=fuzzer,$(SANITIZERS) $(SERVER_LIBS) $(FUZZ_LIBS) -lm

FAULT = $(patsubst %,$(B)/%.so,$(addprefix tests/crash/,fault shifted_clock accept_delay slow_names) \
    tools/bench/preload/slow_sync)
SIM = $(B)/tests/sim/kernel.so
$(FAULT): $(B)/%.so: %.c
$(SIM): $(wildcard tests/sim/kernel/*)
$(FAULT) $(SIM):
	$(call say,LD )mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE -I. $(WARNINGS) -O2 -fPIC -pthread -shared -o $@ $(filter %.c,$^)
tools: $(TOOLS)
-include $(patsubst %.o,%.d,$(call obj,$(ALL_SRC)))

# ---- running ----

run:
	@tools/deps build && { tools/deps run || :; } # without redis-cli it serves all the same
	@$(MAKE) $(PARALLEL) expired
	@mkdir -p data && exec ./expired --dir data $(RUN_ARGS)

# ---- testing ----

# One build at a time in this folder, so that two runs at once may share it.
LOCKED = mkdir -p $(B) && flock $(B)/.lock
DAEMON = $(B)/expired
TEST_ENV = JOBS=$(TEST_JOBS) PYTHONPYCACHEPREFIX=$(abspath $(B))/python PYTHONDONTWRITEBYTECODE= \
    EXPIRED=$(abspath $(DAEMON)) BUILD=$(abspath $(B)) $(if $(SANITIZE),$(CHECKED_MODULE_ENV))

not_core_that_needs = $(wildcard $(shell sed -n '/^\# needs $(1)/,/^$$/{/^[^\#]/p}' tests/not_core))
NODE_MODULES = tests/e2e/clients/node_modules/.made
LIBRARY_MODULES = tests/e2e/libraries/node_modules/.made
CHOSEN = $(or $(TESTS),$(E2E))
NEEDED = $(if $(filter $(call not_core_that_needs,node),$(CHOSEN)),$(NODE_MODULES)) \
    $(if $(filter $(call not_core_that_needs,libraries),$(CHOSEN)),$(LIBRARY_MODULES)) \
    $(if $(filter $(call not_core_that_needs,the module),$(CHOSEN)),module-built $(if $(SANITIZE),module-checked))
tests-built: $(DAEMON) $(UNIT) $(TOOLS) $(FAULT) $(SIM) $(NEEDED) ; @:

test-here:
	@$(LOCKED) $(MAKE) $(PARALLEL) tests-built
	@$(TEST_ENV) LEFT_OUT="$(LEFT_OUT)" tests/run $(or $(TESTS),$(E2E) $(UNIT))

# The short unit tests run last, so that no core waits for one long program at the end.
CORE = $(filter-out $(NOT_CORE) $(patsubst %.c,$(B)/%,$(NOT_CORE)),$(E2E) $(UNIT))
# The second make chooses programs after tools/deps has installed packages. The core has fewer random ones.
test:
	@tools/deps build test
	@DIFF_N=$(or $(DIFF_N),300) MODEL_N=$(or $(MODEL_N),80) CALLS_N=$(or $(CALLS_N),3) SIM_N=$(or $(SIM_N),8) $(MAKE) --no-print-directory test-core
test-core: ; @$(MAKE) --no-print-directory test-here DAEMON=$(B)/core/expired TESTS="$(or $(TESTS),$(CORE))" LEFT_OUT="$(NOT_CORE)"
test-all:
	@tools/deps build test_all
	@$(MAKE) --no-print-directory test-here

include tests/long.mk

# The second build, whose blocks all come from malloc, is for the part allocator.
bench:
	@tools/deps build bench
	@$(LOCKED) $(MAKE) $(PARALLEL) $(B)/expired tools
	@$(LOCKED) $(MAKE) $(PARALLEL) B=$(B)/plain CPPFLAGS="$(CPPFLAGS) -DNO_POOL" $(B)/plain/expired
	@$(LOCKED) $(MAKE) $(PARALLEL) module-built $(if $(shell command -v npm),$(NODE_MODULES))
	@$(or $(if $(NEWEST),$(NEWEST_MADE)),:)
	@$(TEST_ENV) tools/bench/run $(BENCH) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUICK),--quick) \
	    $(NEWEST_BENCH) $(if $(BENCH)$(QUICK),,--write) $(BENCH_ARGS)

unit:
	@tools/deps build unit
	@$(MAKE) --no-print-directory test-here E2E=

# ---- reviewing ----

objects: $(call obj,$(ALL_SRC)) ; @:
# gcc gives some warnings only with the options that packages are built with, and in tests only if it optimizes them.
WARNED = CC=gcc UNIT_CFLAGS=-O1 WERROR=-Werror CPPFLAGS="$(CPPFLAGS) -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"
LINT_B ?= build/lint/gcc
lint:
	@tools/deps build unit lint tidy
	@$(LOCKED) $(MAKE) $(PARALLEL) -s B=$(LINT_B) LTO= $(WARNED) CFLAGS="$(CFLAGS) -g0" objects \
	    $(addprefix $(LINT_B)/tools/,conf_example command_reference)
	clang-format --dry-run -Werror $(ALL_SRC) $(HEADERS)
	/usr/bin/python3 tools/lint/tree.py && tools/lint/paths.py
	$(LINT_B)/tools/conf_example | diff -u expired.conf.example -
	rm -rf build/lint/commands && mkdir -p build/lint/commands && $(LINT_B)/tools/command_reference build/lint/commands
	diff -ru doc/commands build/lint/commands # make reference writes them, and the clients
	$(LINT_B)/tools/command_reference --json | tools/clients/generate --check
	@$(LOCKED) $(MAKE) $(PARALLEL) all
	tools/lint/install
	@tools/lint/tidy.py $(ALL_SRC)

tidy:
	@tools/deps build tidy
	@tools/lint/tidy.py $(ALL_SRC)

compile_commands.json:
	tools/compile_commands "$(CC) $(filter-out $(LTO),$(BASE)) $(WARNINGS) $(CPPFLAGS) $(CFLAGS)" $(ALL_SRC) > $@

format:
	clang-format -i $(ALL_SRC) $(HEADERS)

example: $(B)/tools/conf_example ; $< > expired.conf.example

reference: $(B)/tools/command_reference
	mkdir -p doc/commands && rm -f doc/commands/*.md && $< doc/commands
	$< --json | tools/clients/generate

# ---- installing ----

include tools/install.mk
include tools/module.mk

clean:
	rm -rf build expired tests/e2e/clients/node_modules tests/e2e/libraries/node_modules
