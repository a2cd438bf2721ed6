/* client_filter: the options with which CLIENT LIST and CLIENT KILL select connections, as in Redis
 * 7.4 and Valkey 9. A connection is selected if it matches all options. */
#pragma once

#include "server/cmd/call/error.h"
#include "server/net/client.h"
#include "store/base/bytes.h"

struct acl_user;
struct call;

enum client_type { ANY_TYPE, NORMAL, PUBSUB_TYPE, REPLICA_TYPE, MASTER_TYPE };

enum client_text {
    CLIENT_ADDR,
    CLIENT_LADDR,
    CLIENT_IP,
    CLIENT_NAME,
    CLIENT_LIB_NAME,
    CLIENT_LIB_VER,
    CLIENT_FLAGS,
    CLIENT_CAPA,
    CLIENT_TEXTS
};

/* The properties that a connection must have, or must not have for options with NOT-. */
struct client_wish {
    uint64_t *ids; /* sorted, and owned by the filter; NULL selects every ID */
    size_t id_count;
    int last_id; /* the last argument that is an id */
    enum client_type type;
    const struct acl_user *user;      /* NULL for any */
    int64_t db;                       /* -1 for any */
    struct bytes texts[CLIENT_TEXTS]; /* texts to match; any text if data is NULL */
};

struct client_filter {
    const struct call *call;
    struct client_wish is, is_not;
    int64_t max_age, idle; /* seconds; 0 for any */
    bool skip_me;
};

/* Selects all connections. */
void client_filter_init(struct client_filter *filter, const struct call *call);
void client_filter_drop(struct client_filter *filter);
/* Parses the option at *i and moves *i past it. Returns false after replying with an error:
 * `unknown` if there is no such option or its value is missing. */
bool client_filter_parse(struct client_filter *filter, struct call *call, int *i,
                         enum error unknown);
bool client_filter_matches(const struct client_filter *filter, const struct client_info *info);

enum { CLIENT_FLAGS_MAX = 24 };
/* Writes the flags of CLIENT LIST, NUL-terminated. */
const char *client_flags(const struct client_info *info, char to[CLIENT_FLAGS_MAX]);
/* Returns "r" if the client follows redirections (CLIENT CAPA), else "". */
const char *client_capa(const struct session *session);
