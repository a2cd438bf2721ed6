/* key_copy: COPY, MOVE and SWAPDB. Keys and members keep their deadlines. */
#include <limits.h>

#include "server/cmd/call/args.h"
#include "server/cmd/key/key.h"

static bool is_database(struct call *call, int64_t db)
{
    if (db >= 0 && db < call->txn->store->database_count) return true;
    return fail(call, ERR_DB_INDEX);
}

/* Parses the number of a database at argument i. Returns false after sending an error. */
static bool arg_database(struct call *call, int i, unsigned *db)
{
    int number;
    if (!arg_int(call, i, &number)) return false;
    *db = (unsigned)number;
    return is_database(call, number);
}

static void cmd_copy(struct call *call)
{
    unsigned db = call->txn->ks->db;
    bool replace = false;
    struct bytes from = call->argv[1], to = call->argv[2];
    for (int i = 3; i < call->argc; i++) {
        if (arg_is(call, i, "REPLACE")) {
            replace = true;
        } else if (arg_is(call, i, "DB") && i + 1 < call->argc) {
            if (!arg_database(call, ++i, &db)) return;
        } else {
            fail(call, ERR_SYNTAX);
            return;
        }
    }
    if (fail_if(call, db == call->txn->ks->db && bytes_equal(from, to), ERR_SAME_OBJECT)) return;
    struct entry *entry = txn_find_counted(call->txn, from);
    bool copied = entry != NULL && (replace || !txn_exists_in(call->txn, db, to));
    if (copied) txn_key_copy(call->txn, entry, db, to);
    resp_integer(call->out, copied);
}

static void cmd_move(struct call *call)
{
    unsigned db;
    if (!arg_database(call, 2, &db)) return;
    if (fail_if(call, db == call->txn->ks->db, ERR_SAME_OBJECT)) return;
    struct entry *entry = txn_find(call->txn, call->argv[1]);
    resp_integer(call->out, entry != NULL && txn_key_move(call->txn, entry, db));
}

static void cmd_swapdb(struct call *call)
{
    int64_t a, b;
    if (!arg_range(call, 1, INT_MIN, INT_MAX, &a, ERR_FIRST_DB)) return;
    if (!arg_range(call, 2, INT_MIN, INT_MAX, &b, ERR_SECOND_DB)) return;
    if (!is_database(call, a) || !is_database(call, b)) return;
    txn_swap(call->txn, (unsigned)a, (unsigned)b);
    reply_ok(call);
}

static const struct command key_rows[] = {
    ROW("COPY", cmd_copy, -3, WRITE | GROWS | COPIES | OTHER_DATABASES, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RO | KEY_ACCESS), KEY_AT(2, KEY_OW | KEY_UPDATE) },
        .since = "6.2.0",
        .replies = REPLIES(
            "integer: 1 if the key was copied, 0 if there is no source or the destination exists"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_SAME_OBJECT, ERR_INT_RANGE, ERR_DB_INDEX),
        .complexity = "O(N) where N is the number of elements in the value.",
        .syntax = "source destination [DB destination-db] [REPLACE]",
        .summary = "Copies a key, with its deadlines, to another name or database."),
    ROW("MOVE", cmd_move, 3, WRITE | FAST | OTHER_DATABASES, .acl = ACL_KEYSPACE, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "1.0.0",
        .replies = REPLIES("integer: 1 if the key was moved, 0 if there is none or the other "
                           "database has one of that name"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_SAME_OBJECT, ERR_INT_RANGE, ERR_DB_INDEX),
        .complexity = "O(1)", .syntax = "key db",
        .summary = "Moves a key to another database, only if it does not exist there."),
};

static const struct command database_rows[] = {
    ROW("SWAPDB", cmd_swapdb, 3, WRITE | FAST | OTHER_DATABASES,
        .acl = ACL_KEYSPACE | ACL_DANGEROUS, .since = "4.0.0",
        .replies = REPLIES("OK: the databases were swapped"),
        .errors = ERRORS(ERR_FIRST_DB, ERR_SECOND_DB, ERR_DB_INDEX),
        .complexity = "O(N) where N is the number of keys that are watched in both databases.",
        .syntax = "index1 index2", .summary = "Swaps two databases."),
};

const struct command_group key_copy_commands = COMMAND_GROUP("generic", key_rows);
const struct command_group swap_commands = COMMAND_GROUP("server", database_rows);
