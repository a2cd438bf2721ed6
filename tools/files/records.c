/* records: see records.h. Maps the file, because it may be larger than memory. */
#include "tools/files/records.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "server/disk/effect/effect_brief.h"
#include "server/disk/effect/effect_text.h"
#include "server/disk/format/disk.h"
#include "server/disk/format/record.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "tools/files/show.h"

static void show_words(FILE *to, const struct request *request)
{
    for (int i = 0; i < request->argc; i++) {
        if (i > 0) fputc(' ', to);
        show_word(to, request->argv[i].data, request->argv[i].len);
    }
}

/* Prints an effect as its command. */
static void show_effect(FILE *to, struct request *request, const struct effect *effect)
{
    static struct effect_writer writer;
    struct outbuf out;
    size_t size;
    outbuf_init(&out);
    effect_writer_init(&writer, &out);
    writer.db = effect->db;
    effect_writer_put(&writer, effect);
    effect_writer_end(&writer);
    char *text = mem_alloc(out.len);
    outbuf_copy(&out, text);
    enum request_status status = request_read(request, text, out.len, &size);
    ensure(status == REQUEST_WHOLE && size == out.len, "%zu of %zu bytes", size, out.len);
    show_words(to, request);
    mem_free(text);
    outbuf_drop(&out);
}

bool records_show_brief(FILE *to, const char *data, size_t len)
{
    struct effect effect = { 0 };
    struct bytes last = { 0 };
    struct request request;
    size_t size;
    if (effect_brief_read(data, len, &last, &effect, &size) != REQUEST_WHOLE) return false;
    request_init(&request);
    show_effect(to, &request, &effect);
    request_drop(&request);
    return true;
}

/* Prints the part of a record that begins at `data`, and returns its length. */
static size_t show_part(FILE *to, struct request *request, struct bytes *last, const char *data,
                        size_t len)
{
    size_t size = 0;
    uint32_t sum;
    if (data[0] == '#') {
        const char *end = memchr(data, '\n', len);
        size = end != NULL ? (size_t)(end + 1 - data) : len;
        if (size == RECORD_SUM_LINE && record_parse_sum(data, &sum)) last->data = NULL;
        show_line(to, data, size > 2 ? size - 2 : size);
    } else if (effect_brief_begins(data[0])) {
        struct effect effect = { 0 };
        enum request_status status = effect_brief_read(data, len, last, &effect, &size);
        ensure(status == REQUEST_WHOLE, "a bad effect in a good record");
        show_effect(to, request, &effect);
    } else {
        enum request_status status = request_read(request, data, len, &size);
        ensure(status == REQUEST_WHOLE, "a bad command in a good record");
        show_words(to, request);
    }
    fputc('\n', to);
    return size;
}

bool records_show(FILE *to, const char *path, uint64_t end)
{
    int fd, error = disk_open_to_read(path, &fd);
    if (error != 0) errno = error;
    if (error != 0) return false;
    char *data = end > 0 ? mmap(NULL, end, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    disk_close(fd);
    if (data == MAP_FAILED) return false;
    struct request request;
    struct bytes last = { 0 };
    request_init(&request);
    for (uint64_t at = 0; at < end;) {
        fprintf(to, "  %" PRIu64 " ", at);
        at += show_part(to, &request, &last, data + at, end - at);
    }
    request_drop(&request);
    if (data != NULL) munmap(data, end);
    return true;
}
