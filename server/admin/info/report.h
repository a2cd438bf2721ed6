/* report: builds the text of INFO: lines of fields, from tables of rows. */
#pragma once

#include "server/admin/admin.h"
#include "server/disk/persist.h"
#include "store/mem/outbuf.h"

struct report {
    const struct admin_parts *context;
    msec now;
    int64_t mono_usec;
    struct persist_report persist; /* without persistence, that of an idle server */
    struct outbuf text;
};

/* A field and its value. BYTES writes two fields: `name`, and name_human such as 1.20M. */
enum info_kind {
    INFO_COUNT,
    INFO_NUMBER,
    INFO_BYTES,
    INFO_RATIO,
    INFO_PERCENT,
    INFO_SECONDS,
    INFO_TEXT
};
struct info_row {
    const char *name;
    enum info_kind kind;
    union {
        uint64_t count;
        int64_t number;
        double ratio;
        const char *text;
    };
};

#define INFO_ROW(field, of, member, value)                                                         \
    {                                                                                              \
        .name = (field), .kind = (of), .member = (value)                                           \
    }
#define COUNT(field, value)   INFO_ROW(field, INFO_COUNT, count, (uint64_t)(value))
#define NUMBER(field, value)  INFO_ROW(field, INFO_NUMBER, number, value)
#define BYTES(field, value)   INFO_ROW(field, INFO_BYTES, count, (uint64_t)(value))
#define RATIO(field, value)   INFO_ROW(field, INFO_RATIO, ratio, value)   /* two decimals */
#define PERCENT(field, value) INFO_ROW(field, INFO_PERCENT, ratio, value) /* two decimals and % */
#define SECONDS(field, value) INFO_ROW(field, INFO_SECONDS, ratio, value) /* six decimals */
#define TEXT(field, value)    INFO_ROW(field, INFO_TEXT, text, value)
/* A field of Redis that counts something which never happens in this server: always 0. */
#define NEVER_ANY(field) COUNT(field, 0)

#define REPORT_ROWS(report, rows) report_rows(report, rows, sizeof(rows) / sizeof((rows)[0]))
void report_rows(struct report *report, const struct info_row *rows, size_t count);
/* Appends a whole line, truncated to about 1000 bytes. Control characters become spaces. */
__attribute__((format(printf, 2, 3))) void report_line(struct report *report, const char *format,
                                                       ...);

/* ---- the sections, each in the file of its group ---- */

void info_server(struct report *report);
void info_clients(struct report *report);
void info_cpu(struct report *report);
void info_tls(struct report *report);
void info_modules(struct report *report);
void info_replication(struct report *report);
void info_cluster(struct report *report);
void info_memory(struct report *report);
void info_persistence(struct report *report);
void info_stats(struct report *report);
void info_commandstats(struct report *report);
void info_errorstats(struct report *report);
void info_latencystats(struct report *report);
void info_expired(struct report *report);
void info_expiry(struct report *report);
void info_keyspace(struct report *report);
