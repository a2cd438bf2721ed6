/* client_tracking: CLIENT TRACKING, CACHING, GETREDIR and TRACKINGINFO. Depends on
 * server/engine/react/tracking.h. */
#include "server/admin/client/client_tracking.h"

#include <limits.h>
#include <stdlib.h>

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/engine/react/tracking.h"
#include "store/mem/mem.h"

/* ---- TRACKING ------------------------------------------------------------------------------- */

struct options {
    struct tracking_mode mode;
    struct bytes *prefixes;
    size_t prefix_count;
};

static bool parse_tracking_options(struct call *call, struct options *options)
{
    const struct admin_parts *context = call->context;
    struct tracking_mode *mode = &options->mode;
    int64_t id;
    for (int i = 3; i < call->argc; i++) {
        bool more = i + 1 < call->argc;
        if (arg_is(call, i, "REDIRECT") && more) {
            if (mode->redirect != NULL) return fail(call, ERR_TRACKING_REDIRECTS);
            if (!arg_int64(call, ++i, &id)) return false;
            mode->redirect = clients_find(context->clients, (uint64_t)id);
            if (mode->redirect == NULL) return fail(call, ERR_TRACKING_NO_TARGET);
        } else if (arg_is(call, i, "PREFIX") && more) {
            options->prefixes[options->prefix_count++] = call->argv[++i];
        } else if (arg_is(call, i, "BCAST")) {
            mode->broadcast = true;
        } else if (arg_is(call, i, "OPTIN")) {
            mode->opt_in = true;
        } else if (arg_is(call, i, "OPTOUT")) {
            mode->opt_out = true;
        } else if (arg_is(call, i, "NOLOOP")) {
            mode->no_loop = true;
        } else {
            return fail(call, ERR_SYNTAX);
        }
    }
    return true;
}

static int width(struct bytes text)
{
    return text.len < INT_MAX ? (int)text.len : INT_MAX;
}

static bool fail_overlap(struct call *call, struct bytes prefix, const char *which,
                         struct bytes other)
{
    return failf(call, ERR_TRACKING_OVERLAP, width(prefix), prefix.data, which, width(other),
                 other.data);
}

static bool prefixes_overlap(struct bytes a, struct bytes b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    return bytes_equal(bytes_of(a.data, len), bytes_of(b.data, len));
}

/* A prefix in the call, by its position, or one that the session already tracks. */
struct candidate {
    struct bytes text;
    size_t index; /* its index in the call, or HELD for a tracked one */
};

#define HELD SIZE_MAX

struct candidates {
    struct candidate *at;
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    const struct candidate *one = a, *other = b;
    return bytes_compare(one->text, other->text);
}

static void count_prefix(void *ctx, struct bytes prefix)
{
    (void)prefix;
    ++*(size_t *)ctx;
}

static void add_held(void *ctx, struct bytes prefix)
{
    struct candidates *all = ctx;
    all->at[all->count++] = (struct candidate){ prefix, HELD };
}

/* Refuses the first prefix that overlaps with another one. Two prefixes overlap if one begins with
 * the other. In the order of their bytes, texts that begin with a prefix follow it directly, so
 * after sorting one comparison for each text is enough: O(n log n) instead of O(n^2).
 *
 * DIFFERS: if a prefix after the first one overlaps, Redis replies with an error but turns tracking
 * on; here it stays off. (doc/differs.md) */
static bool prefixes_fit(struct call *call, const struct options *options)
{
    if (options->prefix_count == 0) return true;
    struct candidates all = { 0 };
    size_t count = options->prefix_count, first = HELD;
    tracking_each_prefix(call->session, count_prefix, &count);
    all.at = mem_alloc(count * sizeof(*all.at));
    for (size_t i = 0; i < options->prefix_count; i++)
        all.at[all.count++] = (struct candidate){ options->prefixes[i], i };
    tracking_each_prefix(call->session, add_held, &all);
    qsort(all.at, all.count, sizeof(*all.at), by_text);
    for (size_t i = 1, root = 0; i < all.count; i++) {
        if (!prefixes_overlap(all.at[root].text, all.at[i].text)) {
            root = i;
            continue;
        }
        if (all.at[root].index < first) first = all.at[root].index;
        if (all.at[i].index < first) first = all.at[i].index;
    }
    mem_free(all.at);

    if (first == HELD) return true;
    struct bytes prefix = options->prefixes[first], other;
    if (tracking_overlaps(call->session, prefix, &other))
        return fail_overlap(call, prefix, "an existing", other);
    do
        other = options->prefixes[++first];
    while (!prefixes_overlap(prefix, other));
    return fail_overlap(call, prefix, "another provided", other);
}

static bool switch_on(struct call *call, struct options *options)
{
    const struct admin_parts *context = call->context;
    struct session *session = call->session;
    const struct tracking_mode *mode = &options->mode;
    struct tracking_view now;
    bool tracks = tracking_view(session, &now);
    if (!mode->broadcast && options->prefix_count > 0) return fail(call, ERR_TRACKING_PREFIX_ALONE);
    if (tracks && now.mode.broadcast != mode->broadcast)
        return failf(call, ERR_TRACKING_SWITCH, "BCAST", " on/off");
    if (mode->broadcast && (mode->opt_in || mode->opt_out))
        return fail(call, ERR_TRACKING_OPT_BCAST);
    if (mode->opt_in && mode->opt_out) return fail(call, ERR_TRACKING_BOTH_OPTS);
    if ((mode->opt_in && now.mode.opt_out) || (mode->opt_out && now.mode.opt_in))
        return failf(call, ERR_TRACKING_SWITCH, "OPTIN/OPTOUT", "");
    if (!prefixes_fit(call, options)) return false;

    /* DIFFERS: Redis lets every user track the names of all keys. (doc/differs.md) */
    const struct acl_user *user = session->user;
    if (user != NULL && !user->unrestricted && mode->broadcast) {
        bool may = options->prefix_count > 0 || acl_user_reads_prefix(user, LIT(""));
        for (size_t i = 0; may && i < options->prefix_count; i++)
            may = acl_user_reads_prefix(user, options->prefixes[i]);
        if (!may) return fail(call, ERR_NOPERM_KEY);
    }

    tracking_on(context->engine->hooks->tracking, session, mode);
    struct bytes all_keys = LIT("");
    if (mode->broadcast && options->prefix_count == 0)
        tracking_add_prefixes(context->engine->hooks->tracking, session, &all_keys, 1);
    tracking_add_prefixes(context->engine->hooks->tracking, session, options->prefixes,
                          options->prefix_count);
    return true;
}

void cmd_client_tracking(struct call *call)
{
    const struct admin_parts *context = call->context;
    struct options options = { .prefixes =
                                   mem_alloc((size_t)call->argc * sizeof(*options.prefixes)) };
    bool parsed = parse_tracking_options(call, &options);
    if (parsed && arg_is(call, 2, "OFF")) {
        tracking_off(context->engine->hooks->tracking, call->session);
        reply_ok(call);
    } else if (parsed && !arg_is(call, 2, "ON")) {
        fail(call, ERR_SYNTAX);
    } else if (parsed && switch_on(call, &options)) {
        reply_ok(call);
    }
    mem_free(options.prefixes);
}

/* ---- CACHING -------------------------------------------------------------------------------- */

void cmd_client_caching(struct call *call)
{
    struct tracking_view now;
    bool yes = arg_is(call, 2, "YES");
    if (fail_if(call, !tracking_view(call->session, &now), ERR_CACHING_OFF)) return;
    if (fail_if(call, !yes && !arg_is(call, 2, "NO"), ERR_SYNTAX)) return;
    if (!(yes ? now.mode.opt_in : now.mode.opt_out)) {
        failf(call, ERR_CACHING_MODE, yes ? "YES" : "NO", yes ? "OPTIN" : "OPTOUT");
        return;
    }
    tracking_set_caching(call->session);
    reply_ok(call);
}

/* ---- GETREDIR and TRACKINGINFO --------------------------------------------------------------- */

static int64_t redirection_of(const struct session *session)
{
    struct tracking_view now;
    return tracking_view(session, &now) ? (int64_t)now.redirect_id : -1;
}

void cmd_client_getredir(struct call *call)
{
    resp_integer(call->out, redirection_of(call->session));
}

enum { FLAGS_MAX = 8 };

static void reply_prefix(void *ctx, struct bytes prefix)
{
    resp_bulk(ctx, prefix.data, prefix.len);
}

void cmd_client_trackinginfo(struct call *call)
{
    const char *flags[FLAGS_MAX];
    struct tracking_view now;
    size_t count = 0, prefixes = 0;
    flags[count++] = tracking_view(call->session, &now) ? "on" : "off";
    if (now.mode.broadcast) flags[count++] = "bcast";
    if (now.mode.opt_in) flags[count++] = "optin";
    if (now.mode.opt_in && now.caching) flags[count++] = "caching-yes";
    if (now.mode.opt_out) flags[count++] = "optout";
    if (now.mode.opt_out && now.caching) flags[count++] = "caching-no";
    if (now.mode.no_loop) flags[count++] = "noloop";
    if (now.broken) flags[count++] = "broken_redirect";
    resp_map(call->out, 3);
    resp_bulk_text(call->out, "flags");
    resp_set(call->out, count);
    for (size_t i = 0; i < count; i++)
        resp_bulk_text(call->out, flags[i]);
    resp_bulk_text(call->out, "redirect");
    resp_integer(call->out, redirection_of(call->session));
    resp_bulk_text(call->out, "prefixes");
    tracking_each_prefix(call->session, count_prefix, &prefixes);
    resp_array(call->out, prefixes);
    tracking_each_prefix(call->session, reply_prefix, call->out);
}
