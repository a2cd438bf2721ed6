/* client_filter: see client_filter.h. */
#include "server/admin/client/client_filter.h"

#include <stdlib.h>

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/replica/replicas.h"
#include "store/base/number.h"
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

/* ---- matching -------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* Are all these letters among the connection's? */
static bool has_letters(const char *letters, struct bytes wanted)
{
    for (size_t i = 0; i < wanted.len; i++)
        if (memchr(letters, wanted.data[i], strlen(letters)) == NULL) return false;
    return true;
}

static bool has_text(const struct client_info *info, enum client_text which, struct bytes wanted)
{
    char flags[CLIENT_FLAGS_MAX];
    const char *port = strrchr(info->peer, ':');
    struct bytes text = { .data = NULL }; /* the text to compare as a whole, if it is set */
    switch (which) {
    case CLIENT_FLAGS: return has_letters(client_flags(info, flags), wanted);
    case CLIENT_CAPA: return has_letters(client_capa(info->session), wanted);
    case CLIENT_ADDR: text = view_of(info->peer); break;
    case CLIENT_LADDR: text = view_of(info->local); break;
    case CLIENT_IP:
        text = view_of(info->peer);
        if (port != NULL) text.len = (size_t)(port - info->peer);
        break;
    case CLIENT_NAME: text = view_or_none(info->session->name); break;
    case CLIENT_LIB_NAME: text = view_or_none(info->session->lib_name); break;
    case CLIENT_LIB_VER: text = view_or_none(info->session->lib_version); break;
    default: break;
    }
    return text.data != NULL && bytes_equal(text, wanted);
}

/* Does the connection match each option that was given? If `must` is false: does it match none? */
static bool fits(const struct client_wish *wish, const struct client_info *info, bool must)
{
    if (wish->ids != NULL) {
        uint64_t id = info->id;
        bool has_id = bsearch(&id, wish->ids, wish->id_count, sizeof(id), compare_ids) != NULL;
        if (has_id != must) return false;
    }
    if (wish->type != ANY_TYPE) {
        enum client_type type = info->is_master                            ? MASTER_TYPE
                                : is_replica(info->session)                ? REPLICA_TYPE
                                : session_subscriptions(info->session) > 0 ? PUBSUB_TYPE
                                                                           : NORMAL;
        if ((wish->type == type) != must) return false;
    }
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

static bool parse_seconds(struct call *call, int i, const char *name, int64_t *seconds)
{
    if (!number_parse_int64(call->argv[i].data, call->argv[i].len, seconds))
        return failf(call, ERR_BAD_MSEC, name);
    if (*seconds > 0) return true;
    return failf(call, ERR_CLIENT_SECONDS, name);
}

/* Parses one or more ids, up to an argument that is no number. */
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

/* Parses an option that also has a form NOT-; its value is argument *i. */
static enum arg_taken parse_wish(struct call *call, const char *word, int *i,
                                 struct client_wish *wish)
{
    static const char *const names[CLIENT_TEXTS] = {
        [CLIENT_ADDR] = "ADDR",   [CLIENT_LADDR] = "LADDR",       [CLIENT_IP] = "IP",
        [CLIENT_NAME] = "NAME",   [CLIENT_LIB_NAME] = "LIB-NAME", [CLIENT_LIB_VER] = "LIB-VER",
        [CLIENT_FLAGS] = "FLAGS", [CLIENT_CAPA] = "CAPA",
    };
    const struct admin_parts *context = call->context;
    struct bytes value = call->argv[*i];
    bool valid = true;
    if (strcasecmp(word, "ID") == 0) {
        valid = parse_ids(call, i, wish);
    } else if (strcasecmp(word, "TYPE") == 0) {
        if (arg_is(call, *i, "NORMAL"))
            wish->type = NORMAL;
        else if (arg_is(call, *i, "PUBSUB"))
            wish->type = PUBSUB_TYPE;
        else if (arg_is(call, *i, "REPLICA") || arg_is(call, *i, "SLAVE"))
            wish->type = REPLICA_TYPE;
        else if (arg_is(call, *i, "MASTER") || arg_is(call, *i, "PRIMARY"))
            wish->type = MASTER_TYPE;
        else
            valid = failf(call, ERR_CLIENT_TYPE, arg_width(call, *i), value.data);
    } else if (strcasecmp(word, "USER") == 0) {
        wish->user = acl_find(context->engine->acl, value);
        valid =
            wish->user != NULL || failf(call, ERR_NO_SUCH_USER, arg_width(call, *i), value.data);
    } else if (strcasecmp(word, "DB") == 0) {
        unsigned count = call->txn->store->database_count;
        valid =
            arg_int64_or(call, *i, &wish->db, ERR_CLIENT_DB) &&
            ((wish->db >= 0 && wish->db < count) || failf(call, ERR_CLIENT_DB_RANGE, count - 1));
    } else {
        enum client_text which = 0;
        while (which < CLIENT_TEXTS && strcasecmp(word, names[which]) != 0)
            which++;
        if (which == CLIENT_TEXTS) return ARG_OTHER;
        wish->texts[which] = value;
        if (which == CLIENT_FLAGS)
            valid = has_letters("bcdeirtuxABEIMNOPRSTU", value) ||
                    failf(call, ERR_CLIENT_FLAGS, arg_width(call, *i), value.data);
        if (which == CLIENT_CAPA)
            valid = has_letters("r", value) ||
                    failf(call, ERR_CLIENT_CAPA, arg_width(call, *i), value.data);
    }
    return valid ? ARG_TAKEN : ARG_FAILED;
}

bool client_filter_parse(struct client_filter *filter, struct call *call, int *i,
                         enum error unknown)
{
    enum arg_taken taken = ARG_OTHER;
    char word[16];
    int at = (*i)++;
    size_t len = call->argv[at].len;
    if (*i < call->argc && len < sizeof(word)) {
        memcpy(word, call->argv[at].data, len);
        word[len] = '\0';
        if (arg_is(call, at, "SKIPME")) {
            filter->skip_me = arg_is(call, *i, "YES");
            if (filter->skip_me || arg_is(call, *i, "NO")) taken = ARG_TAKEN;
        } else if (arg_is(call, at, "MAXAGE")) {
            bool valid = parse_seconds(call, *i, "maxage", &filter->max_age);
            taken = valid ? ARG_TAKEN : ARG_FAILED;
        } else if (arg_is(call, at, "IDLE")) {
            bool valid = parse_seconds(call, *i, "idle", &filter->idle);
            taken = valid ? ARG_TAKEN : ARG_FAILED;
        } else if (strncasecmp(word, "NOT-", 4) == 0) {
            taken = parse_wish(call, word + 4, i, &filter->is_not);
        } else {
            taken = parse_wish(call, word, i, &filter->is);
        }
    }
    if (taken == ARG_OTHER) fail(call, unknown);
    ++*i;
    return taken == ARG_TAKEN;
}
