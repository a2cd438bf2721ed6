# install: what `make install` installs, and the packages made from it. The Makefile includes it.
#
#   make install    PREFIX, DESTDIR, SYSCONFDIR, UNITDIR; compiles nothing after `make`
#   make uninstall  removes that; keeps an edited expired.conf, and the data
#   make deb        Debian packages, in build/deb/
#   make deb-test   installs, upgrades, removes and purges them in a bare root (needs root)
#   make arm64-test builds for arm64 in a bare root and runs the unit tests by qemu (needs root)

BINDIR = $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
UNITDIR ?= $(PREFIX)/lib/systemd/system
GENERATORDIR = $(UNITDIR)-generators
CONFDIR = $(SYSCONFDIR)/expired
SCRIPTDIR = $(PREFIX)/lib/expired
CLIENTDIR = $(PREFIX)/share/expired/clients

PROGRAMS := expired $(INSTALLED_TOOLS)
PAGES := expired.8 expired.conf.5 $(addsuffix .1,$(INSTALLED_TOOLS))
UNITS := $(notdir $(wildcard $(addprefix tools/systemd/*.,service socket timer)))
SYSTEMD := $(addprefix $(UNITDIR)/,$(UNITS)) $(GENERATORDIR)/expired-generator \
    $(if $(wildcard tools/systemd/expired.sysusers),$(PREFIX)/lib/sysusers.d/expired.conf) \
    $(if $(wildcard tools/systemd/expired.tmpfiles),$(PREFIX)/lib/tmpfiles.d/expired.conf)
MANUAL = $(B)/manual
CLIENTS := $(patsubst tools/clients/%,%,$(wildcard $(addprefix tools/clients/,node/*.* python/expired/*.*)))

# Everything that install needs, so that it can run as root without writing into the folder.
INSTALLED = $(B)/expired $(addprefix $(B)/tools/,$(INSTALLED_TOOLS)) $(MANUAL)/.made

# Pages bear the day of the last commit, so that two builds of one commit are equal.
$(MANUAL)/.made: $(B)/tools/manual
	@mkdir -p $(MANUAL)
	$(call say,MAN)$< $(MANUAL) $$(date -u +%F -d @$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct \
	    2>/dev/null || stat -c %Y CHANGELOG.md)}) && >$@

# Files for systemd name the paths of this installation: tmpfiles.d/expired.conf is made from
# tools/systemd/expired.tmpfiles.
source_of = tools/systemd/$(if $(filter %.conf,$1),expired.$(notdir $(patsubst %.d/expired.conf,%,$1)),$(notdir $1))
define install_unit
sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' $(call source_of,$(1)) | \
    install -D -m $(if $(filter %-generator,$1),755,644) /dev/stdin $(DESTDIR)$(1)

endef

installed: $(INSTALLED) ; @:

install: $(INSTALLED)
	install -D -m 755 -t $(DESTDIR)$(BINDIR) $(filter-out %/.made,$^)
	$(foreach p,$(PAGES),install -D -m 644 -t $(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $p)) $(MANUAL)/$p &&) :
	install -D -m 644 -t $(DESTDIR)$(COMPLETIONDIR) $(addprefix $(MANUAL)/completions/,$(PROGRAMS))
	install -D -m 755 -t $(DESTDIR)$(SCRIPTDIR) tools/backup
	$(foreach file,$(CLIENTS),install -D -m 644 tools/clients/$(file) $(DESTDIR)$(CLIENTDIR)/$(file) &&) :
	install -D -m 644 -t $(DESTDIR)$(CONFDIR) expired.conf.example
	@test -e $(DESTDIR)$(CONFDIR)/expired.conf || \
	    install -m 640 expired.conf.example $(DESTDIR)$(CONFDIR)/expired.conf
	$(foreach file,$(SYSTEMD),$(call install_unit,$(file)))

uninstall:
	rm -f $(addprefix $(DESTDIR)$(BINDIR)/,$(PROGRAMS))
	rm -f $(foreach p,$(PAGES),$(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $p))/$p)
	rm -f $(addprefix $(DESTDIR)$(COMPLETIONDIR)/,$(PROGRAMS)) $(addprefix $(DESTDIR),$(SYSTEMD))
	rm -rf $(DESTDIR)$(SCRIPTDIR) $(DESTDIR)$(CLIENTDIR)
	@[ ! -d $(DESTDIR)$(dir $(CLIENTDIR)) ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(dir $(CLIENTDIR))
	@dir=$(DESTDIR)$(CONFDIR); [ -d $$dir ] || exit 0; \
	if cmp -s $$dir/expired.conf $$dir/expired.conf.example; then rm -f $$dir/expired.conf; \
	elif [ -e $$dir/expired.conf ]; then echo "Kept $(CONFDIR)/expired.conf, which was changed"; fi; \
	rm -f $$dir/expired.conf.example && rmdir --ignore-fail-on-non-empty $$dir

# ---- packages ----

deb:
	@tools/deps build deb
	@tools/debian/build

deb-test: deb
	@tools/deps root
	@tools/debian/test

arm64-test:
	@tools/arm64_test

.PHONY: install uninstall deb deb-test arm64-test
