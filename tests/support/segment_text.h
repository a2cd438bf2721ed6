/* segment_text: the text of the complete records of a segment. Reads the format that
 * server/disk/journal.h describes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "server/disk/journal.h"

/* The ID of segments whose ID does not matter. */
enum { SEGMENT_ID = 0x5e9 };

struct segment_text {
    char *text; /* of all complete records, without checksums and marks; the test frees it */
    size_t records;
    struct journal_end end;    /* of the last complete record */
    struct journal_end before; /* of the previous segment, as the first record says */
    uint64_t synced;           /* the last mark says that the segment is synced up to here */
    bool torn;                 /* bytes follow the last complete record */
};

/* A wrong checksum fails the test. */
struct segment_text segment_text_of(const char *data, size_t len);
struct segment_text segment_text_read(const char *name); /* in the disk_world's folder */
