# module: builds expired.so, which an engine (Redis, Valkey) loads. The Makefile includes it.
#
#   make module     builds build/expired.so

# Position-independent; only the function that the engine looks for is visible. Without sanitizers, which
# the engine does not have.
MODULE_B = build/module
MODULE_VARIANT = B=$(MODULE_B) MALLOC=libc LTO= SANITIZE= CFLAGS="$(CFLAGS) -fPIC -fvisibility=hidden"
MODULE_LIB = $(B)/libmodule.a

$(MODULE_LIB): $(call obj,$(filter server/call/% server/cmd/% server/persist/format/%,$(SERVER_SRC)))
	$(call say,AR )rm -f $@ && $(AR) rcs $@ $^
$(B)/expired.so: $(call obj,$(MODULE_SRC)) $(MODULE_LIB) $(PROTO) $(STORE)
	$(call say,LD )$(CC) $(BASE) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,defs -o $@ \
	    $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lm

.PHONY: module module-built
module:
	@$(LOCKED) $(MAKE) --no-print-directory module-built
module-built:
	@$(VARIANT) $(MODULE_VARIANT) $(MODULE_B)/expired.so
	@cmp -s $(MODULE_B)/expired.so build/expired.so || { rm -f build/expired.so && cp $(MODULE_B)/expired.so build/; }
