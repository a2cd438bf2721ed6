/* option: one row of the option table, which drives parsing, CONFIG and the example file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conf_type {
    CONF_BOOL,
    CONF_INT,
    CONF_MEMORY,
    CONF_MEMORY_PERCENT, /* "5%" is -5 */
    CONF_OCTAL,
    CONF_ENUM,
    CONF_TEXT,
    CONF_LIMITS,
    CONF_LINES, /* text; each occurrence in a file adds a line */
};

struct conf_choice {
    const char *name;
    int64_t value;
};

/* How this server treats an option of Redis. */
enum conf_use {
    CONF_WORKS,
    CONF_ACCEPTED, /* ignored; CONFIG shows and changes its value */
};

struct conf_option {
    const char *name;
    enum conf_type type;
    enum conf_use use;
    size_t offset; /* of its field in struct conf; for CONF_WORKS only */
    int64_t min, max;
    const struct conf_choice *choices; /* CONF_ENUM; ends with a NULL name */
    const char *preset;                /* the default, as text */
    bool live;                         /* CONFIG SET may change it */
    bool guarded;     /* CONFIG SET may change it only if enable-protected-configs allows that */
    bool not_loading; /* CONFIG SET may not change it while data is being loaded */
    bool many;        /* takes more than one word */
    bool omitted;  /* CONFIG REWRITE omits it while it is "", because Redis has no line for that */
    bool adds;     /* each further line adds words; "" removes all */
    bool unlisted; /* unknown to CONFIG GET and SET, as in Redis */
    /* CONF_LINES: the error for two lines with the same first word. NULL if they are allowed. */
    const char *twice;
    /* CONF_LINES: lines with different first words do not depend on each other, so a check of a new
     * line passes only the lines with its first word. Checking all lines each time would take
     * quadratic time for a file with thousands of them. */
    bool by_name;
    bool changes; /* CONF_LINES: commands other than CONFIG SET change the lines, and CONFIG REWRITE
                   * saves them */
    /* Checks a value that the type allows: returns the error, or NULL. */
    const char *(*check)(const char *value);
    /* Normalizes an allowed value, in place; never lengthens it. */
    void (*tidy)(char *value);
    /* Another name of this option, which shares its value; not in the example file. */
    const char *alias_of;
    const char *section; /* the section of the example that begins here; NULL to continue one */
    const char *help;    /* sentences; "\n" begins a new line of the example file */
};

/* Returns the option that an alias stands for; for any other option the option itself. */
const struct conf_option *conf_original(const struct conf_option *option);
