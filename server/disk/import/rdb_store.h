/* rdb_store: writes a store as an RDB for Redis 7.0, Redis 8 or Valkey 9: functions, and keys with
 * their deadlines. Leaves out what these servers can't hold (struct rdb_store_losses), but writes
 * deadlines of hash fields for Redis 8 and Valkey 9. */
#pragma once

#include "server/disk/format/copy.h"
#include "store/store.h"

enum rdb_store_form { RDB_FOR_REDIS_7, RDB_FOR_REDIS_8, RDB_FOR_VALKEY_9 };

/* Numbers of keys and policies that an RDB leaves out or holds incompletely. */
struct rdb_store_losses {
    uint64_t dehydrators, leases, rules; /* `rules` are policies */
    uint64_t members;                    /* keys with deadlines of members */
    uint64_t soft;                       /* strings with soft deadlines */
    uint64_t streams; /* with released pending entries, or with IDs that XADD IDMP remembers */
};

/* Counts what an RDB in this form can't hold. Returns false if it can hold everything. O(n) */
bool rdb_store_loses(const struct store *store, enum rdb_store_form form,
                     struct rdb_store_losses *losses);

/* Writes the functions and, unless `functions_only`, the keys. `stream_db` is the database selected
 * in the stream that follows the copy. Returns false if the sink failed or memory ran out. O(n) */
bool rdb_store_write(const struct store *store, enum rdb_store_form form, bool functions_only,
                     unsigned stream_db, const struct copy_sink *sink);
