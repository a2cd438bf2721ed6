/* segment_mark: comment lines in a journal segment that record how much of the journal must exist.
 * Depends on record.h and random numbers.
 *
 * A crash leaves a torn end, and damage may look like one. The two can be told apart if it is known
 * which bytes were synced, because those are never torn. The writer therefore records how far syncs
 * have come, and which segment each segment continues:
 *
 *     line                            stands in         means
 *     #segment ID after LENGTH SUM    the first record  the last segment with records before this
 *                                                       one was synced, with this length and this
 *                                                       checksum at its end
 *     #segment ID                     the first record  there was no such segment. In a later
 *                                                       record: an earlier version began this one
 *     #synced OFFSET ID               later records     this segment was synced up to OFFSET
 *
 * Each line ends with \r\n; ID and SUM are eight hexadecimal digits. The segment of LENGTH and SUM
 * may no longer exist, because a base has replaced it. The ID is random, so that no value of a
 * client can contain a valid mark of the segment that holds it. The manifest lists the ID too
 * (manifest.h), which reveals a segment of another server. Versions that know no marks skip these
 * lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEGMENT_MARK_MAX = 64 }; /* bytes of a line */

/* Draws the ID of a new segment, which is not 0. */
uint32_t segment_id_new(void);

/* The end of the last complete record of a segment, and the checksum of all bytes before it. */
struct journal_end {
    uint64_t length; /* 0 if there is no segment */
    uint32_t sum;
    uint32_t id; /* ID of the segment; 0 before the first one */
};

/* Returns the end that the next segment continues: that of this segment or, if this segment
 * contains no records, the end that it continues itself, if any. */
struct journal_end journal_end_to_follow(const struct journal_end *end,
                                         const struct journal_end *before);

/* Print a #segment or #synced line, without a NUL, and return its length. */
size_t segment_mark_begin(char to[SEGMENT_MARK_MAX], uint32_t id, const struct journal_end *before);
size_t segment_mark_synced(char to[SEGMENT_MARK_MAX], uint64_t offset, uint32_t id);

/* Parse a line that begins with #, including its line end; `len` may be larger. Return false for
 * any other line. before->length is 0 if no segment precedes this one. */
bool segment_mark_read_begin(const char *line, size_t len, uint32_t *id,
                             struct journal_end *before);
bool segment_mark_read_synced(const char *line, size_t len, uint64_t *offset, uint32_t *id);
