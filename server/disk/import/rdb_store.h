/* rdb_store: writes a store as an RDB of version 10, with what Redis can hold: keys of its types
 * with their deadlines, and functions; without deadlines of members, dehydrators and policies. */
#ifndef SERVER_DISK_IMPORT_RDB_STORE_H
#define SERVER_DISK_IMPORT_RDB_STORE_H

#include <stdbool.h>

#include "server/disk/format/copy.h"
#include "store/store.h"

/* Only the functions of a store, without its keys, if `functions_only`. `stream_db`: the database
 * that the stream behind the copy has selected. False: the sink failed, or no memory. O(n) */
bool rdb_store_write(const struct store *store, bool functions_only, unsigned stream_db,
                     const struct copy_sink *sink);

#endif
