/* rdb_store: see rdb_store.h. Collects small pieces, so that few writes are needed. */
#include "server/disk/import/rdb_store.h"

#include <stdio.h>

#include "proto/rdb/rdb_file.h"
#include "server/disk/import/rdb_object.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

enum { GATHER = 128 * 1024 };

static const int versions[] = {
    [RDB_FOR_REDIS_7] = RDB_VERSION_7,
    [RDB_FOR_REDIS_8] = RDB_VERSION_8,
    [RDB_FOR_VALKEY_9] = RDB_VALKEY_9_0,
};

struct counting {
    enum rdb_store_form form;
    struct rdb_store_losses *losses;
    bool loses;
};

static bool count_loss(void *ctx, const struct keyspace *ks, const struct entry *entry)
{
    struct counting *counting = ctx;
    struct rdb_store_losses *losses = counting->losses;
    const struct object *object = &entry->object;
    (void)ks;
    bool is_lost = rdb_object_loses(object, versions[counting->form]);
    counting->loses |= is_lost;
    if (!is_lost) return true;
    switch (object->type) {
    case TYPE_DEHYDRATOR: losses->dehydrators++; break;
    case TYPE_LEASE: losses->leases++; break;
    case TYPE_STRING: losses->soft++; break;
    case TYPE_STREAM: losses->streams++; break;
    default: losses->members++; break;
    }
    return true;
}

bool rdb_store_loses(const struct store *store, enum rdb_store_form form,
                     struct rdb_store_losses *losses)
{
    *losses = (struct rdb_store_losses){ .rules = store->policies.count };
    struct counting counting = { form, losses, losses->rules > 0 };
    for (unsigned db = 0; db < store->database_count; db++)
        keyspace_each(store_database(store, db), count_loss, &counting);
    return counting.loses;
}

struct writing {
    const struct copy_sink *sink;
    struct rdb_file file;
    struct rdb_writer writer;
    uint64_t keys;
    size_t gathered;
    char pieces[GATHER];
};

static bool send_gathered(struct writing *writing)
{
    size_t len = writing->gathered;
    writing->gathered = 0;
    if (len == 0) return true;
    if (writing->sink->report != NULL) writing->sink->report(writing->sink->ctx, writing->keys);
    return writing->sink->write(writing->sink->ctx, writing->pieces, len);
}

static bool gather(void *ctx, const void *data, size_t len)
{
    struct writing *writing = ctx;
    if (writing->gathered + len > GATHER && !send_gathered(writing)) return false;
    if (len > GATHER) return writing->sink->write(writing->sink->ctx, data, len);
    memcpy(writing->pieces + writing->gathered, data, len);
    writing->gathered += len;
    return true;
}

static void write_library(void *ctx, const struct library *library)
{
    struct writing *writing = ctx;
    rdb_file_function(&writing->file, library_code(library));
}

static bool write_key(void *ctx, const struct keyspace *ks, const struct entry *entry)
{
    struct writing *writing = ctx;
    struct bytes payload;
    enum type type = entry->object.type;
    if (type == TYPE_DEHYDRATOR || type == TYPE_LEASE) return true; /* Redis has none */
    if (!rdb_object_write(&entry->object, &writing->writer, &payload)) {
        writing->file.failed = true;
        return false;
    }
    rdb_file_key(&writing->file, entry_key(entry), entry_expires_at(ks, entry), payload);
    writing->keys++;
    return !writing->file.failed;
}

static void write_aux(struct writing *writing, const char *name, const char *value)
{
    rdb_file_aux(&writing->file, bytes_of(name, strlen(name)), bytes_of(value, strlen(value)));
}

bool rdb_store_write(const struct store *store, enum rdb_store_form form, bool functions_only,
                     unsigned stream_db, const struct copy_sink *sink)
{
    struct writing *writing = mem_zalloc(sizeof(*writing));
    int version = versions[form];
    writing->sink = sink;
    rdb_writer_init(&writing->writer, version);
    rdb_file_begin(&writing->file, version, gather, writing);
    char number[16];
    snprintf(number, sizeof(number), "%u", stream_db);
    write_aux(writing, "redis-ver", "7.0.15");
    write_aux(writing, "repl-stream-db", number);
    if (store->tokens.last > 0) {
        char token[NUMBER_INT64_MAX_CHARS + 1];
        token[number_print_int64(token, store->tokens.last)] = '\0';
        write_aux(writing, "expired-token", token);
    }
    libraries_each(&store->libraries, write_library, writing);
    for (unsigned db = 0; db < store->database_count && !functions_only; db++) {
        const struct keyspace *ks = store_database(store, db);
        if (keyspace_count(ks) == 0 || writing->file.failed) continue;
        rdb_file_database(&writing->file, ks->db, keyspace_count(ks), keyspace_count_volatile(ks));
        keyspace_each(ks, write_key, writing);
    }
    bool good = rdb_file_end(&writing->file);
    good = send_gathered(writing) && good;
    rdb_writer_drop(&writing->writer);
    mem_free(writing);
    return good;
}
