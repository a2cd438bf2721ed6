/* stream_place: see stream_place.h. */
#include "server/disk/format/stream_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/base/number.h"

#define STEP  "#+"
#define WHOLE "#STREAM "
#define END   "\r\n"

/* Are both places in the same stream, so that a distance describes the second one? */
static bool is_further(const struct stream_place *from, const struct stream_place *to)
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

static size_t print_whole(char to[STREAM_MARK_MAX], const struct stream_place *place)
{
    const struct history *history = &place->history;
    return (size_t)snprintf(
        to, STREAM_MARK_MAX, WHOLE "%s %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %u" END, history->id,
        place->offset, history->old_id, history->old_end, place->effects_from, place->db);
}

size_t place_marks_print(struct place_marks *marks, const struct stream_place *place,
                         char to[STREAM_MARK_MAX])
{
    bool steps = marks->known && place != NULL && is_further(&marks->last, place);
    uint64_t from = marks->last.offset;
    marks->known = place != NULL;
    if (place == NULL) return 0;
    if (!steps) {
        marks->last = *place;
        return print_whole(to, place);
    }
    marks->last.offset = place->offset;
    return print_step(to, place->offset - from);
}

static bool read_whole(struct stream_place *place, const char *line, size_t len)
{
    char text[STREAM_MARK_MAX + 1];
    int used = 0;
    struct history *history = &place->history;
    if (len > STREAM_MARK_MAX || len < sizeof(WHOLE) || memcmp(line, WHOLE, sizeof(WHOLE) - 1) != 0)
        return false;
    memcpy(text, line, len);
    text[len] = '\0';
    int found = sscanf(
        text, WHOLE "%40[0-9a-fA-F] %" SCNu64 " %40[0-9a-fA-F] %" SCNu64 " %" SCNu64 " %u\r\n%n",
        history->id, &place->offset, history->old_id, &history->old_end, &place->effects_from,
        &place->db, &used);
    return found == 6 && (size_t)used == len && strlen(history->id) == HISTORY_ID &&
           strlen(history->old_id) == HISTORY_ID && place->offset > 0 &&
           place->offset <= STREAM_OFFSET_MAX;
}

bool place_marks_read(struct place_marks *marks, const char *line, size_t len)
{
    size_t head = sizeof(STEP) - 1, end = sizeof(END) - 1;
    struct stream_place place;
    uint64_t bytes;
    if (len > head + end && memcmp(line, STEP, head) == 0) {
        if (!number_parse_uint64(line + head, len - head - end, &bytes)) return false;
        if (bytes > STREAM_OFFSET_MAX - marks->last.offset) marks->known = false;
        if (marks->known) marks->last.offset += bytes;
        return marks->known;
    }
    if (!read_whole(&place, line, len)) return false;
    *marks = (struct place_marks){ .known = true, .last = place };
    return true;
}
