/* Folder proto/rdb: Redis' own formats: RDB files and DUMP payloads. Start with rdb_read.h. To
 * support another version of the format, raise `last` in rdb_read.c's table of formats, and add
 * rows or cases to value.c.
 *
 *     reading:
 *       rdb_read             the frame of files and payloads
 *       rdb_visitor          the callbacks that receive the contents (server/disk/import)
 *       value                the value of a key, by its type
 *       packed               values whose parts are all in one packing
 *       template             hashes that share a list of field names
 *       stream, stream_node  streams
 *       dehydrator           dehydrators of the ReDe module
 *       skip                 what this server does not support
 *       wire                 numbers and strings
 *       source               the bytes, and their checksum
 *       seen                 finds duplicate members
 *     writing:
 *       rdb_write            one value as a payload
 *       rdb_file             a whole file
 *       put                  numbers and strings
 *     both:
 *       packing              listpack, ziplist, intset, zipmap, and LZF
 *       crc64                the checksum
 *
 * May use: store/base store/mem. */
