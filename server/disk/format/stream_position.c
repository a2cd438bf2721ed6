/* stream_position: see stream_position.h. */
#include "server/disk/format/stream_position.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/base/number.h"

#define STEP  "#+"
#define WHOLE "#STREAM "
#define END   "\r\n"

/* Are both positions in the same stream, so that a distance describes the second one? */
static bool is_further(const struct stream_position *from, const struct stream_position *to)
{
    return memcmp(from->history.id, to->history.id, HISTORY_ID) == 0 &&
           memcmp(from->history.old_id, to->history.old_id, HISTORY_ID) == 0 &&
           from->history.old_end == to->history.old_end && from->effects_from == to->effects_from &&
           from->db == to->db && from->offset <= to->offset;
}

static size_t print_step(char *to, uint64_t bytes)
{
    size_t len = sizeof(STEP) - 1;
    memcpy(to, STEP, len);
    len += number_print_uint64(to + len, bytes);
    memcpy(to + len, END, sizeof(END) - 1);
    return len + sizeof(END) - 1;
}

static size_t print_whole(char to[STREAM_MARK_MAX], const struct stream_position *position)
{
    const struct history *history = &position->history;
    return (size_t)snprintf(
        to, STREAM_MARK_MAX, WHOLE "%s %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %u" END, history->id,
        position->offset, history->old_id, history->old_end, position->effects_from, position->db);
}

size_t position_marks_print(struct position_marks *marks, const struct stream_position *position,
                            char to[STREAM_MARK_MAX])
{
    bool steps = marks->known && position != NULL && is_further(&marks->last, position);
    uint64_t from = marks->last.offset;
    marks->known = position != NULL;
    if (position == NULL) return 0;
    if (!steps) {
        marks->last = *position;
        return print_whole(to, position);
    }
    marks->last.offset = position->offset;
    return print_step(to, position->offset - from);
}

static bool read_whole(struct stream_position *position, const char *line, size_t len)
{
    char text[STREAM_MARK_MAX + 1];
    int used = 0;
    struct history *history = &position->history;
    if (len > STREAM_MARK_MAX || len < sizeof(WHOLE) || memcmp(line, WHOLE, sizeof(WHOLE) - 1) != 0)
        return false;
    memcpy(text, line, len);
    text[len] = '\0';
    int found = sscanf(
        text, WHOLE "%40[0-9a-fA-F] %" SCNu64 " %40[0-9a-fA-F] %" SCNu64 " %" SCNu64 " %u\r\n%n",
        history->id, &position->offset, history->old_id, &history->old_end, &position->effects_from,
        &position->db, &used);
    return found == 6 && (size_t)used == len && strlen(history->id) == HISTORY_ID &&
           strlen(history->old_id) == HISTORY_ID && position->offset > 0 &&
           position->offset <= STREAM_OFFSET_MAX;
}

bool position_marks_read(struct position_marks *marks, const char *line, size_t len)
{
    size_t head = sizeof(STEP) - 1, end = sizeof(END) - 1;
    struct stream_position position;
    uint64_t bytes;
    if (len > head + end && memcmp(line, STEP, head) == 0) {
        if (!number_parse_uint64(line + head, len - head - end, &bytes)) return false;
        if (bytes > STREAM_OFFSET_MAX - marks->last.offset) marks->known = false;
        if (marks->known) marks->last.offset += bytes;
        return marks->known;
    }
    if (!read_whole(&position, line, len)) return false;
    *marks = (struct position_marks){ .known = true, .last = position };
    return true;
}
