/* Folder proto/rdb: Redis' own formats: RDB files and DUMP payloads. rdb_read reads both and passes
 * their contents to a visitor; the visitors of server/disk/import build our values. rdb_write
 * writes one value as a payload, and rdb_file a whole file. packing reads Redis' small packings
 * (listpack, ziplist, intset, zipmap) and LZF; stream and dehydrator know the layouts of those
 * types. Start with rdb_read.h. To support another version of the format, raise `last` in
 * rdb_read.c's table of formats, and add rows or cases to value.c.
 *
 * May use: store/base store/mem. */
