/* expiry_why: see expiry_why.h. Reads the store's trail; store/trail/trail.h says what it
 * contains. */
#include "server/admin/expiry_why.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/cmd/call/args.h"
#include "store/base/siphash.h"
#include "store/trail/trail.h"

enum { EVENTS_MAX = 2 * TRAIL_FOUND_MAX, HASH_DIGITS = 12, COMMAND_NAME_MAX = 64 };

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

static void field_instant(const struct why_sink *sink, const char *name, msec at)
{
    if (at == NEVER || at == TRAIL_UNKNOWN)
        sink->null(sink->ctx, name);
    else
        sink->integer(sink->ctx, name, at);
}

static void field_number(const struct why_sink *sink, const char *name, bool is_there,
                         uint64_t number)
{
    if (is_there)
        sink->integer(sink->ctx, name, (int64_t)number);
    else
        sink->null(sink->ctx, name);
}

static void field_bytes(const struct why_sink *sink, const char *name, struct bytes text)
{
    if (text.data != NULL)
        sink->text(sink->ctx, name, text);
    else
        sink->null(sink->ctx, name);
}

static void field_text(const struct why_sink *sink, const char *name, const char *text)
{
    field_bytes(sink, name, bytes_of(text, text != NULL ? strlen(text) : 0));
}

static void field_hash(const struct why_sink *sink, const char *name, bool is_there, uint64_t extra)
{
    char digits[HASH_DIGITS + 1];
    snprintf(digits, sizeof(digits), "%012" PRIx64, extra & ((UINT64_C(1) << 48) - 1));
    field_text(sink, name, is_there ? digits : NULL);
}

struct name_search {
    uint64_t extra;
    struct bytes name; /* the name found; data is NULL if there is none */
};

static void look_for_name(void *ctx, struct bytes name, const struct policy *policy)
{
    struct name_search *search = ctx;
    (void)policy;
    if (trail_extra(siphash(name.data, name.len)) == search->extra) search->name = name;
}

static void write_event(const struct why_sink *sink, const struct store *store,
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

    sink->open(sink->ctx, NULL, '{', 16);
    field_text(sink, "what", whats[event->what]);
    field_instant(sink, "at", event->at);
    field_instant(sink, "deadline", event->deadline);
    field_instant(sink, "before", is_set ? event->before : NEVER);
    field_number(sink, "late-ms", has_expired, (uint64_t)(event->at - event->deadline));
    field_text(sink, "by", bys[event->by]);
    field_bytes(sink, "policy", policy.name);
    field_text(sink, "option", by_policy ? options[event->option - 1] : NULL);
    field_text(sink, "command", len > 0 ? command : NULL);
    field_number(sink, "script", true, by_command && (event->command & TRAIL_SCRIPT));
    field_number(sink, "client-id", author != NULL, author != NULL ? author->id : 0);
    field_text(sink, "client-name", author != NULL ? author->name : NULL);
    field_text(sink, "user", author != NULL ? author->user : NULL);
    field_number(sink, "memory", event->what == TRAIL_EVICTED, event->extra * 1024);
    field_number(sink, "to-db", event->what == TRAIL_MOVED || event->what == TRAIL_SWAPPED,
                 event->extra);
    field_hash(sink, "to-hash", event->what == TRAIL_RENAMED, event->extra);
    sink->close(sink->ctx, '}');
}

struct answer {
    enum { IS_LIVE, IS_OVERDUE, IS_MISSING } state;
    msec deadline;
    uint64_t hash;
    msec since;
    bool shared;
    struct trail_event events[EVENTS_MAX];
    size_t count;
};

/* Adds the ends of a member's key, with which the member ends, too. */
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
        if (!ends || what == TRAIL_FLUSHED) continue;
        size_t to = answer->count++;
        for (; to > 0 && answer->events[to - 1].at < events[i].at; to--)
            answer->events[to] = answer->events[to - 1];
        answer->events[to] = events[i];
    }
    if (since > answer->since) answer->since = since;
    answer->shared |= shared;
}

/* Moves the end of the key or member to the front of the events. The key or member is missing, so
 * its end must be the latest event; the instants do not show that for events of the same
 * millisecond. */
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

static bool find_member(const struct object *object, struct bytes member, msec *at)
{
    if (object->type == TYPE_DEHYDRATOR) {
        const struct dehydrator *dehydrator = object->dehydrator;
        const struct element *element = dehydrator_find(dehydrator, member);
        if (element != NULL) *at = dehydrator_stage(dehydrator, element).at;
        return element != NULL;
    }
    return (type_has_members(object->type) || object->type == TYPE_LEASE) &&
           object_member_deadline(object, member, at);
}

void expiry_why_answer(const struct why_question *question, const struct why_sink *sink)
{
    static const char *const states[] = { "live", "overdue", "missing" };
    const struct keyspace *ks = question->ks;
    const struct bytes *member = question->member;
    struct bytes key = question->key;
    const struct trail *trail = question->store->trail;
    uint64_t key_hash = siphash(key.data, key.len); /* once: a name may have 512 MB */
    const struct entry *entry = keyspace_find_hashed(ks, key, key_hash);
    bool has_expired = entry != NULL && entry_expired(ks, entry, question->now);
    struct answer answer = { .state = IS_MISSING, .deadline = NEVER };
    if (entry != NULL && member == NULL) {
        answer.state = has_expired ? IS_OVERDUE : IS_LIVE;
        answer.deadline = entry_expires_at(ks, entry);
    }
    if (entry != NULL && member != NULL && find_member(&entry->object, *member, &answer.deadline)) {
        bool is_element = entry->object.type == TYPE_DEHYDRATOR; /* a due element stays */
        bool is_over = !is_element && instant_expired(answer.deadline, question->now);
        answer.state = has_expired || is_over ? IS_OVERDUE : IS_LIVE;
    }

    uint64_t hash = trail_hash(key_hash, ks->db);
    answer.hash =
        member == NULL ? hash : trail_member_hash(hash, siphash(member->data, member->len));
    answer.count =
        trail_find(trail, answer.hash, ks->db, answer.events, &answer.since, &answer.shared);
    if (member != NULL) add_ends_of_key(&answer, trail, hash, ks->db);
    if (answer.state == IS_MISSING) put_end_first(&answer);

    sink->open(sink->ctx, NULL, '{', 7);
    field_text(sink, "state", states[answer.state]);
    field_instant(sink, "deadline", answer.deadline);
    field_number(sink, "db", true, question->ks->db);
    field_hash(sink, "hash", true, trail_extra(answer.hash));
    field_number(sink, "since", true, (uint64_t)answer.since);
    field_number(sink, "shared", true, answer.shared);
    sink->open(sink->ctx, "records", '[', answer.count);
    for (size_t i = 0; i < answer.count; i++)
        write_event(sink, question->store, &answer.events[i]);
    sink->close(sink->ctx, ']');
    sink->close(sink->ctx, '}');
}

static void reply_open(void *ctx, const char *name, char bracket, size_t count)
{
    if (name != NULL) resp_bulk_text(ctx, name);
    if (bracket == '{')
        resp_map(ctx, count);
    else
        resp_array(ctx, count);
}

static void reply_close(void *ctx, char bracket)
{
    (void)ctx;
    (void)bracket;
}

static void reply_text(void *ctx, const char *name, struct bytes text)
{
    resp_bulk_text(ctx, name);
    resp_bulk(ctx, text.data, text.len);
}

static void reply_number(void *ctx, const char *name, int64_t value)
{
    resp_bulk_text(ctx, name);
    resp_integer(ctx, value);
}

static void reply_nothing(void *ctx, const char *name)
{
    resp_bulk_text(ctx, name);
    resp_null(ctx);
}

void cmd_expiry_why(struct call *call)
{
    struct txn *txn = call->txn;
    if (fail_if(call, call->argc != 3 && (call->argc != 5 || !arg_is(call, 3, "MEMBER")),
                ERR_EXPIRY_WHY_OPTION))
        return;
    if (fail_if(call, txn->store->trail == NULL, ERR_EXPIRY_WHY_OFF)) return;
    /* Removes what has expired. A replica, and a server during CLIENT PAUSE, may not. */
    if (!txn->no_expiry) txn_find_without_lru(txn, call->argv[2]);
    const struct why_question question = {
        .store = txn->store,
        .ks = txn->ks,
        .key = call->argv[2],
        .member = call->argc == 5 ? &call->argv[4] : NULL,
        .now = txn->now,
    };
    const struct why_sink sink = {
        .open = reply_open,
        .close = reply_close,
        .text = reply_text,
        .integer = reply_number,
        .null = reply_nothing,
        .ctx = call->out,
    };
    expiry_why_answer(&question, &sink);
}
