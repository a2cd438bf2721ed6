/* store_text: the whole content of a store as sorted lines, one for each effect of walk_store. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/disk/effect/effect_text.h"
#include "server/disk/effect/request.h"
#include "store/walk.h"

enum { STORE_TEXT_LINES = 1024 };

struct store_text {
    char *lines[STORE_TEXT_LINES];
    size_t count;
};

static inline int store_text_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds a line "3 SET key value": the database and the command. Control characters become '?'. */
static inline void store_text_effect(void *ctx, const struct effect *effect)
{
    struct store_text *text = ctx;
    struct outbuf out;
    struct request request;
    size_t size, len;
    struct effect_writer *writer = malloc(sizeof(*writer));
    outbuf_init(&out);
    request_init(&request);
    effect_writer_init(writer, &out);
    writer->db = effect->db;
    effect_writer_put(writer, effect);
    effect_writer_end(writer);
    char *data = malloc(out.len + 1), *line;
    outbuf_copy(&out, data);
    FILE *to = open_memstream(&line, &len);
    fprintf(to, "%u", effect->db);
    if (request_read(&request, data, out.len, &size) == REQUEST_WHOLE)
        for (int i = 0; i < request.argc; i++)
            fprintf(to, " %.*s", (int)request.argv[i].len, request.argv[i].data);
    fclose(to);
    for (size_t i = 0; i < len; i++)
        if (line[i] < ' ') line[i] = '?';
    if (text->count < STORE_TEXT_LINES) text->lines[text->count++] = line;
    free(data);
    free(writer);
    request_drop(&request);
    outbuf_drop(&out);
}

static inline bool store_text_key_done(void *ctx)
{
    (void)ctx;
    return true;
}

/* "line; line; ", valid until the next call. */
static inline const char *store_text(const struct store *store)
{
    static char all[64 * 1024];
    struct store_text *text = calloc(1, sizeof(*text));
    size_t len = 0;
    walk_store(store, &(struct store_visitor){ store_text_effect, store_text_key_done, text, NULL,
                                               false });
    qsort(text->lines, text->count, sizeof(text->lines[0]), store_text_compare);
    all[0] = '\0';
    for (size_t i = 0; i < text->count; i++) {
        if (len < sizeof(all))
            len += (size_t)snprintf(all + len, sizeof(all) - len, "%s; ", text->lines[i]);
        free(text->lines[i]);
    }
    free(text);
    return all;
}
