/* cluster: CLUSTER, READONLY, READWRITE and ASKING: the error of a Redis whose cluster support is
 * off, so that clients and tools that ask notice that there is no cluster. */
#include "server/admin/admin.h"
#include "server/call/error.h"

static void cmd_disabled(struct call *call)
{
    fail(call, ERR_NO_CLUSTER);
}

/* Every call that has the right number of arguments fails. */
#define ONLY_ERRORS                                                                                \
    .run = cmd_disabled, .replies = (const char *const[]){ NULL },                                 \
    .errors = ERRORS(ERR_NO_CLUSTER), .group = "cluster", .complexity = "O(1)",                    \
    .summary = "Fails: there is no cluster."

enum { CHANGES = ADMIN | STALE | NO_ASYNC_LOADING, SHOWS = ADMIN | STALE };

static const char UNSTEADY[] = "nondeterministic_output";

#define ROW(word, args, how, text, version)                                                        \
    {                                                                                              \
        .name = (word), .arity = (args), .flags = (how), .syntax = (text), .since = (version),     \
        ONLY_ERRORS                                                                                \
    }
#define ROW_UNSTEADY(word, args, how, text, version)                                               \
    {                                                                                              \
        .name = (word), .arity = (args), .flags = (how), .syntax = (text), .since = (version),     \
        .tips = UNSTEADY, ONLY_ERRORS                                                              \
    }

static const struct command subcommands[] = {
    ROW("ADDSLOTS", -3, CHANGES, "slot [slot ...]", "3.0.0"),
    ROW("ADDSLOTSRANGE", -4, CHANGES, "start-slot end-slot [start-slot end-slot ...]", "7.0.0"),
    ROW_UNSTEADY("BUMPEPOCH", 2, CHANGES, "", "3.0.0"),
    ROW_UNSTEADY("COUNT-FAILURE-REPORTS", 3, SHOWS, "node-id", "3.0.0"),
    ROW("COUNTKEYSINSLOT", 3, STALE, "slot", "3.0.0"),
    ROW("DELSLOTS", -3, CHANGES, "slot [slot ...]", "3.0.0"),
    ROW("DELSLOTSRANGE", -4, CHANGES, "start-slot end-slot [start-slot end-slot ...]", "7.0.0"),
    ROW("FAILOVER", -2, CHANGES, "[FORCE | TAKEOVER]", "3.0.0"),
    ROW("FLUSHSLOTS", 2, CHANGES, "", "3.0.0"),
    ROW("FORGET", 3, CHANGES, "node-id", "3.0.0"),
    ROW_UNSTEADY("GETKEYSINSLOT", 4, STALE, "slot count", "3.0.0"),
    ROW("HELP", 2, LOADING | STALE, "", "5.0.0"),
    ROW_UNSTEADY("INFO", 2, STALE, "", "3.0.0"),
    ROW("KEYSLOT", 3, STALE, "key", "3.0.0"),
    ROW_UNSTEADY("LINKS", 2, STALE, "", "7.0.0"),
    ROW("MEET", -4, CHANGES, "ip port [cluster-bus-port]", "3.0.0"),
    ROW("MYID", 2, STALE, "", "3.0.0"),
    ROW_UNSTEADY("NODES", 2, STALE, "", "3.0.0"),
    ROW_UNSTEADY("REPLICAS", 3, SHOWS, "node-id", "5.0.0"),
    ROW("REPLICATE", 3, CHANGES, "node-id", "3.0.0"),
    ROW("RESET", -2, SHOWS | NOSCRIPT, "[HARD | SOFT]", "3.0.0"),
    ROW("SAVECONFIG", 2, CHANGES, "", "3.0.0"),
    ROW("SET-CONFIG-EPOCH", 3, CHANGES, "config-epoch", "3.0.0"),
    ROW("SETSLOT", -4, CHANGES,
        "slot <STABLE | IMPORTING node-id | MIGRATING node-id | NODE node-id>", "3.0.0"),
    ROW_UNSTEADY("SHARDS", 2, STALE, "", "7.0.0"),
    ROW_UNSTEADY("SLAVES", 3, SHOWS, "node-id", "3.0.0"),
    ROW_UNSTEADY("SLOTS", 2, STALE, "", "3.0.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    { .name = "CLUSTER",
      .arity = -2,
      .group = "cluster",
      .since = "3.0.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "Fails: there is no cluster.",
      .subcommands = subcommands },
    { .name = "READONLY",
      .arity = 1,
      .flags = LOADING | STALE | FAST,
      .acl = ACL_CONNECTION,
      .since = "3.0.0",
      .syntax = "",
      ONLY_ERRORS },
    { .name = "READWRITE",
      .arity = 1,
      .flags = LOADING | STALE | FAST,
      .acl = ACL_CONNECTION,
      .since = "3.0.0",
      .syntax = "",
      ONLY_ERRORS },
    { .name = "ASKING",
      .arity = 1,
      .flags = FAST,
      .acl = ACL_CONNECTION,
      .since = "3.0.0",
      .syntax = "",
      ONLY_ERRORS },
};

const struct command_group cluster_commands = COMMAND_GROUP(rows);
