# long: tests that `make test-all` does not run, or not for that long, and what npm fetches for tests. The Makefile
# includes it.
#
#   make diff          N random programs against redis-server: SEED, FIRST, JOBS, CASES
#   make crash         crashes and failing disks, for CRASH_SECONDS (300), SEED
#   make sim           simulated worlds: SEED, SEEDS (100) or HOURS, WORKS, PLAN, SHRINK=0
#   make plants        each planted fault is found: CPU (600) seconds each, SEED
#   make fuzz          runs each fuzzer for FUZZ_SECONDS (60)
#   make soak          a mixed load for MINUTES (30), SEED; its plot is doc/soak.svg
#   make asan          all tests under ASan and UBSan; asan-short is a part of it
#   make tsan          programs that start threads, under ThreadSanitizer: TESTS; tsan-short is a part of it
#   make warned        builds what the tests run, with the warnings of make lint; .ci/run begins with it
#   make steady        every test ROUNDS times (5), beside busy processes, in random order: TEST_SEED, TESTS
#   make coverage      lines and branches that the unit tests reach, by folder
#   make mutants       N faults in a copy of the sources: SEED, PATHS
#   make service-test  the units, in a machine of its own, as root
#   make test-newest   files and streams of today's Valkey and Redis, and the module in them: TESTS; tools/newest
#                      installs these servers, as root

FUZZ_SECONDS ?= 60
CRASH_SECONDS ?= 300

diff:
	@tools/deps build test
	@$(LOCKED) $(MAKE) $(PARALLEL) $(B)/expired
	@$(TEST_ENV) tests/diff/run $(foreach s,N SEED FIRST JOBS CASES,$(if $($(s)),$(s)=$($(s))))

crash:
	@tools/deps build test
	@$(LOCKED) $(MAKE) $(PARALLEL) $(B)/expired $(FAULT)
	@$(TEST_ENV) tests/crash/run $(CRASH_SECONDS) $(SEED)

sim:
	@tools/deps build test
	@$(LOCKED) $(MAKE) $(PARALLEL) $(B)/expired $(SIM)
	@$(subst JOBS=$(TEST_JOBS),JOBS=$(JOBS),$(TEST_ENV)) tests/sim/run \
	    $(foreach s,SEED SEEDS HOURS WORKS PLAN SHRINK,$(if $($(s)),$(s)=$($(s))))

# Leaks are looked for where the kernel lets LeakSanitizer trace its own process.
asan:
	@tools/deps build test_all
	@$(LOCKED) $(MAKE) $(PARALLEL) $(ASAN) $(ASAN_B)/tools/conf_example
	@leaks=$$(tests/leaks $(ASAN_B)/tools/conf_example); \
	ASAN_OPTIONS=halt_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1:detect_leaks=$$leaks \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TEST_TIMEOUT=$${TEST_TIMEOUT:-900} \
	$(MAKE) --no-print-directory $(ASAN) test-here
ASAN_B = build/asan
ASAN = B=$(ASAN_B) MALLOC=libc CFLAGS="-O1 -g1" \
    SANITIZE="-fsanitize=$(SANITIZERS) -fno-sanitize-recover=all"

# What .ci/run can afford: the unit tests, and random programs in the daemon. They need no tools.
asan-short:
	@$(MAKE) --no-print-directory asan TOOLS=$(ASAN_B)/tools/conf_example FAULT= SIM= \
	    E2E="tests/e2e/commands/test_diff.py tests/e2e/expiry/test_model.py"

# The unit tests that start threads, and programs in which the daemon's threads have work.
TSAN_UNIT = $(patsubst %,build/tsan/tests/unit/%_test,store/mem/shared server/base/page_thread \
    $(addprefix server/net/,byte_ring io_threads transport) \
    $(addprefix server/disk/,file_job format/base format/copy journal journal_fault move rewrite))
TSAN_E2E = $(patsubst %,tests/crash/test_%.py,faults full journal_switch progress slow_disk snapshot) \
    $(patsubst %,tests/e2e/%.py,access/test_tls $(addprefix commands/test_,\
    big_arguments blocking client_filters tracking) \
    $(addprefix operations/test_,io_threads process) replica/test_replica queues/test_crowd)
TSAN = B=build/tsan CC=gcc MALLOC=libc CFLAGS="$(TSAN_CFLAGS)" SANITIZE=-fsanitize=thread \
    UNIT="$(TSAN_UNIT)"
# gcc warns that ThreadSanitizer does not see fences. It reports no race there: all that is read is atomic.
TSAN_CFLAGS ?= -O1 -g -Wno-tsan
tsan:
	@tools/deps build test tsan
	@$(MAKE) --no-print-directory $(TSAN) tsan-here
tsan-here:
	@$(LOCKED) $(MAKE) $(PARALLEL) $(B)/expired $(FAULT) $(TSAN_UNIT)
	@$(TEST_ENV) IO_THREADS=$${IO_THREADS:-4} TEST_TIMEOUT=$${TEST_TIMEOUT:-600} CK_TIMEOUT_MULTIPLIER=5 \
	    tests/tsan $(B)/races $(or $(TESTS),$(TSAN_E2E) $(TSAN_UNIT))

# What the tests run, built with lint's warnings as errors: `make lint LINT_B='$(B)'` then has nothing to compile.
# Without debugging information, which changes no instruction.
warned:
	@tools/deps build test_all
	@$(LOCKED) $(MAKE) $(PARALLEL) $(WARNED) CFLAGS="$(CFLAGS) -g0" objects tests-built

# What .ci/run can afford: compiling takes most of the time.
TSAN_SHORT = $(filter-out %_fault_test %/base_test %/copy_test %/segments_test,$(TSAN_UNIT))
tsan-short:
	@$(MAKE) --no-print-directory tsan TSAN_CFLAGS="-O0 -g1 -Wno-tsan" TSAN_UNIT="$(TSAN_SHORT)" \
	    TSAN_E2E="$(filter %_journal_switch.py %_snapshot.py %_io_threads.py,$(TSAN_E2E))"

plants:
	@tools/deps build test
	@$(subst JOBS=$(TEST_JOBS),JOBS=$(JOBS),$(TEST_ENV)) tests/planted/run $(foreach s,CPU SEED,$(if $($(s)),$(s)=$($(s))))

fuzz-built: $(FUZZERS) ; @:
fuzz:
	@tools/deps build fuzz
	@$(MAKE) $(PARALLEL) B=build/fuzz CC=clang MALLOC=libc CFLAGS="-O1 -g" fuzz-built \
	    SANITIZE="-fsanitize=fuzzer-no-link,$(SANITIZERS) -fno-sanitize-recover=all"
	@tests/fuzz/run build/fuzz $(FUZZ_SECONDS)

soak:
	@tools/deps build test bench
	@$(LOCKED) $(MAKE) $(PARALLEL) $(B)/expired
	@$(TEST_ENV) tests/soak/run MINUTES=$(or $(MINUTES),30) PLOT=doc/soak.svg $(if $(SEED),SEED=$(SEED))

steady:
	@tools/deps build test_all
	@$(LOCKED) $(MAKE) $(PARALLEL) tests-built
	@$(TEST_ENV) ROUNDS=$(or $(ROUNDS),5) tests/steady $(or $(TESTS),$(E2E) $(UNIT))

coverage:
	@tools/deps build unit coverage
	@find build/coverage -name '*.gcda' -delete 2>/dev/null || :
	@$(MAKE) --no-print-directory B=build/coverage LTO= CFLAGS="-O0 -g --coverage" E2E= test-here
	@tools/coverage build/coverage

mutants:
	@tools/deps build unit
	@tools/mutants $(if $(N),--count $(N)) $(if $(SEED),--seed $(SEED)) $(if $(PATHS),--in $(PATHS))

service-test: expired
	@tools/deps service
	@$(TEST_ENV) TIMES=1 tests/service/run

# About five minutes for the root at the first time, and half a gigabyte in build/. The tests of the module run once in
# each host. NEWEST is another folder with the servers.
NEWEST_MADE = $(if $(filter-out 1,$(NEWEST)),,tools/newest)
NEWEST_BIN = $(abspath $(or $(filter-out 1,$(NEWEST)),build/newest/bin))
NEWEST_BENCH = $(if $(NEWEST),--newest $(NEWEST_BIN) --no-bare --pipeline "16 64")
MODULE_TESTS = $(wildcard tests/e2e/module/test_* tests/crash/test_module_*)
NEWEST_TESTS = $(if $(TESTS),$(filter-out $(MODULE_TESTS),$(TESTS)),$(wildcard tests/newest/test_*))
HOSTED_TESTS = $(if $(TESTS),$(filter $(MODULE_TESTS),$(TESTS)),$(MODULE_TESTS))
test-newest:
	@tools/deps build test
	@$(or $(NEWEST_MADE),:)
	@failed=0; \
	$(if $(NEWEST_TESTS),$(MAKE) --no-print-directory test-here TESTS="$(NEWEST_TESTS)" || failed=1;) \
	$(if $(HOSTED_TESTS),for host in valkey-server redis-server; do \
	    echo "the module in $$host"; \
	    MODULE_HOST=$(NEWEST_BIN)/$$host $(MAKE) --no-print-directory test-here TESTS="$(HOSTED_TESTS)" || failed=1; \
	done;) exit $$failed

.PHONY: warned test-newest diff crash asan asan-short tsan tsan-here tsan-short plants fuzz fuzz-built soak steady mutants service-test

# ---- packages of npm ----

$(NODE_MODULES): tests/e2e/clients/package.json tests/e2e/clients/package-lock.json
	cd tests/e2e/clients && npm ci --no-audit --no-fund --loglevel=error
	@touch $@
$(LIBRARY_MODULES): tests/e2e/libraries/package.json tests/e2e/libraries/package-lock.json
	cd tests/e2e/libraries && npm ci --no-audit --no-fund --loglevel=error
	@touch $@
