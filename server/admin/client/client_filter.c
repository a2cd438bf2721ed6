/* client_filter: see client_filter.h. */
#include "server/admin/client/client_filter.h"

#include <stdlib.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/replica/replicas.h"
#include "store/base/number.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"

void client_filter_init(struct client_filter *filter, const struct call *call)
{
    *filter = (struct client_filter){ .call = call };
    filter->is.db = filter->is_not.db = -1;
}

void client_filter_drop(struct client_filter *filter)
{
    mem_free(filter->is.ids);
    mem_free(filter->is_not.ids);
}

/* ---- what a connection has ------------------------------------------------------------------- */

static bool is_replica(const struct session *session)
{
    return session->replica != NULL && replica_has_asked(session->replica);
}

static enum client_type type_of(const struct client_info *info)
{
    if (info->is_master) return MASTER_TYPE;
    if (is_replica(info->session)) return REPLICA_TYPE;
    return session_subscriptions(info->session) > 0 ? PUBSUB_TYPE : NORMAL;
}

const char *client_flags(const struct client_info *info, char to[CLIENT_FLAGS_MAX])
{
    char *p = to;
    const struct session *session = info->session;
    struct tracking_view tracking;
    bool tracks = tracking_view(session, &tracking);
    if (info->is_master) *p++ = 'M';
    if (session->monitoring) *p++ = 'O';
    if (is_replica(session)) *p++ = 'S';
    if (session_subscriptions(session) > 0) *p++ = 'P';
    if (session->multi != NULL) *p++ = 'x';
    if (session_is_blocked(session)) *p++ = 'b';
    if (tracks) *p++ = 't';
    if (tracking.broken) *p++ = 'R';
    if (tracking.mode.broadcast) *p++ = 'B';
    if (session->watch_touched) *p++ = 'd';
    if (session->state == SESSION_CLOSING) *p++ = 'c';
    if (info->unix_socket) *p++ = 'U';
    if (session->reads_replica) *p++ = 'r';
    if (session->no_evict) *p++ = 'e';
    if (session->no_touch) *p++ = 'T';
    if (p == to) *p++ = 'N';
    *p = '\0';
    return to;
}

const char *client_capa(const struct session *session)
{
    return session->redirects ? "r" : "";
}

static struct bytes view_of(const char *text)
{
    return bytes_of(text, strlen(text));
}

static struct bytes view_or_none(const struct blob *blob)
{
    return blob != NULL ? blob_view(blob) : (struct bytes){ .data = NULL };
}

/* The address without its port. */
static struct bytes ip_of(const char *peer)
{
    const char *colon = strrchr(peer, ':');
    return bytes_of(peer, colon != NULL ? (size_t)(colon - peer) : strlen(peer));
}

/* The texts that are compared as a whole; data NULL: there is none. */
static struct bytes text_of(const struct client_info *info, enum client_text which)
{
    switch (which) {
    case CLIENT_ADDR: return view_of(info->peer);
    case CLIENT_LADDR: return view_of(info->local);
    case CLIENT_IP: return ip_of(info->peer);
    case CLIENT_NAME: return view_or_none(info->session->name);
    case CLIENT_LIB_NAME: return view_or_none(info->session->lib_name);
    case CLIENT_LIB_VER: return view_or_none(info->session->lib_version);
    default: return (struct bytes){ .data = NULL };
    }
}

/* ---- matching -------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static bool has_id(const struct client_wish *wish, uint64_t id)
{
    return bsearch(&id, wish->ids, wish->id_count, sizeof(id), compare_ids) != NULL;
}

/* Are all of these letters among the connection's? */
static bool has_letters(const char *letters, struct bytes wanted)
{
    for (size_t i = 0; i < wanted.len; i++)
        if (memchr(letters, wanted.data[i], strlen(letters)) == NULL) return false;
    return true;
}

static bool has_text(const struct client_info *info, enum client_text which, struct bytes wanted)
{
    char flags[CLIENT_FLAGS_MAX];
    if (which == CLIENT_FLAGS) return has_letters(client_flags(info, flags), wanted);
    if (which == CLIENT_CAPA) return has_letters(client_capa(info->session), wanted);
    struct bytes text = text_of(info, which);
    return text.data != NULL && bytes_equal(text, wanted);
}

/* Returns whether each wish that was given is as it `must` be: fulfilled or not. */
static bool fits(const struct client_wish *wish, const struct client_info *info, bool must)
{
    if (wish->ids != NULL && has_id(wish, info->id) != must) return false;
    if (wish->type != ANY_TYPE && (wish->type == type_of(info)) != must) return false;
    if (wish->user != NULL && (wish->user == info->session->user) != must) return false;
    if (wish->db >= 0 && (wish->db == info->session->db) != must) return false;
    for (enum client_text i = 0; i < CLIENT_TEXTS; i++)
        if (wish->texts[i].data != NULL && has_text(info, i, wish->texts[i]) != must) return false;
    return true;
}

bool client_filter_matches(const struct client_filter *filter, const struct client_info *info)
{
    return fits(&filter->is, info, true) && fits(&filter->is_not, info, false) &&
           info->age_sec >= filter->max_age && info->idle_sec >= filter->idle &&
           !(filter->skip_me && info->session == filter->call->session);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool parse_type(struct call *call, int i, enum client_type *type)
{
    if (arg_is(call, i, "NORMAL"))
        *type = NORMAL;
    else if (arg_is(call, i, "PUBSUB"))
        *type = PUBSUB_TYPE;
    else if (arg_is(call, i, "REPLICA") || arg_is(call, i, "SLAVE"))
        *type = REPLICA_TYPE;
    else if (arg_is(call, i, "MASTER") || arg_is(call, i, "PRIMARY"))
        *type = MASTER_TYPE;
    else {
        return failf(call, ERR_CLIENT_TYPE, arg_width(call, i), call->argv[i].data);
    }
    return true;
}

static bool parse_user(struct call *call, int i, const struct acl_user **user)
{
    const struct connection_context *context = call->context;
    *user = acl_find(context->engine->acl, call->argv[i]);
    if (*user == NULL) failf(call, ERR_NO_SUCH_USER, arg_width(call, i), call->argv[i].data);
    return *user != NULL;
}

static bool parse_db(struct call *call, int i, int64_t *db)
{
    unsigned count = call->txn->store->database_count;
    if (!arg_int64_or(call, i, db, ERR_CLIENT_DB)) return false;
    if (*db >= 0 && *db < count) return true;
    return failf(call, ERR_CLIENT_DB_RANGE, count - 1);
}

static bool parse_seconds(struct call *call, int i, const char *name, int64_t *seconds)
{
    if (!number_parse_int64(call->argv[i].data, call->argv[i].len, seconds))
        return failf(call, ERR_BAD_MSEC, name);
    if (*seconds > 0) return true;
    return failf(call, ERR_CLIENT_SECONDS, name);
}

static bool parse_letters(struct call *call, int i, enum client_text which, struct bytes *letters)
{
    const char *known = which == CLIENT_FLAGS ? "bcdeirtuxABEIMNOPRSTU" : "r";
    *letters = call->argv[i];
    if (has_letters(known, *letters)) return true;
    return failf(call, which == CLIENT_FLAGS ? ERR_CLIENT_FLAGS : ERR_CLIENT_CAPA,
                 arg_width(call, i), call->argv[i].data);
}

/* One or more ids, up to an argument that is no number. */
static bool parse_ids(struct call *call, int *i, struct client_wish *wish)
{
    int64_t id;
    if (!arg_int64_or(call, *i, &id, ERR_CLIENT_ID)) return false;
    int first = *i;
    while (*i < call->argc && number_parse_int64(call->argv[*i].data, call->argv[*i].len, &id))
        ++*i;
    wish->last_id = --*i;
    wish->id_count = (size_t)(*i - first) + 1;
    wish->ids = mem_realloc(wish->ids, wish->id_count * sizeof(*wish->ids));
    for (int at = first; at <= *i; at++) {
        number_parse_int64(call->argv[at].data, call->argv[at].len, &id);
        wish->ids[at - first] = (uint64_t)id;
    }
    qsort(wish->ids, wish->id_count, sizeof(*wish->ids), compare_ids);
    return true;
}

/* The options that have a form with NOT-; *i is the argument of the value. */
static enum arg_taken parse_wish(struct call *call, const char *word, int *i,
                                 struct client_wish *wish)
{
    static const char *const names[CLIENT_TEXTS] = {
        [CLIENT_ADDR] = "ADDR",   [CLIENT_LADDR] = "LADDR",       [CLIENT_IP] = "IP",
        [CLIENT_NAME] = "NAME",   [CLIENT_LIB_NAME] = "LIB-NAME", [CLIENT_LIB_VER] = "LIB-VER",
        [CLIENT_FLAGS] = "FLAGS", [CLIENT_CAPA] = "CAPA",
    };
    bool valid = true;
    if (strcasecmp(word, "ID") == 0)
        valid = parse_ids(call, i, wish);
    else if (strcasecmp(word, "TYPE") == 0)
        valid = parse_type(call, *i, &wish->type);
    else if (strcasecmp(word, "USER") == 0)
        valid = parse_user(call, *i, &wish->user);
    else if (strcasecmp(word, "DB") == 0)
        valid = parse_db(call, *i, &wish->db);
    else {
        enum client_text which = 0;
        while (which < CLIENT_TEXTS && strcasecmp(word, names[which]) != 0)
            which++;
        if (which == CLIENT_TEXTS) return ARG_OTHER;
        if (which >= CLIENT_FLAGS)
            valid = parse_letters(call, *i, which, &wish->texts[which]);
        else
            wish->texts[which] = call->argv[*i];
    }
    return valid ? ARG_TAKEN : ARG_FAILED;
}

static enum arg_taken parse_option(struct client_filter *filter, struct call *call, int *i)
{
    char word[16];
    int at = (*i)++;
    if (*i == call->argc || call->argv[at].len >= sizeof(word)) return ARG_OTHER;
    memcpy(word, call->argv[at].data, call->argv[at].len);
    word[call->argv[at].len] = '\0';
    if (arg_is(call, at, "SKIPME")) {
        filter->skip_me = arg_is(call, *i, "YES");
        return filter->skip_me || arg_is(call, *i, "NO") ? ARG_TAKEN : ARG_OTHER;
    }
    if (arg_is(call, at, "MAXAGE"))
        return parse_seconds(call, *i, "maxage", &filter->max_age) ? ARG_TAKEN : ARG_FAILED;
    if (arg_is(call, at, "IDLE"))
        return parse_seconds(call, *i, "idle", &filter->idle) ? ARG_TAKEN : ARG_FAILED;
    if (strncasecmp(word, "NOT-", 4) == 0) return parse_wish(call, word + 4, i, &filter->is_not);
    return parse_wish(call, word, i, &filter->is);
}

bool client_filter_parse(struct client_filter *filter, struct call *call, int *i,
                         enum error unknown)
{
    enum arg_taken taken = parse_option(filter, call, i);
    if (taken == ARG_OTHER) fail(call, unknown);
    ++*i;
    return taken == ARG_TAKEN;
}
