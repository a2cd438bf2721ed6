/* prom: writes the text format 0.0.4 of Prometheus
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Knows nothing about the server.
 *
 * A family is a metric's name with its type and help; its samples must follow at once. Fractions
 * have up to six decimals, so spans of time are exact to the microsecond. */
#pragma once

#include "store/base/bytes.h"
#include "store/mem/outbuf.h"

enum prom_type { PROM_GAUGE, PROM_COUNTER, PROM_HISTOGRAM };

struct prom {
    struct outbuf *out;
    const char *family; /* the name of the last family */
};

/* The labels of samples, as text: made with prom_label. {0} means none. */
enum { PROM_LABELS_MAX = 1024 };
struct prom_labels {
    size_t len;
    char text[PROM_LABELS_MAX];
};

/* Begins a family; `name` and `help` are constants. */
void prom_family(struct prom *prom, const char *name, enum prom_type type, const char *help);
/* Appends a label. The value must be UTF-8. Aborts if all labels together exceed PROM_LABELS_MAX
 * bytes; each backslash, quote and newline in a value takes two. */
void prom_label(struct prom_labels *labels, const char *name, struct bytes value);

/* Writes a sample of the last family, as an integer; `labels` may be NULL. */
void prom_integer(struct prom *prom, const struct prom_labels *labels, uint64_t value);
/* Writes a sample of the last family with up to six decimals, or as an integer if it is one. */
void prom_real(struct prom *prom, const struct prom_labels *labels, double value);

/* A histogram's samples. */
struct prom_histogram {
    size_t count;               /* of buckets, without the last one, +Inf */
    const char *const *bounds;  /* of each bucket, as text: "0.001" */
    const uint64_t *cumulative; /* values up to each bound */
    uint64_t total;             /* number of values */
    double sum;
};
void prom_histogram(struct prom *prom, const struct prom_labels *labels,
                    const struct prom_histogram *histogram);

/* Writes a number as prom_real does, without a NUL; returns its length, at most PROM_REAL_MAX. */
enum { PROM_REAL_MAX = 40 };
size_t prom_print_real(char *to, double value);
