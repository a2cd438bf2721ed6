/* rdb_store: writes a store as an RDB of version 10, with everything that Redis can hold: keys of
 * its types with their deadlines, and functions; without deadlines of members, dehydrators and
 * policies. */
#ifndef SERVER_DISK_IMPORT_RDB_STORE_H
#define SERVER_DISK_IMPORT_RDB_STORE_H

#include <stdbool.h>

#include "server/disk/format/copy.h"
#include "store/store.h"

/* With `functions_only`, writes the functions without the keys. `stream_db`: the database selected
 * in the stream that follows the copy. False: the sink failed, or out of memory. O(n) */
bool rdb_store_write(const struct store *store, bool functions_only, unsigned stream_db,
                     const struct copy_sink *sink);

#endif
