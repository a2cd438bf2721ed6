/* rdb_store: writes a store as an RDB for Redis 7.0, Redis 8 or Valkey 9: keys of their types with
 * deadlines, and functions. Leaves out what they can't hold: deadlines of members (except of hash
 * fields, for the newer two), dehydrators, leases and policies. */
#ifndef SERVER_DISK_IMPORT_RDB_STORE_H
#define SERVER_DISK_IMPORT_RDB_STORE_H

#include <stdbool.h>

#include "server/disk/format/copy.h"
#include "store/store.h"

enum rdb_store_form { RDB_FOR_REDIS_7, RDB_FOR_REDIS_8, RDB_FOR_VALKEY_9 };

/* With `functions_only`, writes the functions without the keys. `stream_db`: the database selected
 * in the stream that follows the copy. False: the sink failed, or out of memory. O(n) */
bool rdb_store_write(const struct store *store, enum rdb_store_form form, bool functions_only,
                     unsigned stream_db, const struct copy_sink *sink);

#endif
