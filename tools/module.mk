# module: builds expired.so, which the host (Redis, Valkey) loads. The Makefile includes it.
#
#   make module     builds build/expired.so

# Position-independent; only the function that the host looks for is visible. Without sanitizers, whose
# libraries the host does not load. Nothing links its objects without link-time optimization, so gcc writes only what
# that needs, in 40% of the time. gcc-ar can list the symbols of such objects.
MODULE_B = build/module
MODULE_HOW = MALLOC=libc CFLAGS="$(CFLAGS) -fPIC -fvisibility=hidden"
MODULE_LTO = $(if $(LTO),LTO="$(filter-out -ffat-lto-objects,$(LTO))" AR=gcc-ar)
MODULE_VARIANT = B=$(MODULE_B) SANITIZE= $(MODULE_HOW) $(MODULE_LTO)

# For `make asan`: with sanitizers, for a host that is started with their library (LD_PRELOAD). The
# host's allocator is then theirs, so they watch the module's memory.
CHECKED_MODULE = $(B)/module/expired.so
CHECKED_MODULE_ENV = MODULE=$(abspath $(CHECKED_MODULE)) MODULE_PRELOAD=$(shell $(CC) -print-file-name=libasan.so)
MODULE_LIB = $(B)/libmodule.a

$(MODULE_LIB): $(call obj,$(filter server/base/tzdata.c server/cmd/call/% server/cmd/% server/disk/effect/% server/disk/format/%,$(SERVER_SRC)))
	$(call say,AR )rm -f $@ && $(AR) rcs $@ $^
$(B)/expired.so: $(call obj,$(MODULE_SRC)) $(MODULE_LIB) $(PROTO) $(STORE) $(BOTTOM)
	$(call say,LD )$(CC) $(BASE) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,defs -o $@ \
	    $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lm

.PHONY: module module-built module-checked
module:
	@$(LOCKED) $(MAKE) --no-print-directory module-built
module-built:
	@$(MAKE) $(PARALLEL) $(MODULE_VARIANT) $(MODULE_B)/expired.so
	@cmp -s $(MODULE_B)/expired.so build/expired.so || { rm -f build/expired.so && cp $(MODULE_B)/expired.so build/; }
module-checked:
	@$(MAKE) $(PARALLEL) B=$(B)/module $(MODULE_HOW) $(CHECKED_MODULE)
