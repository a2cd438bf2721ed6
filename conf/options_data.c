/* options_data: rows of options about the data: policies, events, encodings, persistence. */
#include "conf/option_table.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "conf/times.h"

static const struct conf_choice fsync_policies[] = {
    { "everysec", CONF_FSYNC_EVERYSEC },
    { "always", CONF_FSYNC_ALWAYS },
    { "no", CONF_FSYNC_NO },
    { NULL, 0 },
};

/* Accepts pairs of seconds (1 or more) and changes (0 or more). */
static const char *check_save(const char *value)
{
    int words = 0;
    for (const char *at = value; *at != '\0'; words++) {
        char *end;
        errno = 0;
        long number = strtol(at, &end, 10);
        if (end == at || errno != 0 || number < (words % 2 == 0) || (*end != ' ' && *end != '\0'))
            return "Invalid save parameters";
        at = *end == ' ' ? end + 1 : end;
    }
    return words % 2 == 0 ? NULL : "Invalid save parameters";
}

static const char *check_span(const char *value)
{
    msec span;
    return conf_read_span(value, &span)
               ? NULL
               : "must be a number of milliseconds, or a number followed by ms, s, m, h or d";
}

static const char *check_instant(const char *value)
{
    msec at;
    return *value == '\0' || conf_read_instant(value, &at)
               ? NULL
               : "must be milliseconds since 1970, or an instant in UTC like 2026-11-29T03:00:00Z";
}

static const char *check_file_name(const char *value)
{
    return *value == '\0' || strchr(value, '/') != NULL || strcmp(value, ".") == 0 ||
                   strcmp(value, "..") == 0
               ? "it can't be a path, just a name"
               : NULL;
}

enum { EVENT_KINDS = sizeof(CONF_EVENT_LETTERS) - 1 };

static const char *check_events(const char *value)
{
    return value[strspn(value, "A" CONF_EVENT_LETTERS)] != '\0'
               ? "Invalid event class character. Use 'Ag$lshzxeKEtmdnSTIV'."
               : NULL;
}

/* DIFFERS: Redis 7.0 omits "n" beside "A" ("AKEn" reads back as "AKE"); here CONFIG GET shows it.
 * (doc/differs.md) */
static void tidy_events(char *value)
{
    bool on[EVENT_KINDS] = { false };
    int count = 0;
    for (const char *at = value; *at != '\0'; at++)
        for (int i = 0; i < EVENT_KINDS; i++)
            if (CONF_EVENT_LETTERS[i] == *at || (*at == 'A' && i < CONF_EVENTS_OF_ALL))
                on[i] = true;
    while (count < CONF_EVENTS_OF_ALL && on[count])
        count++;
    bool all = count == CONF_EVENTS_OF_ALL;
    if (all) *value++ = 'A';
    for (int i = all ? CONF_EVENTS_OF_ALL : 0; i < EVENT_KINDS; i++)
        if (on[i]) *value++ = CONF_EVENT_LETTERS[i];
    *value = '\0';
}

#define LEASE_TTL_LIMIT (INT64_C(1000) * 60 * 60 * 24 * 365)

static const struct conf_option options[] = {
    OPTION("databases", "Number of databases. SELECT numbers them from 0.", .section = "data",
           FIELD(INT, databases), .min = 1, .max = 16384, .preset = "16"),
    OPTION(
        "notify-keyspace-events",
        "Events to publish. Channels: K (__keyspace@<db>__), E (__keyevent@<db>__); for members S "
        "(__subkeyspace), T (__subkeyevent), I (__subkeyspaceitem), V (__subkeyspaceevent). "
        "Classes: g generic, $ strings, l lists, s sets, h hashes, z sorted sets, x expired, e "
        "evicted, t streams, d modules, A all of these, m key misses, n new keys. \"\" means none.",
        FIELD(TEXT, notify_keyspace_events), .preset = "", LIVE, .check = check_events,
        .tidy = tidy_events),
    OPTION("policy",
           "<prefix*|name> <option> <value> ...: a policy as for POLICY SET, set at start unless "
           "the data already has a policy of that name. Further lines with the same name add "
           "options. \"\" means none. Example:\npolicy rv:* MAXLEN 30 TTL 7d REFRESH WRITE",
           FIELD(LINES, policy), .preset = "", .many = true, .by_name = true),
    OPTION("lease-max-ttl",
           "Longest ttl of LEASE.TAKE and LEASE.EXTEND, in milliseconds. After a promotion, and a "
           "start after a crash, no leases are granted for this long. Use the same value on all "
           "replicas.",
           FIELD(INT, lease_max_ttl), .min = 1, .max = LEASE_TTL_LIMIT, .preset = "60000", LIVE),
    OPTION("rename-command",
           "<command> <new name>: give a command another name; \"\" disables it. One line per "
           "command. Clients and scripts have to use the new name; ACL rules use the old one.",
           FIELD(LINES, renames), .preset = "", .many = true, .unlisted = true),
    OPTION(
        "dir",
        "Working directory, which holds the data files. Cannot be changed while the journal is on.",
        FIELD(TEXT, dir), .preset = ".", LIVE, .guarded = true),
    WITH_ALIAS(
        "hash-max-listpack-entries", "hash-max-ziplist-entries",
        "OBJECT ENCODING reports \"listpack\" for a hash of up to this many fields. This and the "
        "next four options change the reported name only, not how much memory a value uses.",
        .section = "encodings", FIELD(INT, hash_max_entries), .max = LONG_MAX, .preset = "512",
        LIVE),
    WITH_ALIAS(
        "hash-max-listpack-value", "hash-max-ziplist-value",
        "OBJECT ENCODING calls a hash \"listpack\" while no field or value is longer than this.",
        FIELD(MEMORY, hash_max_value), .max = INT64_MAX, .preset = "64", LIVE),
    WITH_ALIAS("zset-max-listpack-entries", "zset-max-ziplist-entries",
               "OBJECT ENCODING calls a sorted set \"listpack\" up to this many members.",
               FIELD(INT, zset_max_entries), .max = LONG_MAX, .preset = "128", LIVE),
    WITH_ALIAS(
        "zset-max-listpack-value", "zset-max-ziplist-value",
        "OBJECT ENCODING calls a sorted set \"listpack\" while no member is longer than this.",
        FIELD(MEMORY, zset_max_value), .max = INT64_MAX, .preset = "64", LIVE),
    OPTION("set-max-intset-entries",
           "OBJECT ENCODING calls a set of integers \"intset\" up to this many members.",
           FIELD(INT, set_max_intset), .max = LONG_MAX, .preset = "512", LIVE),
    OPTION("hll-sparse-max-bytes", "A HyperLogLog larger than this takes its dense form of 12 KiB.",
           FIELD(MEMORY, hll_sparse_max), .max = INT64_MAX, .preset = "3000", LIVE),
    OPTION("stream-node-max-bytes",
           "Maximum size of a block of stream entries. 0, and values above 32 KiB, mean 32 KiB.",
           FIELD(MEMORY, stream_max_bytes), .max = INT64_MAX, .preset = "4096", LIVE),
    OPTION(
        "stream-node-max-entries",
        "Maximum number of entries in a block of a stream. With 0, only the size limits a block.",
        FIELD(INT, stream_max_entries), .max = INT64_MAX, .preset = "100", LIVE),
    OPTION("appendonly",
           "Write every change to the journal before its reply is sent, and replay the journal at "
           "start. With no, keep data in memory and in snapshots only.",
           .section = "persistence", FIELD(BOOL, appendonly), .preset = "yes", LIVE,
           .not_loading = true),
    OPTION("appendfsync",
           "When to fsync the journal: before each reply (always), once per second (everysec), or "
           "when the kernel decides (no).",
           FIELD(ENUM, appendfsync), .choices = fsync_policies, .preset = "everysec", LIVE),
    OPTION("appenddirname",
           "Directory of the journal, inside dir. If it holds files of Redis, the journal goes to "
           "a directory with \".exp\" appended to this name.",
           FIELD(TEXT, appenddirname), .preset = "appendonlydir", .check = check_file_name),
    OPTION("appendfilename", "Prefix of the journal's file names.", FIELD(TEXT, appendfilename),
           .preset = "appendonly.aof", .check = check_file_name),
    OPTION("aof-load-truncated",
           "If the last transaction in the journal is incomplete, discard it and start. With no, "
           "refuse to start.",
           FIELD(BOOL, aof_load_truncated), .preset = "yes", LIVE),
    OPTION("auto-aof-rewrite-percentage",
           "Rewrite the journal when it has grown by this many percent since the last rewrite. "
           "With 0, never rewrite it automatically.",
           FIELD(INT, rewrite_percentage), .max = INT_MAX, .preset = "100", LIVE),
    OPTION("auto-aof-rewrite-min-size",
           "Never rewrite the journal automatically while it is smaller than this.",
           FIELD(MEMORY, rewrite_min_size), .max = INT64_MAX, .preset = "64mb", LIVE),
    OPTION(
        "journal-keep",
        "Keep the bases and journals that a rewrite has replaced for this long, so that --until "
        "can start from any point in that time: a number of milliseconds, or a number followed by "
        "ms, s, m, h or d. With 0, delete them at once. INFO shows their size (aof_kept_size).",
        FIELD(TEXT, journal_keep), .preset = "0", LIVE, .check = check_span),
    OPTION("save",
           "<seconds> <changes> ...: save a snapshot when the last one is this many seconds old "
           "and at least this many changes have been made since. With \"\", only SAVE and BGSAVE "
           "save one. A configuration file with appendonly no and without save gets the save "
           "points of Redis: 3600 1 300 100 60 10000.",
           FIELD(TEXT, save), .preset = "", LIVE, .many = true, .adds = true, .check = check_save,
           .tidy = conf_tidy_spaces),
    OPTION("dbfilename",
           "Name of the snapshot file, inside dir. A file with this name that is not one of this "
           "server's snapshots is never overwritten.",
           FIELD(TEXT, dbfilename), .preset = "dump.exp", LIVE, .guarded = true,
           .check = check_file_name),
    OPTION("rdbcompression", "Compress snapshots and the journal's base file (LZ4).",
           FIELD(BOOL, rdbcompression), .preset = "yes", LIVE),
    OPTION("stop-writes-on-bgsave-error",
           "Refuse writes after a failed snapshot until one succeeds, if there are save points.",
           FIELD(BOOL, stop_writes_on_bgsave_error), .preset = "yes", LIVE),
    OPTION("import",
           "Redis data to import if there is no data yet: an RDB file, an AOF, a manifest, or a "
           "directory with one of these. The files are not changed.",
           FIELD(TEXT, import), .preset = ""),
    OPTION("until",
           "Import the data as it was at this instant: milliseconds since 1970, or "
           "2026-11-29T03:00:00Z. For the command line, together with import, which names the data "
           "folder of another expired, and a dir without data. See journal-keep.",
           FIELD(TEXT, until), .preset = "", .unlisted = true, .check = check_instant),
    OPTION("restore-paused",
           "Pause all dehydrators (REDE.PAUSE) if a start loads a snapshot or an import and not "
           "the journal, so that nothing is delivered before you have looked at it. With "
           "appendonly no every start does that. No effect on a replica.",
           FIELD(BOOL, restore_paused), .preset = "no"),
    OPTION("import-skip",
           "Types of values to leave out of an import and of a master's full copy, by the names "
           "that the error for such a value shows: \"array vectorset\". \"\" means none.",
           FIELD(TEXT, import_skip), .preset = "", .many = true, .tidy = conf_tidy_spaces),
    OPTION("import-skip-unsupported",
           "Leave out values of all types that this server does not have. With no, fail on the "
           "first value whose type is not in import-skip.",
           FIELD(BOOL, import_skip_unsupported), .preset = "no"),
};

const struct conf_table conf_data = { options, sizeof(options) / sizeof(options[0]) };
