/* prom: see prom.h. Samples are assembled from pieces of text, without printf for each: a scrape
 * may write thousands of samples, and blocks the loop meanwhile. */
#include "server/http/prom.h"

#include <math.h>
#include <stdio.h>

#include "store/base/ensure.h"
#include "store/base/number.h"

/* A larger double does not represent every integer. */
#define WHOLE_MAX 9007199254740992.0

static void write_text(struct prom *prom, const char *text, size_t len)
{
    outbuf_append(prom->out, text, len);
}

static void put_text(struct prom *prom, const char *text)
{
    write_text(prom, text, strlen(text));
}

void prom_family(struct prom *prom, const char *name, enum prom_type type, const char *help)
{
    static const char *const types[] = {
        [PROM_GAUGE] = "gauge", [PROM_COUNTER] = "counter", [PROM_HISTOGRAM] = "histogram"
    };
    prom->family = name;
    const char *const pieces[] = { "# HELP ", name, " ",         help, "\n# TYPE ",
                                   name,      " ",  types[type], "\n" };
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
        put_text(prom, pieces[i]);
}

static void add_char(struct prom_labels *labels, char c)
{
    ensure(labels->len < PROM_LABELS_MAX, "labels of %zu bytes", labels->len);
    labels->text[labels->len++] = c;
}

void prom_label(struct prom_labels *labels, const char *name, struct bytes value)
{
    if (labels->len > 0) add_char(labels, ',');
    for (; *name != '\0'; name++)
        add_char(labels, *name);
    add_char(labels, '=');
    add_char(labels, '"');
    for (size_t i = 0; i < value.len; i++) {
        char c = value.data[i];
        if (c == '\\' || c == '"' || c == '\n') add_char(labels, '\\');
        add_char(labels, c == '\n' ? 'n' : c);
    }
    add_char(labels, '"');
}

size_t prom_print_real(char *to, double value)
{
    if (isnan(value)) return (size_t)sprintf(to, "NaN");
    if (isinf(value)) return (size_t)sprintf(to, value < 0 ? "-Inf" : "+Inf");
    if (value == floor(value) && fabs(value) < WHOLE_MAX)
        return number_print_int64(to, (int64_t)value);
    if (fabs(value) >= WHOLE_MAX) return (size_t)sprintf(to, "%.17g", value);
    size_t len = (size_t)snprintf(to, PROM_REAL_MAX, "%.6f", value);
    while (to[len - 1] == '0')
        len--;
    return to[len - 1] == '.' ? len - 1 : len;
}

/* Writes a sample up to its value: the family's name, `suffix`, the labels and a space. Unless it
 * is NULL, `bound` is the value of a last label, le. */
static void begin_sample(struct prom *prom, const char *suffix, const struct prom_labels *labels,
                         const char *bound)
{
    bool has_labels = labels != NULL && labels->len > 0, has_bound = bound != NULL;
    put_text(prom, prom->family);
    put_text(prom, suffix);
    if (has_labels || has_bound) write_text(prom, "{", 1);
    if (has_labels) write_text(prom, labels->text, labels->len);
    if (has_labels && has_bound) write_text(prom, ",", 1);
    if (has_bound) {
        write_text(prom, "le=\"", 4);
        put_text(prom, bound);
        write_text(prom, "\"", 1);
    }
    if (has_labels || has_bound) write_text(prom, "}", 1);
    write_text(prom, " ", 1);
}

static void end_integer(struct prom *prom, uint64_t value)
{
    char text[NUMBER_INT64_MAX_CHARS + 1];
    size_t len = number_print_uint64(text, value);
    text[len++] = '\n';
    write_text(prom, text, len);
}

static void end_real(struct prom *prom, double value)
{
    char text[PROM_REAL_MAX + 1];
    size_t len = prom_print_real(text, value);
    text[len++] = '\n';
    write_text(prom, text, len);
}

void prom_integer(struct prom *prom, const struct prom_labels *labels, uint64_t value)
{
    begin_sample(prom, "", labels, NULL);
    end_integer(prom, value);
}

void prom_real(struct prom *prom, const struct prom_labels *labels, double value)
{
    begin_sample(prom, "", labels, NULL);
    end_real(prom, value);
}

void prom_histogram(struct prom *prom, const struct prom_labels *labels,
                    const struct prom_histogram *histogram)
{
    for (size_t i = 0; i < histogram->count; i++) {
        begin_sample(prom, "_bucket", labels, histogram->bounds[i]);
        end_integer(prom, histogram->cumulative[i]);
    }
    begin_sample(prom, "_bucket", labels, "+Inf");
    end_integer(prom, histogram->total);
    begin_sample(prom, "_sum", labels, NULL);
    end_real(prom, histogram->sum);
    begin_sample(prom, "_count", labels, NULL);
    end_integer(prom, histogram->total);
}
