/* backlog: the last bytes of the replication stream, shared by all replicas. Depends on memory
 * only.
 *
 * Each byte has an offset, which only grows. A replica that lags needs no copy of its bytes, only
 * an offset. Bytes are stored in chunks of equal size, so the chunk of an offset is found in O(1).
 * The owner decides how many bytes are kept (backlog_trim). */
#pragma once

#include "store/base/bytes.h"

struct backlog;

struct backlog *backlog_new(void);
void backlog_free(struct backlog *backlog);

/* Empties the backlog; the next byte is at this offset. */
void backlog_restart(struct backlog *backlog, uint64_t offset);
void backlog_append(struct backlog *backlog, const void *data, size_t len);
/* Returns space after the end for the caller to fill in place: *room bytes, at least one.
 * backlog_commit appends the first `used` of them. The space is lost if backlog_append or
 * backlog_restart is called before that. */
char *backlog_reserve(struct backlog *backlog, size_t *room);
void backlog_commit(struct backlog *backlog, size_t used);
/* Forgets bytes before this offset, but only whole chunks of 64 KiB: backlog_begin then says what
 * is kept. O(chunks forgotten) */
void backlog_trim(struct backlog *backlog, uint64_t before);

uint64_t backlog_begin(const struct backlog *backlog); /* offset of the first byte kept */
uint64_t backlog_end(const struct backlog *backlog);   /* offset of the next byte */
/* Returns the bytes from this offset (begin <= offset <= end) to the end of its chunk; no bytes if
 * the offset is the end. Borrowed until the next trim or restart. O(1) */
struct bytes backlog_view(const struct backlog *backlog, uint64_t offset);
size_t backlog_bytes(const struct backlog *backlog); /* memory */

void backlog_check(const struct backlog *backlog);
