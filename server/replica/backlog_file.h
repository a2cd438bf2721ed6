/* backlog_file: keeps the backlog across a clean stop, for replicas that have not received all of
 * it. Depends on backlog, disk.h and stream_place.h.
 *
 * Layout: BACKLOG_FIRST_LINE; a whole mark, the place at the end of the bytes; the bytes of the
 * stream; a line with their checksum, like that of a journal's record. To change the layout: use
 * another first line. Every start removes the file, even if it could not use it.
 *
 * The file is not synced: the checksum reveals bytes lost in a power failure. */
#ifndef SERVER_REPLICA_BACKLOG_FILE_H
#define SERVER_REPLICA_BACKLOG_FILE_H

#include <stdbool.h>

#include "server/disk/format/stream_place.h"
#include "server/replica/stream/backlog.h"

/* `place`: the place of the backlog's end. 0; or an errno, and no file. EEXIST: a file of another
 * program has the name. */
int backlog_file_write(const char *path, const struct stream_place *place,
                       const struct backlog *backlog);
/* Adds the bytes before `place` to the backlog, which must be empty and end there. False: the file
 * does not have them, and the backlog stays empty. */
bool backlog_file_read(const char *path, const struct stream_place *place, struct backlog *backlog);
/* Removes the file, unless it is another program's. */
void backlog_file_remove(const char *path);

#endif
