/* check: see check.h. */
#include "server/daemon/check.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "server/admin/admin.h"
#include "server/admin/renames.h"
#include "server/cmd/cmd.h"
#include "server/daemon/policy_lines.h"
#include "server/engine/acl/acl.h"
#include "server/net/tls/tls.h"
#include "server/replica/replication.h"
#include "server/script/script.h"
#include "store/mem/mem.h"

/* All commands, for their names and rules only: they must not be run. */
static struct commands *all_commands(void)
{
    static struct admin admin;
    static struct commit_hooks hooks;
    struct engine engine = { .hooks = &hooks };
    struct commands *commands = commands_new();
    cmd_add_all(commands, NULL);
    scripting_add_commands(NULL, commands);
    commands_add(commands, &replica_commands, NULL);
    commands_add(commands, &wait_commands, NULL);
    admin_add_all(&admin, &(struct admin_parts){ .commands = commands, .engine = &engine });
    return commands;
}

/* Adds a line. Text that does not fit is cut off, as in the other functions that fill the error. */
__attribute__((format(printf, 2, 3))) static bool add_fault(struct conf_error *error,
                                                            const char *format, ...)
{
    va_list args;
    size_t len = strlen(error->text);
    if (len > 0 && error->text[len - 1] != '\n' && len + 1 < sizeof(error->text)) {
        error->text[len++] = '\n';
        error->text[len] = '\0';
    }
    va_start(args, format);
    vsnprintf(error->text + len, sizeof(error->text) - len, format, args);
    va_end(args);
    return false;
}

bool check_files(const struct conf *conf, struct conf_error *error)
{
    bool good = chdir(conf->dir) == 0 ||
                add_fault(error, "dir: can't change to %s: %s", conf->dir, strerror(errno));

    struct outbuf faults;
    outbuf_init(&faults);
    struct commands *commands = all_commands();
    struct acl *acl = acl_new(commands, conf);
    bool has_users = acl_start(acl, &faults);
    struct outbuf_cursor cursor = { 0 };
    struct iovec piece;
    while (!has_users && outbuf_next(&faults, &cursor, &piece)) {
        size_t len = piece.iov_len;
        const char *text = piece.iov_base;
        while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
            len--;
        add_fault(error, "%.*s", (int)len, text);
    }
    outbuf_drop(&faults);
    acl_free(acl);
    commands_free(commands);
    good = has_users && good;

    if (conf->clock == CONF_CLOCK_STEPPED && conf->supervised == CONF_SUPERVISED_SYSTEMD)
        good = add_fault(error,
                         "clock stepped is for tests and can't be used with supervised systemd");
    if (!tls_is_wanted(conf)) return good;
    char why[TLS_WHY_SIZE];
    struct tls *tls = tls_new(conf, why, sizeof(why));
    if (tls == NULL) return add_fault(error, "%s", why);
    tls_free(tls);
    return good;
}

static const char *renames_fault(const char *lines)
{
    struct commands *commands = all_commands();
    const char *why = renames_apply(commands, lines);
    commands_free(commands);
    return why;
}

/* Returns the errors in a static buffer, or NULL. */
static const char *users_fault(const char *lines)
{
    static char why[512];
    struct conf conf;
    struct acl_users users;
    struct outbuf faults;
    conf_init(&conf);
    outbuf_init(&faults);
    acl_users_init(&users);
    struct commands *commands = all_commands();
    struct acl *acl = acl_new(commands, &conf);
    acl_read_options(acl, lines, &users, &faults);
    size_t len = faults.len;
    char *text = mem_alloc(len + 1);
    outbuf_copy(&faults, text);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    snprintf(why, sizeof(why), "%.*s", (int)len, text);
    mem_free(text);
    acl_users_drop(&users);
    acl_free(acl);
    commands_free(commands);
    outbuf_drop(&faults);
    conf_drop(&conf);
    return len > 0 ? why : NULL;
}

void check_conf_init(struct conf *conf)
{
    conf_init(conf);
    conf->policies_fault = policy_lines_fault;
    conf->renames_fault = renames_fault;
    conf->users_fault = users_fault;
}
