/* report: see report.h. */
#include "server/admin/info/report.h"

#include <inttypes.h>
#include <stdarg.h>

enum { LINE_MAX_CHARS = 1024 };

void report_line(struct report *report, const char *format, ...)
{
    char text[LINE_MAX_CHARS];
    va_list values;
    va_start(values, format);
    int len = vsnprintf(text, sizeof(text) - 2, format, values);
    va_end(values);
    if (len > (int)sizeof(text) - 3) len = (int)sizeof(text) - 3;
    /* The text may come from a client, which must not be able to forge a line. */
    for (int i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) text[i] = ' ';
    memcpy(text + len, "\r\n", 2);
    outbuf_append(&report->text, text, (size_t)len + 2);
}

void report_rows(struct report *report, const struct info_row *rows, size_t count)
{
    static const char units[] = "BKMGTPE";
    for (const struct info_row *row = rows; row < rows + count; row++) {
        switch (row->kind) {
        case INFO_COUNT: report_line(report, "%s:%" PRIu64, row->name, row->count); break;
        case INFO_NUMBER: report_line(report, "%s:%" PRId64, row->name, row->number); break;
        case INFO_BYTES: {
            report_line(report, "%s:%" PRIu64, row->name, row->count);
            double size = (double)row->count;
            unsigned unit = 0;
            for (; size >= 1024 && unit + 2 < sizeof(units); unit++)
                size /= 1024;
            report_line(report, unit == 0 ? "%s_human:%.0f%c" : "%s_human:%.2f%c", row->name, size,
                        units[unit]);
            break;
        }
        case INFO_RATIO: report_line(report, "%s:%.2f", row->name, row->ratio); break;
        case INFO_PERCENT: report_line(report, "%s:%.2f%%", row->name, row->ratio); break;
        case INFO_SECONDS: report_line(report, "%s:%.6f", row->name, row->ratio); break;
        case INFO_TEXT: report_line(report, "%s:%s", row->name, row->text); break;
        }
    }
}
