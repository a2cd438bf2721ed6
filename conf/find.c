/* find: finds options by index and by name in all tables (options*.c and accepted.c), suggests the
 * nearest name for a misspelt one, and keeps sets of options as bits. */
#include "conf/option_table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "conf/words.h"

static const struct conf_table *const tables[] = {
    &conf_network, &conf_working, &conf_data, &conf_replication, &conf_cluster, &conf_accepted
};

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

size_t conf_option_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < TABLES; i++)
        count += tables[i]->count;
    return count;
}

const struct conf_option *conf_option_at(size_t index)
{
    size_t i = 0;
    for (; index >= tables[i]->count; i++)
        index -= tables[i]->count;
    return &tables[i]->rows[index];
}

const struct conf_option *conf_find(const char *name)
{
    for (size_t i = 0; i < conf_option_count(); i++)
        if (strcasecmp(conf_option_at(i)->name, name) == 0) return conf_option_at(i);
    return NULL;
}

enum { NAME_MAX_BYTES = 64 };

/* Returns the edit distance (Levenshtein 1966): the least number of letters to add, remove or
 * replace to turn `from` into `to`, ignoring case. Keeps only one row of the usual matrix. `to` has
 * at most NAME_MAX_BYTES bytes. */
static size_t edit_distance(const char *from, const char *to)
{
    size_t row[NAME_MAX_BYTES + 1], len = strlen(to);
    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 0; from[i] != '\0'; i++) {
        size_t above_left = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < len; j++) {
            bool same = tolower((unsigned char)from[i]) == tolower((unsigned char)to[j]);
            size_t above = row[j + 1];
            size_t least = above_left + !same;
            if (above + 1 < least) least = above + 1;
            if (row[j] + 1 < least) least = row[j] + 1;
            row[j + 1] = least;
            above_left = above;
        }
    }
    return row[len];
}

const char *conf_closest_name(const char *name)
{
    const char *closest = NULL;
    size_t len = strlen(name);
    if (len < 3 || len > NAME_MAX_BYTES) return NULL;
    size_t best = 2 + (len < 16 ? len / 4 : 4);
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        size_t edits = edit_distance(name, option->name);
        if (edits >= best) continue;
        best = edits;
        closest = option->name;
    }
    return closest;
}

char *conf_accepted_names(const struct conf *conf)
{
    char *names;
    size_t len;
    FILE *to = conf_memory_stream(&names, &len);
    const char *gap = "";
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        if (option->use != CONF_ACCEPTED || !conf_bits_has(&conf->given, option)) continue;
        fprintf(to, "%s%s", gap, option->name);
        gap = ", ";
    }
    fclose(to);
    return names;
}

const struct conf_option *conf_original(const struct conf_option *option)
{
    return option->alias_of != NULL ? conf_find(option->alias_of) : option;
}

size_t conf_kept_index(const struct conf_option *option)
{
    return (size_t)(conf_original(option) - conf_accepted.rows);
}

static size_t index_of(const struct conf_option *option)
{
    size_t before = 0, i = 0;
    for (; option < tables[i]->rows || option >= tables[i]->rows + tables[i]->count; i++)
        before += tables[i]->count;
    return before + (size_t)(option - tables[i]->rows);
}

bool conf_bits_has(const struct conf_bits *bits, const struct conf_option *option)
{
    size_t index = index_of(option);
    return bits->words[index / 64] >> index % 64 & 1;
}

void conf_bits_add(struct conf_bits *bits, const struct conf_option *option)
{
    size_t index = index_of(option);
    bits->words[index / 64] |= UINT64_C(1) << index % 64;
}
