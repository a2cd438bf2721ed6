#include "tools/lib/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void server_default(struct link_target *target)
{
    *target = (struct link_target){ .host = "127.0.0.1", .port = "6379" };
}

bool server_option(struct link_target *target, int option, const char *value)
{
    switch (option) {
    case 'h': target->host = value; return true;
    case 'p': target->port = value; return true;
    case 's': target->unix_path = value; return true;
    case 'a': target->password = value; return true;
    default: return false;
    }
}

long long server_count_option(const char *tool, const char *text, long long least)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < least) {
        fprintf(stderr, "%s: not a number of at least %lld: %s\n", tool, least, text);
        exit(2);
    }
    return value;
}

char *server_add_events(struct link *link, const char *flags)
{
    link_command(link, "CONFIG GET notify-keyspace-events");
    link_expect(link, "CONFIG GET");
    const struct resp_node *value = &link->reply.nodes[2];
    char *old = strndup(value->text, value->len);
    if (old == NULL) exit(EXIT_FAILURE);
    link_command(link, "CONFIG SET notify-keyspace-events %s%s", flags, old);
    link_expect(link, "CONFIG SET");
    return old;
}

void server_restore_events(struct link *link, char *old)
{
    link_command(link, "CONFIG SET notify-keyspace-events %s", old);
    link_expect(link, "CONFIG SET");
    free(old);
}

void server_ask_info(struct link *link, const char *section)
{
    link_command(link, "INFO %s", section);
    link_expect(link, "INFO");
}

/* Each field ends with a line break, where strtod stops. */
double server_info_field(const struct link *link, const char *field)
{
    const struct resp_node *info = link->reply.nodes;
    size_t name_len = strlen(field);
    const char *line = info->text, *end = info->text + info->len;
    while (line < end) {
        size_t left = (size_t)(end - line);
        if (left > name_len && memcmp(line, field, name_len) == 0 && line[name_len] == ':')
            return strtod(line + name_len + 1, NULL);
        const char *next = memchr(line, '\n', left);
        line = next == NULL ? end : next + 1;
    }
    fprintf(stderr, "INFO has no field %s\n", field);
    exit(EXIT_FAILURE);
}
