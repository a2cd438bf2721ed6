/* option_table: the tables of options*.c and accepted.c, and how their rows are written. Private to
 * this folder: other code uses conf_option_at and conf_find, which search all tables. */
#pragma once

#include "conf/conf.h"

/* A row: the name, the help text and the other fields. */
#define OPTION(shown, text, ...)                                                                   \
    {                                                                                              \
        .name = (shown), .help = (text), __VA_ARGS__                                               \
    }

/* Two rows: an option and its alias, made from one help text and one set of fields. */
#define WITH_ALIAS(shown, other, text, ...)                                                        \
    OPTION(shown, text, __VA_ARGS__),                                                              \
        OPTION(other, "The same as " shown ".", .alias_of = (shown), __VA_ARGS__)

/* The type of an option with an effect, and its field in struct conf. */
#define FIELD(kind, member) .type = CONF_##kind, .offset = offsetof(struct conf, member)
#define LIVE                .live = true

struct conf_table {
    const struct conf_option *rows;
    size_t count;
};
extern const struct conf_table conf_network, conf_working, conf_data, conf_replication,
    conf_cluster, conf_accepted;

/* For `tidy`: leaves one space between words and none around them. */
void conf_tidy_spaces(char *value);
