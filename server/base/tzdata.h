/* tzdata: reads the system's files of time zones as bytes; store/calendar knows their format. The
 * folder is TZDIR of the environment, as for libc, or else /usr/share/zoneinfo. */
#ifndef SERVER_BASE_TZDATA_H
#define SERVER_BASE_TZDATA_H

#include <stdbool.h>

#include "store/mem/buffer.h"

/* Appends the file of the zone. Returns false if it can't be read. The caller must have checked
 * that the name stays inside the folder. */
bool tzdata_read(const char *name, struct buffer *file);

#endif
