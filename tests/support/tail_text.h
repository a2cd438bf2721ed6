/* tail_text: what the whole units of a tail say, read by the letter of server/persist/journal.h. */
#ifndef TESTS_SUPPORT_TAIL_TEXT_H
#define TESTS_SUPPORT_TAIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "server/persist/journal.h"

struct tail_text {
    char *text; /* of all whole units, without their sums; of the test to free */
    size_t units;
    struct journal_end end; /* behind the last whole unit */
    bool torn;              /* something stands behind it */
};

/* A sum that is wrong ends the test. */
struct tail_text tail_text_of(const char *data, size_t len);
struct tail_text tail_text_read(const char *name); /* in the disk_world's folder */

#endif
