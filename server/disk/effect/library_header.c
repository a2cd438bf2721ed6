/* library_header: see library_header.h. */
#include "server/disk/effect/library_header.h"

#include "store/library.h"

#define MARK      LIT("#!")
#define NAME_WORD LIT("name=")

static bool refuse_header(struct library_header *header, const char *error, struct bytes part)
{
    header->error = error;
    header->part = part;
    return false;
}

static bool begins_with(struct bytes text, struct bytes start)
{
    return text.len >= start.len && strncasecmp(text.data, start.data, start.len) == 0;
}

static struct bytes word_at(const struct library_header *header, struct bytes code, int i)
{
    return bytes_of(resp_reader_arg(&header->reader, code.data, i), header->reader.args[i].len);
}

bool library_header_read(struct library_header *header, struct bytes code)
{
    const struct resp_limits unlimited = { .max_bulk = INT64_MAX,
                                           .max_args = INT32_MAX,
                                           .max_line = SIZE_MAX };
    *header = (struct library_header){ .error = NULL };
    resp_reader_init(&header->reader);
    if (!begins_with(code, MARK)) return refuse_header(header, "Missing library metadata", LIT(""));
    /* A zero byte hides the end of its line, as in Redis, which searches a C string. */
    if (resp_read(&header->reader, code.data, code.len, &unlimited) != RESP_REQUEST)
        return refuse_header(header, "Invalid library metadata", LIT(""));
    header->engine = bytes_without(word_at(header, code, 0), MARK.len);
    for (int i = 1; i < header->reader.argc; i++) {
        struct bytes word = word_at(header, code, i);
        if (!begins_with(word, NAME_WORD))
            return refuse_header(header, "Invalid metadata value given: ", word);
        if (header->name.data != NULL)
            return refuse_header(
                header, "Invalid metadata value, name argument was given multiple times", LIT(""));
        header->name = bytes_without(word, NAME_WORD.len);
    }
    if (header->name.data == NULL)
        return refuse_header(header, "Library name was not given", LIT(""));
    if (library_name_ok(header->name)) return true;
    return refuse_header(header,
                         "Library names can only contain letters, numbers, or underscores(_) and "
                         "must be at least one character long",
                         LIT(""));
}

void library_header_drop(struct library_header *header)
{
    resp_reader_drop(&header->reader);
}
