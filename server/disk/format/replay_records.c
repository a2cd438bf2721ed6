/* replay_records: the reader of a journal file for replay.h. Reads record by record and decides
 * whether a bad end is torn or damaged. A record stays in one buffer until its checksum has been
 * checked. Records that a thread reads ahead (ahead.h) do not need the buffer. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/disk/effect/effect_brief.h"
#include "server/disk/format/crc32c.h"
#include "server/disk/format/instant_mark.h"
#include "server/disk/format/record.h"
#include "server/disk/format/replay.h"
#include "store/mem/mem.h"

enum { ENDS_MAX = 8 };

enum { BUFFER = 1024 * 1024, PROGRESS_STEP = 1024 * 1024, SUM_STEP = 64 * 1024 * 1024 };

struct reading {
    struct replay *replay;
    struct replay_file *file;
    const struct replay_progress *progress;
    int fd;
    char *buffer;
    size_t cap;
    size_t start, end; /* the bytes in the buffer, from the file's `good` on */
    /* Where the text of the current record may end if its checksum line is damaged: before a line
     * that is or resembles a # line, and where a command is malformed. Offsets from the start of
     * the record, ascending. */
    size_t possible_ends[ENDS_MAX];
    unsigned end_count;
    uint64_t unfinished_to;        /* 0; or, if the file ends within a command of the bad record,
                                    * the offset beyond which that command can't reach */
    struct instant_marks instants; /* marks up to `good`; `next` includes the current record */
    struct instant_marks next;
    uint64_t reported;
    bool is_ahead; /* a thread may read ahead what follows */
};

/* Ends the replay with this result and reason. Returns false, which the caller returns as well. */
__attribute__((format(printf, 4, 5))) static bool
stop_reading(struct reading *in, enum replay_end end, uint64_t bad, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(in->file->reason, sizeof(in->file->reason), format, values);
    va_end(values);
    in->file->end = end;
    in->file->bad = bad;
    return false;
}

static bool stop_unreadable(struct reading *in, uint64_t at)
{
    return stop_reading(in, REPLAY_UNREADABLE, at, "%s", strerror(errno));
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static ssize_t read_at(const struct reading *in, char *to, size_t len, uint64_t at)
{
    ssize_t got;
    do
        got = pread(in->fd, to, len, (off_t)at);
    while (got < 0 && errno == EINTR);
    return got;
}

static void make_buffer_room(struct reading *in)
{
    if (in->start > 0) {
        memmove(in->buffer, in->buffer + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    if (in->end < in->cap) return;
    in->cap = in->cap > 0 ? 2 * in->cap : BUFFER;
    in->buffer = mem_realloc(in->buffer, in->cap);
}

static void report_segment_progress(struct reading *in)
{
    in->reported = in->file->good;
    if (in->progress != NULL) in->progress->report(in->progress->ctx, in->reported);
}

enum fill { FILLED, AT_END, FAILED };

/* Reads until `wanted` bytes follow the start. An absurd length costs no memory: nothing is read if
 * it exceeds the rest of the file. */
static enum fill fill_buffer(struct reading *in, uint64_t wanted)
{
    if (in->file->good + wanted > in->file->size) return AT_END;
    while (in->end - in->start < wanted) {
        make_buffer_room(in);
        uint64_t at = in->file->good + (in->end - in->start);
        size_t room = in->cap - in->end;
        ssize_t got = read_at(in, in->buffer + in->end, room < BUFFER ? room : BUFFER, at);
        if (got < 0) return FAILED;
        if (got == 0) return AT_END;
        in->end += (size_t)got;
        if (in->end - in->start > BUFFER) report_segment_progress(in);
    }
    return FILLED;
}

/* ---- torn or damaged? ------------------------------------------------------------------------ */

enum { CANDIDATES = 8, SECTOR = 512 };

/* A checksum that continues at an offset in the file. */
struct seed {
    uint64_t end;
    uint32_t sum;
};

/* A search for a good record in the bytes after the last good one. Each checksum line is a
 * candidate: if it ended a record, the checksum of the next record continues from it. Lines in
 * values can look like checksum lines, so the last few candidates are kept.
 *
 * If the checksum line of the bad record is itself damaged, it is no candidate. But a whole text of
 * that record determines what the line must have been. Each possible end of the bad record is
 * therefore a seed: the checksum behind the line that belongs there. */
struct search {
    struct seed seeds[ENDS_MAX];
    unsigned seed_count;
    uint32_t sums[CANDIDATES]; /* continued from each candidate's checksum */
    uint64_t ends[CANDIDATES]; /* the file's offset after each candidate's line */
    unsigned count;            /* number of candidates so far */
    uint64_t summed;           /* the file's offset up to which the sums have come */
    uint64_t found;            /* where the first good record begins; 0 if none was found */
    uint64_t found_end;        /* where the last good record ends */
    uint64_t unfinished_to;    /* as in struct reading */
    uint64_t found_apart;      /* where the first good record at or after `unfinished_to` begins; 0
                                * if none was found */
};

static void sum_bytes(struct search *search, const char *data, size_t len)
{
    unsigned kept = search->count < CANDIDATES ? search->count : CANDIDATES;
    for (unsigned i = 0; i < kept; i++)
        search->sums[i] = crc32c(search->sums[i], data, len);
    for (unsigned i = 0; i < search->seed_count; i++) {
        struct seed *seed = &search->seeds[i];
        size_t before = seed->end > search->summed ? (size_t)(seed->end - search->summed) : 0;
        if (before < len) seed->sum = crc32c(seed->sum, data + before, len - before);
    }
    search->summed += len;
}

/* Searches data, which follows the bytes summed so far, for checksum lines, and adds it to the
 * sums. Leaves out an end that may be an incomplete line. Returns how many bytes were added. */
static size_t search_bytes(struct search *search, const char *data, size_t len)
{
    size_t done = 0;
    for (size_t at = 0; at + RECORD_SUM_LINE <= len; at++) {
        const char *hash = memchr(data + at, '#', len - at);
        if (hash == NULL) break;
        at = (size_t)(hash - data);
        uint32_t sum;
        if (len - at < RECORD_SUM_LINE || !record_parse_sum(hash, &sum)) continue;
        sum_bytes(search, data + done, at - done);
        done = at;
        /* If the line ends a good record, `start` is the offset at which that record begins. */
        uint64_t start = 0, end = search->summed + RECORD_SUM_LINE;
        unsigned kept = search->count < CANDIDATES ? search->count : CANDIDATES;
        for (unsigned i = 0; i < kept && start == 0; i++)
            if (search->sums[i] == sum) start = search->ends[i];
        for (unsigned i = 0; i < search->seed_count && start == 0; i++)
            if (search->summed > search->seeds[i].end && search->seeds[i].sum == sum)
                start = search->seeds[i].end;
        if (search->found == 0) search->found = start;
        if (start > 0) search->found_end = end;
        if (search->found_apart == 0 && start >= search->unfinished_to) search->found_apart = start;
        unsigned next = search->count++ % CANDIDATES;
        search->sums[next] = sum;
        search->ends[next] = end;
    }
    size_t rest = len >= RECORD_SUM_LINE ? len - RECORD_SUM_LINE + 1 : 0;
    if (rest > done) {
        sum_bytes(search, data + done, rest - done);
        done = rest;
    }
    return done;
}

/* Do zeros show that the good record at `until` was never synced?
 *
 * Disks write sectors in any order. After a power failure the file may have its full length
 * although some sectors were not written: these read as zeros, except for bytes that were synced
 * before. A write ends at the end of a record. So there are two signs that nothing behind them was
 * synced, or acknowledged as synced: zeros from the last good record to the end of its sector, and
 * a whole sector of zeros before the next good record. A later mark (segment_mark.h) that says
 * otherwise overrules both. */
static bool has_hole(const struct reading *in, uint64_t until)
{
    char sector[SECTOR];
    uint64_t end;
    for (uint64_t at = in->file->good; (end = at / SECTOR * SECTOR + SECTOR) <= until; at = end) {
        size_t len = (size_t)(end - at);
        if (read_at(in, sector, len, at) != (ssize_t)len) return false;
        if (sector[0] == '\0' && memcmp(sector, sector + 1, len - 1) == 0) return true;
    }
    return false;
}

static enum replay_end search_good_record(struct reading *in)
{
    struct search search = { .summed = in->file->good, .unfinished_to = in->unfinished_to };
    const char *record = in->buffer + in->start;
    uint32_t record_sum = in->file->sum;
    size_t summed = 0;
    for (unsigned i = 0; i < in->end_count; i++) {
        char line[RECORD_SUM_LINE];
        size_t len = in->possible_ends[i];
        record_sum = crc32c(record_sum, record + summed, len - summed);
        summed = len;
        record_print_sum(line, record_sum);
        search.seeds[search.seed_count++] =
            (struct seed){ .end = in->file->good + len + RECORD_SUM_LINE,
                           .sum = crc32c(record_sum, line, RECORD_SUM_LINE) };
    }
    in->start = in->end = 0;
    for (;;) {
        make_buffer_room(in);
        ssize_t got = read_at(in, in->buffer + in->end, in->cap - in->end,
                              search.summed + (in->end - in->start));
        if (got < 0) return REPLAY_UNREADABLE;
        if (got > 0) {
            in->end += (size_t)got;
            in->start += search_bytes(&search, in->buffer, in->end);
        }
        if (got == 0 || (search.found > 0 && in->unfinished_to == 0)) break;
    }
    if (search.found_apart > 0 && !has_hole(in, search.found_apart)) return REPLAY_DAMAGED;
    /* If the file ends within a command, the records found may be bytes of a value of that command.
     * A file that was cut at an arbitrary byte, however, hardly ever ends just after such a
     * record. */
    bool ends_file = search.found > 0 && search.found_end == in->file->size;
    return ends_file && !has_hole(in, search.found) ? REPLAY_DAMAGED : REPLAY_TORN;
}

/* Returns REPLAY_DAMAGED if a mark in the rest of the file says that bytes after the good ones were
 * synced, otherwise REPLAY_TORN; REPLAY_UNREADABLE if reading fails. If the segment's ID is
 * unknown, because the record that states it is damaged too, marks with any ID count. */
static enum replay_end search_mark(struct reading *in)
{
    uint64_t at = in->file->good;
    in->start = in->end = 0;
    for (ssize_t got = 1; got > 0;) {
        make_buffer_room(in);
        got = read_at(in, in->buffer + in->end, in->cap - in->end, at + in->end);
        if (got < 0) return REPLAY_UNREADABLE;
        in->end += (size_t)got;
        while (in->start < in->end) {
            uint64_t offset;
            uint32_t id;
            size_t left = in->end - in->start;
            const char *from = in->buffer + in->start, *hash = memchr(from, '#', left);
            in->start = hash != NULL ? (size_t)(hash - in->buffer) : in->end;
            if (hash == NULL) break;
            left = in->end - in->start;
            if (got > 0 && left < SEGMENT_MARK_MAX) break; /* read the whole line first */
            if (segment_mark_read_synced(hash, left, &offset, &id) && offset > in->file->good &&
                offset <= at + in->start && (id == in->replay->id || in->replay->id == 0))
                return REPLAY_DAMAGED;
            in->start++;
        }
        at += in->start;
    }
    return REPLAY_TORN;
}

/* Does the first record become good if the file's first line is that of the other version? Tells a
 * damaged version number from a damaged record. The lengths of the two lines must be equal. */
static bool fits_other_version(const struct reading *in)
{
    struct bytes line = in->file->version == 1 ? LIT(RECORD_FIRST_LINE) : LIT(RECORD_FIRST_LINE_1);
    if (in->file->good != line.len) return false;
    const char *from = in->buffer + in->start, *end = in->buffer + in->end, *hash;
    uint32_t sum = crc32c(0, line.data, line.len), written;
    for (const char *at = from; end - at >= RECORD_SUM_LINE; at = hash + 1) {
        hash = memchr(at, '#', (size_t)(end - at));
        if (hash == NULL || end - hash < RECORD_SUM_LINE) return false;
        if (!record_parse_sum(hash, &written)) continue;
        sum = crc32c(sum, from, (size_t)(hash - from));
        from = hash;
        if (sum == written) return true;
    }
    return false;
}

/* Stops at the bad record after the good ones; `bad` is where the error is. */
__attribute__((format(printf, 3, 4))) static bool stop_bad(struct reading *in, uint64_t bad,
                                                           const char *format, ...)
{
    char reason[REPLAY_ERROR_MAX];
    va_list values;
    va_start(values, format);
    vsnprintf(reason, sizeof(reason), format, values);
    va_end(values);
    if (fits_other_version(in))
        return stop_reading(in, REPLAY_DAMAGED, 0, "first line has the wrong version");
    enum replay_end end = search_good_record(in);
    if (end == REPLAY_TORN && in->replay->synced > in->file->good) end = REPLAY_DAMAGED;
    if (end == REPLAY_TORN) end = search_mark(in);
    if (end == REPLAY_UNREADABLE) return stop_unreadable(in, bad);
    return stop_reading(in, end, bad, "%s", reason);
}

/* Stops because the file ends or can't be read before the end of an item. The item begins at `from`
 * and has at most `most` bytes. */
static bool stop_short(struct reading *in, enum fill why, size_t from, uint64_t most)
{
    uint64_t at = in->file->good + (in->end - in->start);
    if (why == FAILED) return stop_unreadable(in, at);
    in->unfinished_to = most < UINT64_MAX ? in->file->good + from + most : UINT64_MAX;
    return stop_bad(in, in->file->good, "record has no end");
}

/* ---- records --------------------------------------------------------------------------------- */

/* Returns the length of the line at `from`, at most RECORD_REMARK_MAX bytes including its line end;
 * 0 if reading has stopped. */
static size_t measure_line(struct reading *in, size_t from)
{
    for (size_t searched = 0;;) {
        const char *line = in->buffer + in->start + from;
        size_t here = in->end - in->start - from;
        const char *end = memchr(line + searched, '\n', here - searched);
        size_t len = end != NULL ? (size_t)(end + 1 - line) : here;
        if (len > RECORD_REMARK_MAX) break;
        if (end != NULL) return len;
        searched = here;
        enum fill more = fill_buffer(in, from + here + 1);
        if (more == FILLED) continue;
        stop_short(in, more, from, RECORD_REMARK_MAX);
        return 0;
    }
    stop_bad(in, in->file->good + from, "line is longer than %d bytes", RECORD_REMARK_MAX);
    return 0;
}

static void note_possible_end(struct reading *in, size_t len)
{
    if (in->end_count > 0 && in->possible_ends[in->end_count - 1] == len) return;
    if (in->end_count == ENDS_MAX) in->end_count--; /* keep the first ones and the last one */
    in->possible_ends[in->end_count++] = len;
}

/* Finds the end of the record at the start. *len becomes the length of its commands, *sum the
 * checksum in the line behind them. */
static bool find_end(struct reading *in, size_t *len, uint32_t *sum)
{
    in->end_count = 0;
    in->next = in->instants;
    for (*len = 0;;) {
        fill_buffer(in, *len + RECORD_SUM_LINE); /* an error is met below */
        size_t here = in->end - in->start - *len, size = here + 1;
        const char *at = in->buffer + in->start + *len;
        enum request_status status = REQUEST_PARTIAL;
        uint64_t most = UINT64_MAX; /* bytes of this command */
        /* If only the first byte of a checksum line is damaged, the line may look like the head of
         * a brief effect, which is then measured beyond the line. Note it as a possible end before
         * that. */
        if (here >= RECORD_SUM_LINE && record_parse_digits(at, sum)) note_possible_end(in, *len);
        if (here > 0 && *at == '#') {
            note_possible_end(in, *len);
            size = measure_line(in, *len);
            if (size == 0) return false;
            at = in->buffer + in->start + *len;
            if (size == RECORD_SUM_LINE && record_parse_sum(at, sum)) return true;
            instant_marks_read(&in->next, at, size);
            status = REQUEST_WHOLE;
        } else if (here > 0 && in->replay->reads_brief && effect_brief_begins(*at)) {
            status = effect_brief_measure(at, here, &size);
            most = BRIEF_HEAD + BRIEF_TEXTS_MAX;
        } else if (here > 0) {
            status = request_measure(at, here, &size);
        }
        if (status == REQUEST_MALFORMED) {
            note_possible_end(in, *len);
            return stop_bad(in, in->file->good + *len, "command is malformed");
        }
        if (status == REQUEST_WHOLE) {
            *len += size;
            continue;
        }
        enum fill more = fill_buffer(in, *len + size);
        if (more != FILLED) return stop_short(in, more, *len, most);
    }
}

static void accept_bytes(struct reading *in, size_t len, uint32_t sum)
{
    in->file->sum = sum;
    in->file->good += len;
    in->start += len;
    if (in->file->good - in->reported >= PROGRESS_STEP) report_segment_progress(in);
}

static void date_record(struct reading *in)
{
    struct replay_file *file = in->file;
    if (!in->instants.known && in->next.known) file->first = file->latest = in->next.last;
    if (in->next.last > file->latest) file->latest = in->next.last;
    if (in->instants.known && in->next.last < in->instants.last) file->set_back = true;
    if (!in->next.known) file->undated++;
    file->last = in->next.last;
    in->instants = in->next;
}

static bool read_first_line(struct reading *in)
{
    struct bytes line = LIT(RECORD_FIRST_LINE);
    uint64_t size = in->file->size;
    int version = RECORD_VERSION;
    if (fill_buffer(in, size < line.len ? size : line.len) == FAILED) return stop_unreadable(in, 0);
    size_t here = in->end < line.len ? in->end : line.len;
    if (memcmp(in->buffer, line.data, here) != 0) {
        line = LIT(RECORD_FIRST_LINE_1);
        version = 1;
    }
    if (memcmp(in->buffer, line.data, here) != 0)
        return stop_reading(in, REPLAY_DAMAGED, 0, "not a journal of version 1 or 2");
    if (here < line.len)
        return stop_reading(in, in->replay->synced > 0 ? REPLAY_DAMAGED : REPLAY_TORN, 0,
                            "first line is incomplete");
    in->file->version = version;
    in->replay->reads_brief = version > 1;
    accept_bytes(in, line.len, crc32c(0, line.data, line.len));
    return true;
}

/* Replays one record. Returns false if reading has stopped. */
static bool replay_record(struct reading *in)
{
    struct replay *replay = in->replay;
    size_t len, applied;
    uint32_t written = 0;
    if (in->file->good == in->file->size) {
        if (replay->synced <= in->file->size) return false;
        return stop_reading(in, REPLAY_DAMAGED, in->file->size,
                            "the file ends here, but %" PRIu64 " bytes of it were synced",
                            replay->synced);
    }
    if (!find_end(in, &len, &written)) return false;
    const char *record = in->buffer + in->start;
    uint32_t sum = in->file->sum;
    /* Report progress between the pieces of a long record. */
    for (size_t at = 0, piece; at < len; at += piece) {
        piece = len - at < SUM_STEP ? len - at : SUM_STEP;
        if (at > 0) report_segment_progress(in);
        sum = crc32c(sum, record + at, piece);
    }
    if (sum != written)
        return stop_bad(in, in->file->good + len,
                        "wrong checksum: computed %08" PRIx32 ", stored %08" PRIx32, sum, written);
    in->file->beyond = in->next.last;
    if (in->next.known && in->next.last > replay->until)
        return stop_reading(in, REPLAY_STOPPED, in->file->good,
                            "the next record is of a later time");
    uint64_t effects = replay->effects;
    replay->progress = in->progress;
    replay->record_at = in->file->good;
    replay->marked = false;
    bool good = replay_feed(replay, record, len, &applied);
    replay->progress = NULL;
    if (!replay->marked && replay->effects > effects) replay->marks.known = false;
    if (!good)
        return stop_reading(in, REPLAY_DAMAGED, in->file->good + applied, "%s", replay->error);
    accept_bytes(in, len + RECORD_SUM_LINE, crc32c(sum, record + len, RECORD_SUM_LINE));
    in->file->records++;
    date_record(in);
    return true;
}

/* ---- with a thread --------------------------------------------------------------------------- */

/* Applies a record whose items begin with `from`. */
static bool apply_parsed(struct reading *in, const struct parsed_batch *batch, unsigned from,
                         const struct parsed_record *record)
{
    struct replay *replay = in->replay;
    uint64_t effects = replay->effects;
    replay->marked = false;
    if (!replay_parsed(replay, batch, from, record->end, record->commands))
        return stop_reading(in, REPLAY_DAMAGED, in->file->good + replay->command_at, "%s",
                            replay->error);
    if (!replay->marked && replay->effects > effects) replay->marks.known = false;
    replay->reader.db = record->next.db;
    in->next = record->next.instants;
    in->file->sum = record->next.sum;
    in->file->good = record->next.good;
    in->file->records++;
    date_record(in);
    if (in->file->good - in->reported >= PROGRESS_STEP) report_segment_progress(in);
    return true;
}

/* Applies the records that a thread reads ahead, up to the end of the file or to a record that the
 * thread leaves to replay_record: one that is too large, bad, unreadable, or made after `until`.
 * Applies none if no thread can be started. Returns false if reading has stopped. */
static bool replay_ahead(struct reading *in)
{
    struct replay *replay = in->replay;
    const struct parsed_place place = { in->file->good, in->file->sum, replay->reader.db,
                                        replay->reads_brief, in->instants };
    struct ahead *ahead =
        ahead_of_journal(in->fd, in->file->size, &place, replay->until, replay->start_thread);
    bool good = true;
    in->start = in->end = 0; /* the thread moves `good` past the buffered bytes */
    while (ahead != NULL && good) {
        const struct ahead_part *part = ahead_next(ahead);
        if (part->got == SNAPSHOT_END) break;
        const struct parsed_batch *batch = &part->batch;
        for (unsigned i = 0, from = 0; i < batch->record_count && good; i++) {
            good = apply_parsed(in, batch, from, &batch->records[i]);
            from = batch->records[i].end;
        }
    }
    if (ahead != NULL) ahead_stop(ahead);
    /* After a record that was too large for the thread, start the thread again only if it came at
     * least ahead_from bytes far. Otherwise assume that such records are frequent, and do not start
     * it for the rest of this file. */
    in->is_ahead = in->file->good - place.good >= replay->ahead_from;
    return good;
}

void replay_records(struct replay *replay, int fd, const struct replay_progress *progress,
                    struct replay_file *file)
{
    struct reading in = { .replay = replay, .file = file, .progress = progress, .fd = fd };
    struct stat status;
    *file = (struct replay_file){ .end = REPLAY_WHOLE };
    if (fstat(fd, &status) != 0) {
        stop_unreadable(&in, 0);
        return;
    }
    file->size = (uint64_t)status.st_size;
    make_buffer_room(&in);
    replay_restart(replay);
    bool goes_on = read_first_line(&in);
    in.is_ahead = replay->start_thread != NULL && file->size >= replay->ahead_from;
    while (goes_on) {
        if (in.is_ahead) goes_on = replay_ahead(&in);
        if (goes_on) goes_on = replay_record(&in);
    }
    file->id = replay->id;
    mem_free(in.buffer);
}
