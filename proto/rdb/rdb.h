/* Folder proto/rdb: Redis' own formats: RDB files and DUMP payloads, read by calling a visitor
 * (rdb_read) and written value by value (rdb_write) or as a whole file (rdb_file). packing reads
 * Redis' small packings (listpack, ziplist, intset, zipmap) and LZF; stream and dehydrator know the
 * layouts of those types. The visitors of server/disk/import build the values. Start with
 * rdb_read.h. To support another version of the format, raise `last` in rdb_read.c's table of
 * formats, and add rows or cases to value.c.
 *
 * May use: store/base store/mem. */
