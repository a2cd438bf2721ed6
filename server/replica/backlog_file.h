/* backlog_file: saves the backlog at a clean stop, so that after the restart replicas that lack
 * some of its bytes can continue without a full copy. Depends on backlog, disk.h and
 * stream_position.h.
 *
 * Layout:
 *
 *     BACKLOG_FIRST_LINE     the version of the layout; a new layout needs another first line
 *     a mark                 the position at the end of the bytes: #STREAM (stream_position.h)
 *     bytes of the stream
 *     #xxxxxxxx\r\n          CRC-32C of everything before, as at the end of a journal's record
 *
 * Every start removes the file, even if it could not use the file: the stream that continues makes
 * the file obsolete.
 *
 * The file is not synced: the checksum reveals bytes lost in a power failure. */
#pragma once

#include "server/disk/format/stream_position.h"
#include "server/replica/stream/backlog.h"

/* Writes the file. `position` is the position of the backlog's end. Returns 0, or an errno and
 * leaves no file: EEXIST if a file of another program has the name. */
int backlog_file_write(const char *path, const struct stream_position *position,
                       const struct backlog *backlog);
/* Fills the backlog with the bytes before `position`: the backlog must be empty, with `position` as
 * its end. If the file does not contain these bytes, returns false and leaves the backlog empty. */
bool backlog_file_read(const char *path, const struct stream_position *position,
                       struct backlog *backlog);
/* Removes the file, unless it is another program's. */
void backlog_file_remove(const char *path);
