/* acl_log: the latest refusals, for ACL LOG. A refusal that equals one of the latest ten entries in
 * reason, place, object and user, and comes at most a minute after it, is counted in that entry,
 * which becomes the latest. The caller passes the time. */
#pragma once

#include <sys/queue.h>

#include "server/cmd/call/session.h"
#include "store/base/instant.h"
#include "store/mem/blob.h"
#include "store/mem/outbuf.h"

enum acl_reason {
    ACL_LOG_COMMAND,
    ACL_LOG_KEY,
    ACL_LOG_CHANNEL,
    ACL_LOG_AUTH,
    ACL_LOG_TLS_CERT, /* no enabled user matches the common name of a client's certificate */
};
enum acl_where { ACL_TOPLEVEL, ACL_IN_MULTI, ACL_IN_SCRIPT };

struct acl_log_entry {
    TAILQ_ENTRY(acl_log_entry) next;
    uint64_t count;
    enum acl_reason reason;
    enum acl_where where;
    struct blob *object; /* the command, key or channel; "" for a certificate */
    struct blob *user_name;
    struct blob *client; /* a line like those of CLIENT LIST */
    msec at;             /* when the last refusal of the entry happened */
};

struct acl_log {
    TAILQ_HEAD(acl_log_list, acl_log_entry) entries; /* the latest first */
    size_t count;
    /* Appends the line of CLIENT LIST about a session. NULL for entries without such a line. */
    void (*describe)(struct session *session, struct outbuf *to);
};

struct acl_refusal {
    enum acl_reason reason;
    enum acl_where where;
    struct bytes object, user_name;
    struct session *session;
    msec now;
};

/* Records a refusal, with copies of its texts. Then drops the oldest entries beyond `most`. */
void acl_log_add(struct acl_log *log, const struct acl_refusal *refusal, size_t most);
void acl_log_reset(struct acl_log *log);

const char *acl_reason_text(enum acl_reason reason); /* "command", ..., "tls-cert" */
const char *acl_where_text(enum acl_where where);    /* "toplevel", "multi", "lua" */
