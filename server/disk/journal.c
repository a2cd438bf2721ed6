/* journal: see journal.h. A buffer of records, the current segment and a thread that syncs the
 * segment.
 *
 *     NEEDS_BASE --journal_open--> WRITES
 *
 *     WRITES --write_some fails--> CANNOT_WRITE --write_some writes all--> WRITES
 *     WRITES --journal_rotate--> RETIRES --journal_sync_done--> WRITES
 *     WRITES --journal_settle--> SETTLES --journal_resume--> WRITES
 *
 *     any --need_base: a sync failed, or the caller wants it--> NEEDS_BASE
 *     NEEDS_BASE --journal_restart_begin--> RESTARTS --journal_restart_end--> WRITES
 *                                           RESTARTS --journal_restart_begin--> RESTARTS
 *                                           RESTARTS --journal_restart_cancel--> NEEDS_BASE
 *
 * What holds in each state, at the end of a turn:
 *
 *     WRITES        complete records are in the file, except for late ones, which the next flushes
 *                   write; a sync of the file may be due or running
 *     CANNOT_WRITE  complete records stay in memory; each 100 ms a flush tries again
 *     RETIRES       the segment is new and empty; records stay in memory until the segment before
 *                   it is synced, because files with a gap between them would not load
 *     SETTLES       the file is written, and synced or being synced; later records stay in memory
 *     NEEDS_BASE    there is no file, or nothing more is written to it; flushes drop the records
 *     RESTARTS      as NEEDS_BASE, but records stay in memory for the next segment
 *
 * A big record is summed and written in slices, one slice in each flush. The records after it wait
 * for their checksums and for the write, but count as complete. Records that waited for a base are
 * written in slices, too; each flush adds the new records to its slice.
 *
 * Invariants:
 *
 *     position == `written` + the bytes of complete records in `waiting`
 *         except while a base is needed: then the difference is in the base, or in `waiting` from
 *         `restart_from` on
 *     synced <= written
 *     the file is longer than `length` only while `uncut`: by `partial` bytes of `waiting`, or by
 *         garbage */
#include "server/disk/journal.h"

#include <errno.h>
#include <inttypes.h>

#include "server/disk/format/crc32c.h"
#include "server/disk/format/disk.h"
#include "server/disk/format/file_kind.h"
#include "server/disk/syncer.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    RETRY_USEC = 100 * 1000,
    SYNC_USEC = 1000 * 1000,
    PIECES =
        256, /* pieces per system call, of up to 64 KiB: one call usually writes all of a turn */
    HEADER_LENGTH = sizeof(RECORD_FIRST_LINE) - 1,
    SLICE = 1 << 20, /* bytes that one flush sums and writes at least, if more are waiting */
    FRESH_MAX = 4 << 20,
    /* Allocate blocks ahead for as many bytes as the segment contains, within these limits. */
    AHEAD_LEAST = 1 << 20,
    AHEAD_MOST = 32 << 20,
    PAGE = 4096,
    WRITE_BACK = 2 << 20, /* bytes that are written back at once, at least */
};

#define NO_LIMIT SIZE_MAX

/* Complete records that have no checksum yet. */
struct unsummed {
    size_t *texts; /* for each record, the bytes of its text left to be summed */
    size_t first, count, cap;
    struct outbuf_cursor from; /* the end of the summed bytes in `waiting`, */
    size_t summed;             /* and the number of bytes before it */
};

enum phase { WRITES, CANNOT_WRITE, RETIRES, SETTLES, NEEDS_BASE, RESTARTS };

struct journal {
    enum phase phase;
    struct outbuf waiting;
    struct outbuf_cursor whole; /* the end of the last complete record in `waiting`, */
    size_t whole_len;           /* and the number of bytes before it */
    uint32_t sum; /* checksum of the file with everything in `waiting` but `unsummed` */
    struct unsummed unsummed;

    int fd; /* the segment, or -1 */
    uint64_t length;
    uint64_t allocated; /* blocks were requested up to this offset */
    uint64_t begun;     /* write-back was requested up to this offset */
    uint64_t ordered;   /* `length` when the last sync was requested */
    size_t partial;     /* bytes of `waiting` that are written, while the rest is not */
    size_t late;        /* complete bytes that the last flush did not write */
    size_t fresh;       /* bytes that were added behind unsummed ones since the last flush, counting
                         * FRESH_MAX of each record at most */
    bool uncut;
    uint32_t id;               /* the ID of the segment, in its marks */
    bool tells_id;             /* the next record must contain the ID */
    uint64_t marked;           /* the segment is known to be synced up to here */
    struct journal_end before; /* end of the previous segment; length 0 if there is none */

    enum journal_sync_mode mode;
    int error;
    uint64_t restart_from; /* position up to which the base being written has all changes */
    uint64_t restart_to;   /* position when the last restart ended */
    uint64_t position, written, synced, asked; /* `asked`: end of the last sync requested */
    uint64_t barrier, barrier_from;            /* see journal_require_sync */
    int64_t asked_at, tried_at;
    bool counted_late;
    struct syncer *syncer;
    struct journal_report counts;
};

int journal_create(const char *path, int *fd)
{
    int made, error = file_check(path, FILE_SET_OURS);
    if (error == 0) error = disk_create(path, &made);
    if (error != 0) return error;
    error = disk_write_bytes(made, RECORD_FIRST_LINE, HEADER_LENGTH, 0);
    if (error == 0) error = disk_sync(made);
    if (error == 0) {
        *fd = made;
        return 0;
    }
    disk_close(made);
    disk_remove(path);
    return error;
}

struct journal *journal_new(enum journal_sync_mode mode)
{
    struct syncer *syncer = syncer_new();
    if (syncer == NULL) return NULL;
    struct journal *journal = mem_zalloc(sizeof(*journal));
    journal->syncer = syncer;
    outbuf_init(&journal->waiting);
    journal->mode = mode;
    journal->phase = NEEDS_BASE;
    journal->fd = -1;
    journal->asked_at = -SYNC_USEC;
    return journal;
}

void journal_free(struct journal *journal)
{
    if (journal == NULL) return;
    syncer_free(journal->syncer);
    if (journal->fd >= 0) disk_close(journal->fd);
    outbuf_drop(&journal->waiting);
    mem_free(journal->unsummed.texts);
    mem_free(journal);
}

static bool needs_base(const struct journal *journal)
{
    return journal->phase == NEEDS_BASE || journal->phase == RESTARTS;
}

/* Removes all complete records from the buffer: they are written, or not needed. */
static void empty_buffer(struct journal *journal)
{
    outbuf_consume(&journal->waiting, journal->whole_len);
    journal->whole = (struct outbuf_cursor){ 0 }; /* the text of an incomplete record may follow */
    journal->whole_len = 0;
    journal->partial = journal->late = 0;
    journal->unsummed.first = journal->unsummed.count = 0;
}

/* Sets what the marks of later records say: they belong to another segment, which continues the one
 * with this end. */
static void name_segment(struct journal *journal, uint32_t id, const struct journal_end *before)
{
    journal->id = id;
    journal->tells_id = true;
    journal->before = *before;
    journal->marked = HEADER_LENGTH;
}

static void take_segment(struct journal *journal, int fd, const struct journal_end *end)
{
    journal->fd = fd;
    journal->length = end->length;
    journal->sum = end->sum;
    journal->uncut = false;
    journal->partial = 0;
    journal->allocated = 0;
    journal->begun = journal->ordered = end->length;
}

struct journal_end journal_begun(void)
{
    return (struct journal_end){ .length = HEADER_LENGTH,
                                 .sum = crc32c(0, RECORD_FIRST_LINE, HEADER_LENGTH) };
}

int journal_open(struct journal *journal, int fd, uint32_t id, const struct journal_end *end)
{
    ensure(journal->fd < 0 && journal->whole_len == 0, "fd %d, %zu bytes wait", journal->fd,
           journal->whole_len);
    struct journal_end fresh = journal_begun();
    if (end != NULL) {
        int error = disk_cut(fd, end->length);
        if (error != 0) return error;
    }
    take_segment(journal, fd, end != NULL ? end : &fresh);
    name_segment(journal, id, &(struct journal_end){ 0 });
    journal->tells_id = end == NULL || end->id == 0;
    journal->phase = WRITES;
    return 0;
}

void journal_follow(struct journal *journal, const struct journal_end *before)
{
    if (journal->length == HEADER_LENGTH) journal->before = *before;
}

/* ---- records ---- */

struct outbuf *journal_buffer(struct journal *journal)
{
    return &journal->waiting;
}

size_t journal_text(const struct journal *journal)
{
    return journal->waiting.len - journal->whole_len;
}

static void fill_sum_line(struct journal *journal, char *line)
{
    record_print_sum(line, journal->sum);
    journal->sum = crc32c(journal->sum, line, RECORD_SUM_LINE);
}

static bool has_unsummed(const struct journal *journal)
{
    return journal->unsummed.count > 0;
}

/* Reserves the line of the checksum, which sum_first fills in. */
static void sum_later(struct journal *journal, size_t text)
{
    struct unsummed *unsummed = &journal->unsummed;
    if (unsummed->count == 0) {
        unsummed->first = 0;
        unsummed->from = journal->whole;
        unsummed->summed = journal->whole_len;
    }
    size_t used = unsummed->first + unsummed->count;
    if (used == unsummed->cap) {
        unsummed->cap = 2 * used + 16;
        unsummed->texts = mem_realloc(unsummed->texts, unsummed->cap * sizeof(size_t));
    }
    unsummed->texts[used] = text;
    unsummed->count++;
    memset(outbuf_reserve(&journal->waiting, RECORD_SUM_LINE), 0, RECORD_SUM_LINE);
}

/* Adds the mark that is due to the record, if any (segment_mark.h). */
static void mark_record(struct journal *journal)
{
    char mark[SEGMENT_MARK_MAX];
    size_t len = 0;
    /* How far the segment is known to be synced; 0 records no mark. */
    uint64_t synced = 0, unsynced = journal->written - journal->synced;
    if (!needs_base(journal) && journal->phase != RETIRES && unsynced < journal->length)
        synced = journal->length - unsynced;
    if (journal->tells_id) {
        journal->tells_id = false;
        len = segment_mark_begin(mark, journal->id, &journal->before);
    } else if (synced > journal->marked) {
        len = segment_mark_synced(mark, synced, journal->id);
        journal->marked = synced;
    }
    if (len > 0) outbuf_append(&journal->waiting, mark, len);
}

void journal_end_record(struct journal *journal)
{
    if (journal_text(journal) == 0) return;
    mark_record(journal);
    size_t text = journal_text(journal);
    if (has_unsummed(journal)) journal->fresh += text < FRESH_MAX ? text : FRESH_MAX;
    if (text <= SLICE && !has_unsummed(journal)) {
        struct iovec piece;
        for (size_t left = text;
             left > 0 && outbuf_next(&journal->waiting, &journal->whole, &piece);
             left -= piece.iov_len)
            journal->sum = crc32c(journal->sum, piece.iov_base, piece.iov_len);
        fill_sum_line(journal, outbuf_reserve(&journal->waiting, RECORD_SUM_LINE));
    } else {
        sum_later(journal, text);
    }
    outbuf_commit(&journal->waiting, RECORD_SUM_LINE);
    journal->whole = outbuf_cursor(&journal->waiting);
    journal->position += journal->waiting.len - journal->whole_len;
    journal->whole_len = journal->waiting.len;
}

/* Returns the next bytes without a checksum, at most `most`, which must exist. */
static struct iovec next_unsummed(struct journal *journal, size_t most)
{
    struct unsummed *unsummed = &journal->unsummed;
    struct iovec piece = { 0 };
    bool found = outbuf_next(&journal->waiting, &unsummed->from, &piece);
    ensure(found, "%zu bytes are missing after %zu", most, unsummed->summed);
    if (piece.iov_len > most) {
        unsummed->from.end -= piece.iov_len - most;
        piece.iov_len = most;
    }
    unsummed->summed += piece.iov_len;
    return piece;
}

/* Sums at most `most` bytes of the first unsummed record; after its last byte, fills in its
 * checksum line. Returns the number of bytes summed, the line included. */
static size_t sum_first(struct journal *journal, size_t most)
{
    struct unsummed *unsummed = &journal->unsummed;
    size_t *left = &unsummed->texts[unsummed->first], done = 0;
    while (*left > 0 && done < most) {
        struct iovec piece = next_unsummed(journal, *left < most - done ? *left : most - done);
        journal->sum = crc32c(journal->sum, piece.iov_base, piece.iov_len);
        *left -= piece.iov_len;
        done += piece.iov_len;
    }
    if (*left > 0) return done;
    struct iovec line = next_unsummed(journal, RECORD_SUM_LINE);
    ensure(line.iov_len == RECORD_SUM_LINE, "%zu bytes of a line", line.iov_len);
    fill_sum_line(journal, line.iov_base);
    unsummed->first++;
    unsummed->count--;
    return done + RECORD_SUM_LINE;
}

/* ---- writing ---- */

static void need_base(struct journal *journal, int error)
{
    journal->phase = NEEDS_BASE;
    journal->error = error;
}

/* Cuts the file back to its last complete record, so that new records follow it directly. */
static int cut_back(struct journal *journal)
{
    journal->partial = 0;
    if (!journal->uncut) return 0;
    journal->allocated = 0;
    int error = disk_cut(journal->fd, journal->length);
    if (error == 0) journal->uncut = false;
    return error;
}

/* Fills in the next pieces to write, at most *left bytes, and subtracts their length from *left.
 * Returns the number of pieces. */
static int next_pieces(const struct journal *journal, struct outbuf_cursor *from, size_t *left,
                       struct iovec *pieces)
{
    int count = 0;
    while (*left > 0 && count < PIECES && outbuf_next(&journal->waiting, from, &pieces[count])) {
        if (pieces[count].iov_len > *left) {
            from->end -= pieces[count].iov_len - *left;
            pieces[count].iov_len = *left;
        }
        *left -= pieces[count].iov_len;
        count++;
    }
    return count;
}

/* Sums and writes at most `most` bytes. First cuts off the rest of a failed write. */
static int write_buffer(struct journal *journal, size_t most)
{
    int error = journal->partial == 0 ? cut_back(journal) : 0;
    for (size_t summed = 0; has_unsummed(journal) && summed < most;)
        summed += sum_first(journal, most - summed);
    size_t ready = has_unsummed(journal) ? journal->unsummed.summed : journal->whole_len;
    size_t left = ready - journal->partial < most ? ready - journal->partial : most;
    struct outbuf_cursor from = { 0 };
    struct iovec pieces[PIECES];
    for (size_t part = journal->partial; part > 0;) /* skip the part that is written */
        if (next_pieces(journal, &from, &part, pieces) == 0) break;
    for (int count; error == 0 && (count = next_pieces(journal, &from, &left, pieces)) > 0;) {
        size_t written;
        uint64_t at = journal->length + journal->partial;
        error = disk_write(journal->fd, pieces, count, at, &written);
        journal->partial += written;
        if (written > 0) journal->uncut = true;
    }
    if (error != 0) {
        journal->counts.failed_writes++;
        cut_back(journal); /* if this fails, the next write tries again */
        return error;
    }
    if (journal->partial < journal->whole_len) return 0;
    journal->uncut = false;
    journal->length += journal->whole_len;
    journal->written = journal->position;
    empty_buffer(journal);
    journal->counts.writes++;
    return 0;
}

static int write_some(struct journal *journal, int64_t now, size_t most)
{
    if (journal->whole_len == 0) return 0;
    int error = write_buffer(journal, most);
    journal->tried_at = now;
    if (error != 0) {
        journal->phase = CANNOT_WRITE;
    } else if (journal->phase == CANNOT_WRITE && journal->whole_len > 0) {
        journal->tried_at = now - RETRY_USEC; /* the rest may fail: try it at once */
        return 0;
    } else {
        journal->phase = WRITES;
    }
    journal->error = error;
    return error;
}

/* ---- syncing ---- */

static void order_sync(struct journal *journal, int64_t now)
{
    journal->asked = journal->written;
    journal->asked_at = now;
    journal->begun = journal->length;
    journal->counted_late = false;
    syncer_ask(journal->syncer, journal->fd, journal->written, journal->ordered);
    journal->ordered = journal->length;
}

static bool sync_running(const struct journal *journal)
{
    return journal->asked > journal->synced;
}

static bool sync_due(struct journal *journal, int64_t now)
{
    if (journal->written == journal->asked || needs_base(journal)) return false;
    if (journal->mode == JOURNAL_SYNC_ALWAYS) return true;
    if (journal->barrier > journal->asked && journal->written >= journal->barrier) return true;
    if (journal->mode == JOURNAL_SYNC_NEVER) return false;
    if (now - journal->asked_at < SYNC_USEC) return false;
    if (!sync_running(journal)) return true;
    if (!journal->counted_late) journal->counts.late_syncs++;
    journal->counted_late = true;
    return false;
}

void journal_sync_now(struct journal *journal, int64_t now)
{
    if (journal->phase != WRITES || journal->mode == JOURNAL_SYNC_NEVER) return;
    if (journal->written > journal->asked) order_sync(journal, now);
}

static int64_t wait_until(int64_t at, int64_t now)
{
    return at > now ? at - now : 0;
}

int64_t journal_flush(struct journal *journal, int64_t now)
{
    bool retries = journal->phase == CANNOT_WRITE && now - journal->tried_at >= RETRY_USEC;
    if (journal->whole_len > 0 && (journal->phase == WRITES || retries)) {
        /* Write all new bytes in addition to a slice of the late ones: with a slice alone, a client
         * that writes faster than one slice per turn would keep the journal late for ever. */
        size_t most = journal->late == 0
                          ? NO_LIMIT
                          : SLICE + (journal->whole_len - journal->partial - journal->late);
        /* Sum and write a part of a big record now. Also write as much as was added behind it since
         * the last flush, so that clients that do not wait for replies can't stay ahead for ever;
         * and more if much is waiting: 2 MiB of 512 MiB, 32 MiB of 2 GiB. */
        size_t bytes = journal->whole_len - journal->partial;
        if (has_unsummed(journal)) most = SLICE + journal->fresh + (bytes >> 10) * (bytes >> 27);
        if (write_some(journal, now, most) == 0) {
            /* Order blocks ahead of the end of the file: a write that must allocate blocks itself
             * waits while a sync allocates others. */
            uint64_t end = journal->length + journal->partial, ahead = end;
            if (ahead < AHEAD_LEAST) ahead = AHEAD_LEAST;
            if (ahead > AHEAD_MOST) ahead = AHEAD_MOST;
            if (journal->allocated < end + ahead / 2) {
                journal->allocated = end + ahead;
                syncer_allocate(journal->syncer, journal->fd, end, ahead);
            }
            /* Begin to write full pages to the medium long before the sync of each second, which
             * then has little left to do (journal.h). The last page is not full: it is left out,
             * because it would be written twice. */
            uint64_t full = end / PAGE * PAGE;
            if (journal->mode == JOURNAL_SYNC_EVERY_SECOND && full >= journal->begun + WRITE_BACK) {
                syncer_write_back(journal->syncer, journal->fd, journal->begun,
                                  full - journal->begun);
                journal->begun = full;
            }
        }
    }
    /* Drop records that are not needed, because the next base will contain their changes. */
    if (journal->phase == NEEDS_BASE) empty_buffer(journal);
    journal->late = journal->whole_len - journal->partial;
    journal->fresh = 0;
    if (sync_due(journal, now)) order_sync(journal, now);

    /* Compute when the next call is due. A sync that ends starts a turn, and so needs no timer. */
    if (journal->phase == CANNOT_WRITE) return wait_until(journal->tried_at + RETRY_USEC, now);
    if (journal->phase != WRITES) return -1;
    if (journal->whole_len > 0) return 0;
    if (journal->mode == JOURNAL_SYNC_EVERY_SECOND && journal->written > journal->asked &&
        !sync_running(journal))
        return wait_until(journal->asked_at + SYNC_USEC, now);
    return -1;
}

int journal_sync_fd(const struct journal *journal)
{
    return syncer_fd(journal->syncer);
}

void journal_sync_done(struct journal *journal, int64_t now)
{
    struct syncer_report report = syncer_take(journal->syncer);
    /* Ignore syncs of a segment that has failed. */
    if (needs_base(journal)) return;
    if (report.retired && journal->phase == RETIRES) journal->phase = WRITES;
    if (report.synced > journal->synced) {
        journal->synced = report.synced;
        journal->counts.syncs++;
        journal->counts.last_sync_usec = now - journal->asked_at;
    }
    if (report.error == 0) return;
    journal->counts.failed_syncs++;
    need_base(journal, report.error);
}

/* ---- one segment after another ---- */

int journal_rotate(struct journal *journal, int fd, uint32_t id)
{
    bool is_sliced =
        has_unsummed(journal) || journal->partial > 0; /* a big record is being written */
    if (journal->phase == RETIRES || journal->phase == SETTLES || is_sliced) return EBUSY;
    if (needs_base(journal)) return journal->error != 0 ? journal->error : EINVAL;
    int error = write_some(journal, journal->tried_at, NO_LIMIT);
    if (error != 0) return error;
    bool unsynced = journal->synced < journal->written;
    enum syncer_last last = unsynced ? SYNCER_SYNC_AND_CLOSE : SYNCER_JUST_CLOSE;
    if (!syncer_retire(journal->syncer, journal->fd, journal->written, journal->ordered, last))
        return EBUSY;
    if (unsynced) journal->phase = RETIRES;
    journal->asked = journal->written;
    struct journal_end fresh = journal_begun(), end = { journal->length, journal->sum, 0 };
    end = journal_end_to_follow(&end, &journal->before);
    take_segment(journal, fd, &fresh);
    name_segment(journal, id, &end);
    return 0;
}

void journal_restart_begin(struct journal *journal, uint32_t id)
{
    ensure(needs_base(journal), "phase %d", (int)journal->phase);
    ensure(journal->waiting.len == journal->whole_len, "%zu of %zu bytes are whole records",
           journal->whole_len, journal->waiting.len);
    empty_buffer(journal);
    journal->phase = RESTARTS;
    journal->restart_from = journal->position;
    journal->sum = journal_begun().sum;
    name_segment(journal, id, &(struct journal_end){ 0 });
}

void journal_restart_cancel(struct journal *journal)
{
    if (journal->phase == RESTARTS) journal->phase = NEEDS_BASE;
}

int journal_restart_end(struct journal *journal, int fd)
{
    ensure(journal->phase == RESTARTS, "phase %d", (int)journal->phase);
    if (journal->fd >= 0 && !syncer_retire(journal->syncer, journal->fd, 0, 0, SYNCER_JUST_CLOSE))
        return EBUSY;
    struct journal_end fresh = { .length = HEADER_LENGTH, .sum = journal->sum };
    take_segment(journal, fd, &fresh);
    journal->written = journal->synced = journal->asked = journal->restart_from;
    journal->restart_to = journal->position;
    journal->phase = WRITES;
    journal->error = 0;
    return 0;
}

bool journal_catches_up(const struct journal *journal)
{
    return journal->written < journal->restart_to;
}

void journal_give_up_segment(struct journal *journal)
{
    if (journal->phase == CANNOT_WRITE) need_base(journal, journal->error);
}

void journal_need_base(struct journal *journal)
{
    need_base(journal, 0);
}

bool journal_settle(struct journal *journal, int64_t now)
{
    if (journal->phase == RETIRES) return true;
    if (needs_base(journal)) return false;
    if (journal->phase != SETTLES && write_some(journal, now, NO_LIMIT) == 0) {
        journal->phase = SETTLES;
        if (journal->written > journal->asked) order_sync(journal, now);
    }
    return sync_running(journal);
}

bool journal_settles(const struct journal *journal)
{
    return journal->phase == SETTLES;
}

void journal_resume(struct journal *journal)
{
    if (journal->phase == SETTLES) journal->phase = WRITES;
}

int journal_close(struct journal *journal)
{
    syncer_stop(journal->syncer);
    journal_sync_done(journal, journal->asked_at);
    int error = journal->error;
    if (!needs_base(journal)) {
        if (journal->phase != SETTLES) error = write_some(journal, journal->tried_at, NO_LIMIT);
        if (error == 0 && journal->synced < journal->written) error = disk_sync(journal->fd);
    }
    if (journal->fd >= 0) disk_free_allocated(journal->fd);
    journal_free(journal);
    return error;
}

/* ---- state ---- */

uint64_t journal_position(const struct journal *journal)
{
    return journal->position;
}

uint64_t journal_synced(const struct journal *journal)
{
    return journal->synced;
}

uint64_t journal_safe_position(const struct journal *journal)
{
    if (journal->mode == JOURNAL_SYNC_ALWAYS) return journal->synced;
    bool held = journal->synced < journal->barrier && journal->written > journal->barrier_from;
    return held ? journal->barrier_from : journal->written;
}

void journal_require_sync(struct journal *journal, uint64_t from)
{
    if (journal->synced >= journal->barrier) journal->barrier_from = from;
    journal->barrier = journal->position;
}

enum journal_state journal_state(const struct journal *journal)
{
    switch (journal->phase) {
    case WRITES:
    case RETIRES:
    case SETTLES: return JOURNAL_OK;
    case CANNOT_WRITE: return JOURNAL_CANNOT_WRITE;
    case NEEDS_BASE:
    case RESTARTS: break;
    }
    return JOURNAL_NEEDS_BASE;
}

bool journal_is_restarting(const struct journal *journal)
{
    return journal->phase == RESTARTS;
}

int journal_error(const struct journal *journal)
{
    return journal->error;
}

void journal_set_sync_mode(struct journal *journal, enum journal_sync_mode mode)
{
    journal->mode = mode;
}

struct journal_report journal_report(const struct journal *journal)
{
    struct journal_report report = journal->counts;
    report.segment_length = journal->length;
    report.waiting = journal->whole_len;
    report.unsynced = journal->written - journal->synced;
    report.sync_running = sync_running(journal) || journal->phase == RETIRES;
    return report;
}

void journal_check(const struct journal *journal)
{
    int phase = (int)journal->phase;
    bool has_file = !needs_base(journal);
    ensure(journal->whole_len <= journal->waiting.len && journal->partial <= journal->whole_len,
           "%zu written of %zu complete of %zu bytes", journal->partial, journal->whole_len,
           journal->waiting.len);
    ensure(journal->late <= journal->whole_len, "%zu late of %zu bytes", journal->late,
           journal->whole_len);
    ensure(journal->synced <= journal->written && journal->written <= journal->position,
           "synced %" PRIu64 ", written %" PRIu64 ", position %" PRIu64, journal->synced,
           journal->written, journal->position);
    ensure(!has_file || journal->asked <= journal->written, "a sync of unwritten bytes");
    ensure(!has_file || journal->fd >= 0, "phase %d without a file", phase);
    ensure(!has_file || journal->position == journal->written + journal->whole_len,
           "position %" PRIu64 ", written %" PRIu64 ", %zu bytes wait", journal->position,
           journal->written, journal->whole_len);
    ensure(journal->phase != RETIRES || journal->length == HEADER_LENGTH,
           "%" PRIu64 " bytes behind a segment that is not synced", journal->length);
    ensure(journal->phase != SETTLES || journal->partial == 0, "%zu bytes of a record are written",
           journal->partial);
    ensure(journal->partial == 0 || journal->uncut, "%zu bytes of a record, but the file is cut",
           journal->partial);
}
