/* check: see check.h. */
#include "server/daemon/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/daemon/wiring.h"
#include "server/engine/acl/acl.h"
#include "server/net/tls/tls.h"

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
    struct commands *commands = wiring_commands();
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
