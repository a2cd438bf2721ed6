/* reload: see reload.h. */
#include "server/daemon/reload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/words.h"
#include "server/base/log.h"
#include "server/daemon/check.h"
#include "server/daemon/parts.h"
#include "server/daemon/reopen.h"
#include "server/daemon/status.h"
#include "server/daemon/supervisor.h"
#include "server/net/tls/tls.h"
#include "store/calendar/calendar.h"
#include "store/mem/mem.h"
#include "store/store.h"

static int open_here(void)
{
    return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void reload_init(struct parts *parts, int argc, char *const *argv)
{
    struct reload *reload = &parts->reload;
    *reload = (struct reload){ .argc = argc, .argv = argv, .start_dir = open_here() };
    reload->read = mem_alloc(conf_option_count() * sizeof(char *));
    for (size_t i = 0; i < conf_option_count(); i++)
        reload->read[i] = conf_get(&parts->conf, conf_option_at(i));
}

void reload_drop(struct parts *parts)
{
    struct reload *reload = &parts->reload;
    for (size_t i = 0; reload->read != NULL && i < conf_option_count(); i++)
        free(reload->read[i]);
    mem_free(reload->read);
    if (reload->start_dir >= 0) close(reload->start_dir);
    *reload = (struct reload){ .start_dir = -1 };
}

/* Reads the options again, as at the start, in the directory in which the daemon was started: the
 * names of the file and of its includes may be relative to it. */
static bool read_again(const struct parts *parts, struct conf *conf, struct conf_error *error)
{
    const struct reload *reload = &parts->reload;
    int here = open_here();
    if (here >= 0 && fchdir(reload->start_dir) != 0)
        log_line(LOG_VERBOSE, "The directory in which the server was started is gone: relative "
                              "paths may not be found");
    bool good = conf_load_args(conf, reload->argc, reload->argv, error);
    if (here >= 0 && fchdir(here) != 0)
        log_line(LOG_WARNING, "Can't change back to dir after a reload. Restart the server");
    if (here >= 0) close(here);
    return good;
}

bool reload_waits(struct parts *parts)
{
    enum { WISHES_MAX = 8 };
    struct reload *reload = &parts->reload;
    struct config_wish wishes[WISHES_MAX];
    struct conf conf;
    struct conf_error ignored;
    size_t count = 0;
    if (reload->waits || parts->conf.file[0] == '\0') return reload->waits;
    if (strcmp(reload->argv[reload->argc - 1], "-") == 0) return false;
    check_conf_init(&conf);
    bool good = read_again(parts, &conf, &ignored); /* reload_options reports errors */
    for (size_t i = 0; good && i < conf_option_count() && count < WISHES_MAX; i++) {
        if (!reopen_may_prepare(conf_option_at(i))) continue;
        char *value = conf_get(&conf, conf_option_at(i));
        if (strcmp(reload->read[i], value) == 0)
            free(value);
        else
            wishes[count++] =
                (struct config_wish){ conf_option_at(i), bytes_of(value, strlen(value)) };
    }
    reload->waits = count > 0 && reopen_prepares(parts, wishes, count);
    while (count > 0)
        free((char *)(uintptr_t)wishes[--count].value.data);
    conf_drop(&conf);
    return reload->waits;
}

/* A list of names, separated by commas. Names that do not fit are only counted. */
struct names {
    char text[1024];
    size_t len, left_out;
};

static void add_name(struct names *names, const char *name)
{
    size_t room = sizeof(names->text) - names->len;
    if (strlen(name) + sizeof(", ") > room) {
        names->left_out++;
        return;
    }
    names->len +=
        (size_t)snprintf(names->text + names->len, room, "%s%s", names->len > 0 ? ", " : "", name);
}

static void log_names(const char *what, const struct names *names)
{
    if (names->len == 0) return;
    if (names->left_out == 0)
        log_line(LOG_NOTICE, "%s: %s", what, names->text);
    else
        log_line(LOG_NOTICE, "%s: %s and %zu more", what, names->text, names->left_out);
}

static bool is_value(const struct conf *conf, const struct conf_option *option, const char *text)
{
    char *value = conf_get(conf, option);
    bool same = strcmp(value, text) == 0;
    free(value);
    return same;
}

static void take_over(struct parts *parts, const struct conf *conf)
{
    struct reload *reload = &parts->reload;
    struct names set = { .len = 0 }, later = { .len = 0 };
    bool has_password = acl_uses_requirepass(parts->acl);
    char *password = conf_copy(parts->conf.requirepass);
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        char *value = conf_get(conf, option);
        bool is_new = option->alias_of == NULL && strcmp(reload->read[i], value) != 0;
        if (!option->live) {
            /* It takes effect at a restart, and is named at each reload until then. */
            if (is_new) add_name(&later, option->name);
            free(value);
            continue;
        }
        const char *why;
        is_new = is_new && !is_value(&parts->conf, option, value); /* CONFIG REWRITE wrote it */
        if (is_new && conf_set(&parts->conf, option, value, &why))
            add_name(&set, option->name);
        else if (is_new)
            log_line(LOG_WARNING, "%s keeps its value: %s. Use CONFIG SET", option->name, why);
        free(reload->read[i]);
        reload->read[i] = value;
    }
    log_line(LOG_NOTICE, "Configuration reloaded from %s%s", parts->conf.file,
             set.len + later.len == 0 ? ": no option has changed" : "");
    log_names("Options changed by the reload", &set);
    log_names("Options that will change at the next restart", &later);
    if (has_password && strcmp(password, parts->conf.requirepass) != 0)
        acl_set_requirepass(parts->acl, parts->conf.requirepass);
    free(password);
    /* A journal that can't be started has been logged, and appendonly is no again. */
    if (set.len > 0) config_apply(&parts->admin.parts);
}

static bool reload_file(struct parts *parts)
{
    const struct reload *reload = &parts->reload;
    struct conf conf;
    struct conf_error error;
    if (parts->conf.file[0] == '\0') return true;
    if (strcmp(reload->argv[reload->argc - 1], "-") == 0) {
        log_line(LOG_WARNING, "Configuration not reloaded: part of it came from standard input. "
                              "Use CONFIG SET, or restart the server");
        return false;
    }
    check_conf_init(&conf);
    bool good = read_again(parts, &conf, &error);
    if (good) {
        take_over(parts, &conf);
    } else {
        log_line(LOG_WARNING, "Configuration not reloaded, no option has changed. Correct this, "
                              "then reload again:");
        for (const char *text = error.text; *text != '\0';) {
            size_t len = strcspn(text, "\n");
            log_line(LOG_WARNING, "%.*s", (int)len, text);
            text += len + (text[len] == '\n');
        }
    }
    conf_drop(&conf);
    return good;
}

/* `kept` holds copies of the values from before the reload, by index; NULL for other options. */

static bool was_changed(const struct parts *parts, char *const *kept, size_t index)
{
    return kept[index] != NULL && !is_value(&parts->conf, conf_option_at(index), kept[index]);
}

/* Restores the options of before the reload, because the values of the file could not be applied.
 * The next reload tries the file's values again. */
static void put_back(struct parts *parts, char *const *kept)
{
    struct reload *reload = &parts->reload;
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        const char *why;
        if (!was_changed(parts, kept, i)) continue;
        conf_set(&parts->conf, option, kept[i], &why);
        free(reload->read[i]);
        reload->read[i] = conf_get(&parts->conf, option);
    }
}

/* Reads the certificates again, even if no option has changed: the files may be new. */
static bool reload_certificates(struct parts *parts)
{
    char why[TLS_WHY_SIZE];
    if (parts->tls == NULL || tls_reload(parts->tls, why, sizeof(why))) return true;
    log_line(LOG_WARNING, "Certificates not reloaded; tls options, ports and dir are unchanged: %s",
             why);
    return false;
}

static bool reopen_changed(struct parts *parts, char *const *kept)
{
    const struct conf_option *set[CONF_OPTIONS_MAX];
    struct config_fault fault, ignored;
    size_t count = 0;
    for (size_t i = 0; i < conf_option_count(); i++)
        if (reopen_has(conf_option_at(i)) && was_changed(parts, kept, i))
            set[count++] = conf_option_at(i);
    if (count == 0) return true;

    /* Make `dir` absolute. As at the start, it is relative to where the daemon was started. */
    int here = open_here();
    if (here >= 0 && fchdir(parts->reload.start_dir) == 0) {
        char *path = realpath(parts->conf.dir, NULL);
        const char *why;
        if (fchdir(here) != 0)
            log_line(LOG_WARNING, "Can't change back to dir after a reload. Restart the server");
        if (path != NULL) conf_set(&parts->conf, conf_find("dir"), path, &why);
        free(path);
    }
    if (here >= 0) close(here);

    if (reopen_try(parts, set, count, &fault)) return true;
    log_line(LOG_WARNING, "%s: %s Keeping the old ports, dir and tls options", fault.option->name,
             fault.text);
    put_back(parts, kept);
    reopen_try(parts, set, count, &ignored);
    reload_certificates(parts);
    return false;
}

void reload_options(struct parts *parts)
{
    char text[SUPERVISOR_STATUS_MAX];
    parts->reload.wanted = false;
    calendar_forget(parts->store->calendar); /* tzdata may be newer */
    supervisor_reloading(&parts->supervisor, "Reloading the configuration");
    char **kept = mem_zalloc(conf_option_count() * sizeof(char *));
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        bool is_tls = option->live && strncmp(option->name, "tls-", 4) == 0;
        if (is_tls || reopen_has(option)) kept[i] = conf_get(&parts->conf, option);
    }
    parts->reload.failed = !reload_file(parts);
    bool good = reload_certificates(parts);
    if (!good) put_back(parts, kept);
    if (!good || !reopen_changed(parts, kept)) parts->reload.failed = true;
    for (size_t i = 0; i < conf_option_count(); i++)
        free(kept[i]);
    mem_free(kept);
    status_write(parts, text, sizeof(text));
    supervisor_ready(&parts->supervisor, text);
}
