/* lease: LEASE.TAKE and its companions: locks and permits, each grant with a fencing token. A
 * client that waits for a permit is blocked on the key (server/cmd/block.h), and is served when a
 * holder leaves. */
#include "server/cmd/lease/lease.h"
#include "server/cmd/block.h"
#include "server/cmd/call/args.h"
#include "store/txn/txn_lease.h"
#include "store/txn/txn_token.h"

/* Parses a ttl as the instant at which a lease that begins now ends. Returns false after sending an
 * error. */
static bool arg_lease_end(struct call *call, int i, msec *end)
{
    msec ttl, longest = call->txn->store->leases.max_ttl;
    if (!arg_int64(call, i, &ttl)) return false;
    if (ttl <= 0) return fail_named(call, ERR_BAD_EXPIRE);
    if (ttl > longest) {
        failf(call, ERR_LEASE_TTL, (long long)longest);
        return false;
    }
    if (instant_after(call->txn->now, ttl, end)) return true;
    return fail_named(call, ERR_BAD_EXPIRE);
}

/* Finds the holder with the token at argument 2. If there is none, or no key, *entry is NULL.
 * Returns false after sending an error. */
static bool find_holder(struct call *call, bool reads, struct entry **entry, struct holder *holder)
{
    int64_t token;
    if (!arg_int64(call, 2, &token)) return false;
    if (!(reads ? find_typed_counted : find_typed)(call, 1, TYPE_LEASE, entry)) return false;
    if (*entry != NULL && !lease_find_token((*entry)->object.lease, token, holder)) *entry = NULL;
    return true;
}

struct take {
    struct bytes owner;
    msec end;
    int64_t permits;
    bool waits;
    msec until; /* end of the wait */
};

/* Without WAIT, replies that no permit is free. With WAIT, blocks the client until one is; the
 * command also runs again at the instant `again`, unless that is 0. */
static void wait_or_refuse(struct call *call, const struct take *take, msec again)
{
    if (take->waits)
        block_on(call, &(struct block_request){ .first = 1,
                                                .count = 1,
                                                .type = TYPE_LEASE,
                                                .until = take->until,
                                                .again = again,
                                                .or_gone = true });
    else
        resp_null_array(call->out);
}

static void grant(struct call *call, struct entry *entry, const struct take *take,
                  const struct holder *old)
{
    struct holder holder = { take->owner, old != NULL ? old->token : 0, take->end };
    if (old == NULL) {
        if (fail_if(call, !txn_token_reserve(call->txn, 1), ERR_NO_TOKENS)) return;
        holder.token = txn_token_next(call->txn);
    }
    entry = entry_or_new(call, 1, entry, TYPE_LEASE);
    txn_lease_take(call->txn, entry, &holder, (uint32_t)take->permits);
    resp_array(call->out, 2);
    resp_integer(call->out, holder.token);
    resp_integer(call->out, txn_lease_end(call->txn, call->argv[1], holder.end));
}

static void cmd_lease_take(struct call *call)
{
    struct take take = { .owner = call->argv[2], .permits = 1 };
    bool has_permits = false;
    struct entry *entry;
    struct holder old;
    const struct leases *leases = &call->txn->store->leases;
    if (!arg_lease_end(call, 3, &take.end)) return;
    for (int i = 4; i < call->argc; i += 2) {
        bool is_permits = arg_is(call, i, "PERMITS"), is_wait = arg_is(call, i, "WAIT");
        if (!is_permits && !is_wait) {
            arg_refuse_option(call, i, ERR_OPTION_UNKNOWN);
            return;
        }
        if (is_permits ? has_permits : take.waits) {
            arg_refuse_option(call, i, ERR_OPTION_CONFLICT);
            return;
        }
        has_permits |= is_permits;
        take.waits |= is_wait;
        if (!arg_has_value(call, i)) return;
        if (is_wait && !arg_timeout(call, i + 1, &take.until)) return;
        if (is_permits && !arg_range(call, i + 1, 1, LEASE_PERMITS_MAX, &take.permits, ERR_PERMITS))
            return;
    }
    if (fail_if(call, leases->granted_elsewhere, ERR_READONLY)) return;
    if (!find_typed(call, 1, TYPE_LEASE, &entry)) return;
    msec quiet = leases_quiet(leases, call->txn->now);
    if (quiet > 0 && !(take.waits && call->block != NULL)) {
        failf(call, ERR_LEASES_QUIET, (long long)quiet);
        return;
    }
    struct lease *lease = entry != NULL ? entry->object.lease : NULL;
    if (lease != NULL && lease_permits(lease) != take.permits) {
        failf(call, ERR_OTHER_PERMITS, (long long)lease_permits(lease));
        return;
    }
    bool again = lease != NULL && lease_find_owner(lease, take.owner, &old);
    if (quiet > 0)
        wait_or_refuse(call, &take, leases->quiet_until);
    else if (again)
        grant(call, entry, &take, &old);
    /* Clients that wait come first: a permit that has just become free goes to them. */
    else if ((lease == NULL || (int64_t)lease_count(lease) < take.permits) &&
             (call->ready != NULL ||
              leases_waiting(leases, call->txn->ks->db, call->argv[1], 1) == 0))
        grant(call, entry, &take, NULL);
    else
        wait_or_refuse(call, &take, 0);
}

static void cmd_lease_extend(struct call *call)
{
    msec end;
    struct entry *entry;
    struct holder holder;
    if (!arg_lease_end(call, 3, &end)) return;
    if (!find_holder(call, false, &entry, &holder)) return;
    if (entry == NULL) {
        resp_null(call->out);
        return;
    }
    txn_member_expire(call->txn, entry, holder.owner, end);
    resp_integer(call->out, txn_lease_end(call->txn, call->argv[1], end));
}

static void cmd_lease_drop(struct call *call)
{
    struct entry *entry;
    struct holder holder;
    if (!find_holder(call, false, &entry, &holder)) return;
    resp_integer(call->out, entry != NULL && txn_lease_drop(call->txn, entry, holder.owner));
}

static void cmd_lease_check(struct call *call)
{
    struct entry *entry;
    struct holder holder;
    if (!find_holder(call, true, &entry, &holder)) return;
    if (entry == NULL)
        resp_null(call->out);
    else
        resp_integer(call->out,
                     txn_lease_end(call->txn, call->argv[1], holder.end) - call->txn->now);
}

static void cmd_lease_info(struct call *call)
{
    struct entry *entry;
    const struct txn *txn = call->txn;
    const struct leases *leases = &txn->store->leases;
    if (!find_typed_counted(call, 1, TYPE_LEASE, &entry)) return;
    const struct lease *lease = entry != NULL ? entry->object.lease : NULL;
    resp_map(call->out, 5);
    reply_named_count(call, "permits", lease != NULL ? lease_permits(lease) : 0);
    reply_named_count(call, "held", lease != NULL ? lease_count(lease) : 0);
    reply_named_count(call, "waiting",
                      leases_waiting(leases, txn->ks->db, call->argv[1], SIZE_MAX));
    reply_named_integer(call, "grants-in-ms", leases_quiet(leases, txn->now));

    struct lease_iter iter;
    struct holder holder;
    msec last = txn_lease_end(call->txn, call->argv[1], NEVER);
    resp_bulk_text(call->out, "holders");
    resp_array(call->out, lease != NULL ? lease_count(lease) : 0);
    if (lease == NULL) return;
    lease_iter_begin(&iter, lease);
    while (lease_iter_next(&iter, &holder)) {
        resp_array(call->out, 3);
        reply_bytes(call, holder.owner);
        resp_integer(call->out, holder.token);
        resp_integer(call->out, (holder.end < last ? holder.end : last) - call->txn->now);
    }
}

static const struct command rows[] = {
    ROW("LEASE.TAKE", cmd_lease_take, -4, WRITE | GROWS | FAST | BLOCKING, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "0.2.0",
        .replies =
            REPLIES("[integer integer]: the fencing token, and the end of the lease as a Unix time "
                    "in milliseconds",
                    "null-array: no permit is free or other clients are waiting; with WAIT, the "
                    "timeout was reached"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE,
                         ERR_OPTION_CONFLICT, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_LEASE_TTL,
                         ERR_PERMITS, ERR_OTHER_PERMITS, ERR_READONLY, ERR_LEASES_QUIET,
                         ERR_NO_TOKENS, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT),
        .complexity = "O(log(N)) where N is the number of holders.",
        .syntax = "key owner ttl [PERMITS count] [WAIT timeout]",
        .summary =
            "Takes a lock, or one of several permits, for ttl milliseconds. With WAIT, waits "
            "until it can be granted."),
    ROW("LEASE.EXTEND", cmd_lease_extend, 4, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.2.0",
        .replies = REPLIES("integer: the new end of the lease as a Unix time in milliseconds",
                           "null: the token no longer holds a lease"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_LEASE_TTL),
        .complexity = "O(log(N)) where N is the number of holders.", .syntax = "key token ttl",
        .summary = "Makes a lease end ttl milliseconds from now."),
    ROW("LEASE.DROP", cmd_lease_drop, 3, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_DELETE, .since = "0.2.0",
        .replies = REPLIES("integer: 1 if the lease was ended, 0 if the token no longer holds one"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(log(N)) where N is the number of holders.", .syntax = "key token",
        .summary = "Ends a lease before its time."),
    ROW("LEASE.CHECK", cmd_lease_check, 3, READONLY | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "0.2.0",
        .replies = REPLIES("integer: the milliseconds left of the lease",
                           "null: the token no longer holds a lease"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER), .complexity = "O(1)",
        .syntax = "key token", .summary = "Returns how much longer a lease will be held."),
    ROW("LEASE.INFO", cmd_lease_info, 2, READONLY, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .tips = "nondeterministic_output_order", .since = "0.2.0",
        .replies = REPLIES(
            "map['permits' integer 'held' integer 'waiting' integer 'grants-in-ms' integer "
            "'holders' "
            "[[bulk integer integer] ...]]: the numbers of permits, of holders and of waiting "
            "clients; milliseconds until leases are granted again after a promotion or crash (0: "
            "they are granted now); owner, token and milliseconds left of each holder"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity =
            "O(N+W) where N is the number of holders and W the number of waiting clients.",
        .syntax = "key",
        .summary = "Returns who holds a lock or permits, and how many clients wait."),
};

const struct command_group lease_commands = COMMAND_GROUP("lease", rows);
