/* tzdata: reads the system's files of time zones as bytes; store/calendar knows their format. The
 * folder is that of the environment variable TZDIR, as for libc, or /usr/share/zoneinfo. */
#pragma once

#include "store/mem/buffer.h"

/* Appends the contents of the zone's file. Returns false if the file can't be read, or is far
 * longer than such files are. The caller must have checked that the name does not lead out of the
 * folder. */
bool tzdata_read(const char *name, struct buffer *file);
