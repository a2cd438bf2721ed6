/* reopen: see reopen.h. Changes the working directory last: if that fails, the other options are
 * easy to restore, while a change of directory is not. */
#include "server/daemon/reopen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/base/host_names.h"
#include "server/base/log.h"
#include "server/base/process.h"
#include "server/daemon/lifecycle.h"
#include "server/daemon/parts.h"
#include "server/engine/author.h"
#include "server/engine/background.h"
#include "server/http/http.h"
#include "server/net/net.h"

enum { HOST_SIZE = 256 };

static const char *const of_files[] = { "maxclients", NULL };
static const char *const of_clients[] = { "bind", "port", "tls-port", NULL };
static const char *const of_metrics[] = { "metrics-bind", "metrics-port", NULL };
static const char *const of_links[] = { "tls-replication", NULL };
static const char *const of_trail[] = { "why-memory", NULL };
static const char *const of_folder[] = { "dir", NULL };
static const char *const of_prepared[] = { "bind", "metrics-bind", "dir", "appendonly", NULL };

static bool is_one_of(const char *const *names, const struct conf_option *option)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, option->name) == 0) return true;
    return false;
}

bool reopen_has(const struct conf_option *option)
{
    return is_one_of(of_clients, option) || is_one_of(of_metrics, option) ||
           is_one_of(of_links, option) || is_one_of(of_folder, option);
}

/* The options that were set, and why they could not take effect. */
struct attempt {
    struct parts *parts;
    const struct conf_option *const *set;
    size_t count;
    struct config_fault *fault;
};

/* Returns the first of the options set that has one of these names, or NULL. */
static const struct conf_option *first_of(const struct attempt *attempt, const char *const *names)
{
    for (size_t i = 0; i < attempt->count; i++)
        if (is_one_of(names, attempt->set[i])) return attempt->set[i];
    return NULL;
}

static bool fail_attempt(const struct attempt *attempt, const struct conf_option *option,
                         const char *why)
{
    attempt->fault->option = option;
    snprintf(attempt->fault->text, sizeof(attempt->fault->text), "%s", why);
    return false;
}

static bool need_tls(const struct attempt *attempt, const struct conf_option *option)
{
    struct parts *parts = attempt->parts;
    const struct conf *conf = &parts->conf;
    char why[TLS_WHY_SIZE];
    if (!tls_is_wanted(conf) || parts->tls != NULL) return true;
    parts->tls = tls_new(conf, why, sizeof(why));
    if (parts->tls == NULL) return fail_attempt(attempt, option, why);
    clients_use_tls(parts->clients, parts->tls);
    tls_remind(parts->tls, clock_wall_usec(&parts->clock) / 1000000);
    return true;
}

bool reopen_http(struct parts *parts, char *why, size_t size)
{
    if (parts->conf.metrics_port == 0) return true;
    parts->http = http_open(parts->loop, &parts->admin.parts,
                            parts->conf.metrics_tls ? parts->tls : NULL, parts->names, why, size);
    if (parts->http == NULL) return false;
    struct background_work work = http_work(parts->http);
    background_add(parts->background, &work);
    return true;
}

/* DIFFERS: Redis changes `dir` even while it writes an append-only file. (doc/differs.md) */
static bool try_folder(const struct attempt *attempt)
{
    struct parts *parts = attempt->parts;
    const struct conf_option *option = first_of(attempt, of_folder);
    const char *ignored;
    char *here = getcwd(NULL, 0);
    bool moves = option != NULL && (here == NULL || strcmp(here, parts->conf.dir) != 0);
    free(here);
    if (!moves) return true;
    int error = persist_move(parts->persist, parts->conf.dir);
    if (error == EBUSY)
        return fail_attempt(attempt, option,
                            "the journal or a snapshot is being written there. Wait, or set "
                            "appendonly to no first");
    if (error != 0) return fail_attempt(attempt, option, strerror(error));
    here = getcwd(NULL, 0);
    if (here != NULL) conf_set(&parts->conf, option, here, &ignored);
    free(here);
    return true;
}

bool reopen_try(void *ctx, const struct conf_option *const *set, size_t count,
                struct config_fault *fault)
{
    struct parts *parts = ctx;
    const struct attempt attempt = { parts, set, count, fault };
    char why[512];

    const struct conf_option *option = first_of(&attempt, of_files);
    if (option != NULL) {
        /* A reload is not refused; lifecycle_fit_maxclients lowers the value then. */
        const struct conf *conf = &parts->conf;
        int64_t possible = process_raise_files(conf->maxclients, lifecycle_more_files(conf));
        if (possible < conf->maxclients) {
            snprintf(why, sizeof(why),
                     "The operating system is not able to handle the specified number of clients, "
                     "try with %" PRId64,
                     possible);
            return fail_attempt(&attempt, option, why);
        }
    }

    option = first_of(&attempt, of_links);
    if (option != NULL && !need_tls(&attempt, option)) return false;

    option = first_of(&attempt, of_clients);
    if (option != NULL) {
        if (!need_tls(&attempt, option)) return false;
        if (!net_update(parts->net, parts->names, why, sizeof(why))) {
            log_line(LOG_WARNING, "Can't listen on the new %s: %s", option->name, why);
            bool is_bind = strcmp(option->name, "bind") == 0;
            return fail_attempt(&attempt, option,
                                is_bind ? "Failed to bind to specified addresses."
                                        : "Unable to listen on this port. Check server logs.");
        }
    }

    option = first_of(&attempt, of_metrics);
    if (option != NULL) {
        if (!need_tls(&attempt, option)) return false;
        if (!(parts->http != NULL ? http_update(parts->http, parts->names, why, sizeof(why))
                                  : reopen_http(parts, why, sizeof(why)))) {
            log_line(LOG_WARNING, "%s", why);
            return fail_attempt(&attempt, option, why);
        }
    }

    /* After all options that may be refused, except dir: another size of why-memory empties the
     * record of EXPIRY WHY, and restoring the option would not bring the record back. */
    option = first_of(&attempt, of_trail);
    if (option != NULL && !author_configure(&parts->engine))
        return fail_attempt(&attempt, option, "not enough memory for a record of this size");
    return try_folder(&attempt);
}

/* Is a host name of these addresses being resolved? */
static bool resolves(struct host_names *names, struct bytes addresses)
{
    char host[HOST_SIZE];
    const char *at = addresses.data, *end = at + addresses.len;
    for (; at < end; at++) {
        size_t len = 0;
        at += *at == '-';
        while (at + len < end && at[len] != ' ')
            len++;
        if (len == 0 || len >= sizeof(host)) continue;
        memcpy(host, at, len);
        host[len] = '\0';
        at += len;
        if (strcmp(host, "*") != 0 && strcmp(host, "::*") != 0 && host_names_prepare(names, host))
            return true;
    }
    return false;
}

bool reopen_may_prepare(const struct conf_option *option)
{
    return is_one_of(of_prepared, option);
}

bool reopen_prepares(void *ctx, const struct config_wish *wishes, size_t count)
{
    struct parts *parts = ctx;
    bool moves = false, appendonly = parts->conf.appendonly;
    for (size_t i = 0; i < count; i++) {
        const char *name = wishes[i].option->name;
        bool listens = strcmp(name, "bind") == 0 || strcmp(name, "metrics-bind") == 0;
        if (listens && resolves(parts->names, wishes[i].value)) return true;
        moves |= is_one_of(of_folder, wishes[i].option);
        if (strcmp(name, "appendonly") == 0) appendonly = bytes_is_word(wishes[i].value, "yes");
    }
    /* If the journal is turned on in another folder, nothing need be prepared in this one. */
    return moves ? persist_has_to_wait(parts->persist)
                 : persist_prepare(parts->persist, appendonly);
}
