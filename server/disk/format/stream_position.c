/* stream_position: see stream_position.h. */
#include "server/disk/format/stream_position.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/base/number.h"

#define STEP  "#+"
#define WHOLE "#STREAM "
#define END   "\r\n"

size_t position_marks_print(struct position_marks *marks, const struct stream_position *position,
                            char to[STREAM_MARK_MAX])
{
    bool was_known = marks->known;
    marks->known = position != NULL;
    if (position == NULL) return 0;

    /* If both positions are in the same stream, a distance describes the second one. */
    const struct history *old = &marks->last.history, *history = &position->history;
    uint64_t from = marks->last.offset;
    if (was_known && memcmp(old->id, history->id, HISTORY_ID) == 0 &&
        memcmp(old->old_id, history->old_id, HISTORY_ID) == 0 && old->old_end == history->old_end &&
        marks->last.effects_from == position->effects_from && marks->last.db == position->db &&
        from <= position->offset) {
        size_t len = sizeof(STEP) - 1;
        marks->last.offset = position->offset;
        memcpy(to, STEP, len);
        len += number_print_uint64(to + len, position->offset - from);
        memcpy(to + len, END, sizeof(END) - 1);
        return len + sizeof(END) - 1;
    }

    marks->last = *position;
    return (size_t)snprintf(
        to, STREAM_MARK_MAX, WHOLE "%s %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %u" END, history->id,
        position->offset, history->old_id, history->old_end, position->effects_from, position->db);
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

    char text[STREAM_MARK_MAX + 1];
    int used = 0;
    struct history *history = &position.history;
    if (len > STREAM_MARK_MAX || len < sizeof(WHOLE) || memcmp(line, WHOLE, sizeof(WHOLE) - 1) != 0)
        return false;
    memcpy(text, line, len);
    text[len] = '\0';
    int found = sscanf(
        text, WHOLE "%40[0-9a-fA-F] %" SCNu64 " %40[0-9a-fA-F] %" SCNu64 " %" SCNu64 " %u\r\n%n",
        history->id, &position.offset, history->old_id, &history->old_end, &position.effects_from,
        &position.db, &used);
    if (found != 6 || (size_t)used != len || strlen(history->id) != HISTORY_ID ||
        strlen(history->old_id) != HISTORY_ID || position.offset == 0 ||
        position.offset > STREAM_OFFSET_MAX)
        return false;
    *marks = (struct position_marks){ .known = true, .last = position };
    return true;
}
