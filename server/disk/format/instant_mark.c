/* instant_mark: see instant_mark.h. */
#include "server/disk/format/instant_mark.h"

#include <string.h>

#include "store/base/number.h"

#define MARK "#@"
#define STEP MARK "+"
#define END  "\r\n"

enum { MARK_LEN = sizeof(MARK) - 1, STEP_LEN = sizeof(STEP) - 1, END_LEN = sizeof(END) - 1 };

size_t instant_marks_print(struct instant_marks *marks, msec at, char to[INSTANT_MARK_MAX])
{
    bool steps = marks->known && at > marks->last;
    if (marks->known && at == marks->last) return 0;
    size_t len = steps ? STEP_LEN : MARK_LEN;
    memcpy(to, STEP, len);
    len += number_print_int64(to + len, steps ? at - marks->last : at);
    memcpy(to + len, END, END_LEN);
    *marks = (struct instant_marks){ .known = true, .last = at };
    return len + END_LEN;
}

bool instant_marks_read(struct instant_marks *marks, const char *line, size_t len)
{
    if (len <= MARK_LEN + END_LEN || len > INSTANT_MARK_MAX || memcmp(line, MARK, MARK_LEN) != 0 ||
        memcmp(line + len - END_LEN, END, END_LEN) != 0)
        return false;
    bool steps = line[MARK_LEN] == '+';
    size_t head = steps ? STEP_LEN : MARK_LEN;
    msec number, at;
    if (!number_parse_int64(line + head, len - head - END_LEN, &number) || number < 0) return false;
    at = number;
    if (steps && (!marks->known || !instant_after(marks->last, number, &at))) return false;
    if (!instant_ok(at)) return false;
    *marks = (struct instant_marks){ .known = true, .last = at };
    return true;
}
