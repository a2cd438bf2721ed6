/* expiry_why: see expiry_why.h. Reads the store's trail; store/trail/trail.h says what it
 * keeps. */
#include "server/admin/expiry_why.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/cmd/call/args.h"
#include "store/base/siphash.h"
#include "store/trail/trail.h"

enum { EVENTS_MAX = 2 * TRAIL_FOUND_MAX, HASH_DIGITS = 12, COMMAND_NAME_MAX = 64 };

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const whats[TRAIL_WHATS] = {
    [TRAIL_NONE] = "",
    [TRAIL_SET] = "deadline-set",
    [TRAIL_REMOVED] = "deadline-removed",
    [TRAIL_TRIMMED] = "trimmed",
    [TRAIL_OVERWRITTEN] = "overwritten",
    [TRAIL_EXPIRED] = "expired",
    [TRAIL_EVICTED] = "evicted",
    [TRAIL_DELETED] = "deleted",
    [TRAIL_EMPTIED] = "emptied",
    [TRAIL_RENAMED] = "renamed",
    [TRAIL_MOVED] = "moved",
    [TRAIL_TAKEN] = "taken",
    [TRAIL_DEAD] = "dead",
    [TRAIL_FLUSHED] = "flushed",
    [TRAIL_SWAPPED] = "swapped",
    [TRAIL_REPLACED] = "replaced",
};

static const char *const bys[TRAIL_BYS] = {
    [TRAIL_BY_COMMAND] = "command", [TRAIL_BY_EXPIRY] = "expiry", [TRAIL_BY_EVICTION] = "eviction",
    [TRAIL_BY_POLICY] = "policy",   [TRAIL_BY_MASTER] = "master",
};

#define OPTION_NAME(name, syntax) [POLICY_##name] = #name,
static const char *const options[POLICY_OPTIONS] = { POLICY_OPTION_LIST(OPTION_NAME) };

/* ---- one record ------------------------------------------------------------------------------ */

static void field_instant(struct resp_writer *out, const char *name, msec at)
{
    resp_bulk_text(out, name);
    if (at == NEVER || at == TRAIL_UNKNOWN)
        resp_null(out);
    else
        resp_integer(out, at);
}

static void field_number(struct resp_writer *out, const char *name, bool is_there, uint64_t number)
{
    resp_bulk_text(out, name);
    if (is_there)
        resp_integer(out, (int64_t)number);
    else
        resp_null(out);
}

static void field_text(struct resp_writer *out, const char *name, const char *text)
{
    resp_bulk_text(out, name);
    if (text != NULL)
        resp_bulk_text(out, text);
    else
        resp_null(out);
}

static void field_hash(struct resp_writer *out, const char *name, bool is_there, uint64_t extra)
{
    char digits[HASH_DIGITS + 1];
    snprintf(digits, sizeof(digits), "%012" PRIx64, extra & ((UINT64_C(1) << 48) - 1));
    field_text(out, name, is_there ? digits : NULL);
}

struct name_search {
    uint64_t extra;
    struct bytes name; /* data NULL: none found */
};

static void look_for_name(void *ctx, struct bytes name, const struct policy *policy)
{
    struct name_search *search = ctx;
    (void)policy;
    if (trail_extra(siphash(name.data, name.len)) == search->extra) search->name = name;
}

static void reply_event(struct resp_writer *out, const struct store *store,
                        const struct trail_event *event)
{
    const struct trail *trail = store->trail;
    const struct trail_author *author = trail_author(trail, event);
    bool is_set = event->what == TRAIL_SET, by_command = event->by == TRAIL_BY_COMMAND;
    bool by_policy = event->by == TRAIL_BY_POLICY && event->option > 0;
    bool has_expired = event->what == TRAIL_EXPIRED && event->deadline != NEVER;
    struct name_search policy = { .extra = event->extra };
    char command[COMMAND_NAME_MAX];
    unsigned number = event->command & (TRAIL_SCRIPT - 1u);
    if (by_policy) policies_each(&store->policies, look_for_name, &policy);
    size_t len =
        by_command ? trail->asker.command(trail->asker.ctx, number, command, sizeof(command)) : 0;

    resp_map(out, 16);
    field_text(out, "what", whats[event->what]);
    field_instant(out, "at", event->at);
    field_instant(out, "deadline", event->deadline);
    field_instant(out, "before", is_set ? event->before : NEVER);
    field_number(out, "late-ms", has_expired, (uint64_t)(event->at - event->deadline));
    field_text(out, "by", bys[event->by]);
    resp_bulk_text(out, "policy");
    if (policy.name.data != NULL)
        resp_bulk(out, policy.name.data, policy.name.len);
    else
        resp_null(out);
    field_text(out, "option", by_policy ? options[event->option - 1] : NULL);
    field_text(out, "command", len > 0 ? command : NULL);
    resp_bulk_text(out, "script");
    resp_integer(out, by_command && (event->command & TRAIL_SCRIPT));
    field_number(out, "client-id", author != NULL, author != NULL ? author->id : 0);
    field_text(out, "client-name", author != NULL ? author->name : NULL);
    field_text(out, "user", author != NULL ? author->user : NULL);
    field_number(out, "memory", event->what == TRAIL_EVICTED, event->extra * 1024);
    field_number(out, "to-db", event->what == TRAIL_MOVED || event->what == TRAIL_SWAPPED,
                 event->extra);
    field_hash(out, "to-hash", event->what == TRAIL_RENAMED, event->extra);
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct answer {
    enum { IS_LIVE, IS_OVERDUE, IS_MISSING } state;
    msec deadline;
    uint64_t hash;
    msec since;
    bool shared;
    struct trail_event events[EVENTS_MAX];
    size_t count;
};

static void add_event(struct answer *answer, const struct trail_event *event)
{
    size_t i = answer->count++;
    for (; i > 0 && answer->events[i - 1].at < event->at; i--)
        answer->events[i] = answer->events[i - 1];
    answer->events[i] = *event;
}

/* A member ends with its key too. */
static void add_ends_of_key(struct answer *answer, const struct trail *trail, uint64_t hash,
                            unsigned db)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    msec since;
    bool shared;
    size_t count = trail_find(trail, hash, db, events, &since, &shared);
    for (size_t i = 0; i < count; i++) {
        enum trail_what what = events[i].what;
        bool ends = trail_is_end(what) || what == TRAIL_OVERWRITTEN;
        if (ends && what != TRAIL_FLUSHED) add_event(answer, &events[i]);
    }
    if (since > answer->since) answer->since = since;
    answer->shared |= shared;
}

/* Instants alone do not tell the order within a millisecond; that the name is missing does. */
static void put_end_first(struct answer *answer)
{
    struct trail_event *events = answer->events;
    size_t i = 0;
    while (i < answer->count && events[i].at == events[0].at && !trail_is_end(events[i].what) &&
           events[i].what != TRAIL_OVERWRITTEN)
        i++;
    if (i == answer->count || events[i].at != events[0].at) return;
    struct trail_event end = events[i];
    memmove(&events[1], &events[0], i * sizeof(*events));
    events[0] = end;
}

static bool find_member(const struct entry *entry, struct bytes member, msec *at)
{
    if (entry->object.type == TYPE_DEHYDRATOR) {
        const struct dehydrator *dehydrator = entry->object.dehydrator;
        const struct element *element = dehydrator_find(dehydrator, member);
        if (element != NULL) *at = dehydrator_stage(dehydrator, element).at;
        return element != NULL;
    }
    return type_has_members(entry->object.type) &&
           object_member_deadline(&entry->object, member, at);
}

static void examine(struct call *call, const struct bytes *member, struct answer *answer)
{
    struct txn *txn = call->txn;
    struct bytes key = call->argv[2];
    const struct trail *trail = txn->store->trail;
    unsigned db = txn->ks->db;
    struct entry *entry = txn_find_without_lru(txn, key);
    bool is_there = entry != NULL;
    *answer = (struct answer){ .state = IS_MISSING, .deadline = NEVER };
    if (is_there && member == NULL) answer->deadline = entry_expires_at(txn->ks, entry);
    if (is_there && member != NULL) is_there = find_member(entry, *member, &answer->deadline);
    if (is_there) answer->state = IS_LIVE;
    /* A replica, and a server during CLIENT PAUSE, hide what they may not remove. */
    const struct entry *kept = keyspace_find(txn->ks, key);
    if (entry == NULL && kept != NULL && member == NULL) {
        answer->state = IS_OVERDUE;
        answer->deadline = entry_expires_at(txn->ks, kept);
    }

    uint64_t hash = trail_hash(siphash(key.data, key.len), db);
    answer->hash =
        member == NULL ? hash : trail_member_hash(hash, siphash(member->data, member->len));
    answer->count =
        trail_find(trail, answer->hash, db, answer->events, &answer->since, &answer->shared);
    if (member != NULL) add_ends_of_key(answer, trail, hash, db);
    if (answer->state == IS_MISSING) put_end_first(answer);
}

void cmd_expiry_why(struct call *call)
{
    static const char *const states[] = { "live", "overdue", "missing" };
    const struct bytes *member = NULL;
    if (call->argc != 3 && (call->argc != 5 || !arg_is(call, 3, "MEMBER"))) {
        fail(call, ERR_EXPIRY_WHY_OPTION);
        return;
    }
    if (call->txn->store->trail == NULL) {
        fail(call, ERR_EXPIRY_WHY_OFF);
        return;
    }
    if (call->argc == 5) member = &call->argv[4];
    struct answer answer;
    examine(call, member, &answer);

    struct resp_writer *out = call->out;
    resp_map(out, 7);
    field_text(out, "state", states[answer.state]);
    field_instant(out, "deadline", answer.deadline);
    reply_named_integer(call, "db", call->txn->ks->db);
    field_hash(out, "hash", true, trail_extra(answer.hash));
    reply_named_integer(call, "since", answer.since);
    reply_named_integer(call, "shared", answer.shared);
    resp_bulk_text(out, "records");
    resp_array(out, answer.count);
    for (size_t i = 0; i < answer.count; i++)
        reply_event(out, call->txn->store, &answer.events[i]);
}
