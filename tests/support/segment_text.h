/* segment_text: what the whole records of a segment say, read by the letter of
 * server/persist/journal.h.
 */
#ifndef TESTS_SUPPORT_SEGMENT_TEXT_H
#define TESTS_SUPPORT_SEGMENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "server/persist/journal.h"

struct segment_text {
    char *text; /* of all whole records, without their sums; of the test to free */
    size_t records;
    struct journal_end end; /* behind the last whole record */
    bool torn;              /* something stands behind it */
};

/* A sum that is wrong ends the test. */
struct segment_text segment_text_of(const char *data, size_t len);
struct segment_text segment_text_read(const char *name); /* in the disk_world's folder */

#endif
