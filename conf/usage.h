/* usage: describes the command line of an installed program in tables, from which its parser,
 * --help, man page and bash completion are made. In the texts, "\n" begins a paragraph and `x`
 * marks x as a name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct usage_option {
    const char *name;  /* without dashes */
    int id;            /* returned by usage_next; if a letter, also the short option */
    const char *value; /* name of the value; NULL without one */
    const char *help;
};

struct usage_item {
    const char *term, *text;
};

struct usage_section {
    const char *title;              /* as a heading of a man page: "EXIT STATUS" */
    const char *intro;              /* before the items; NULL for no text */
    const struct usage_item *items; /* the last one has no term; may be NULL */
    bool only_manual;               /* the section is not shown by --help */
};

struct usage {
    const char *name, *summary; /* "expired-check", "checks data files" */
    int manual;                 /* the section of its man page */
    const char *const *forms;   /* the arguments, in each possible form; ends with NULL */
    const char *about;
    const struct usage_option
        *options; /* not counting --help and --version; the last has no name */
    const struct usage_section *sections; /* the last has no title */
    int wrong;                            /* exit status after an invalid command line */
};

/* Returns the option at this index; --help and --version come last, then NULL. */
const struct usage_option *usage_option_at(const struct usage *usage, size_t index);

/* Writes the option as --help shows it, "-h, --help" or "--count N", cut to fit. */
void usage_write_term(const struct usage_option *option, char *term, size_t size);

/* Writes the text of --help. Wraps its paragraphs to lines of fewer than 80 characters. */
void usage_write_help(const struct usage *usage, FILE *to);

/* Parses the next option with getopt_long. Returns its id, with its value in optarg, or -1 after
 * the last option, with the index of the first other argument in optind. Handles --help and
 * --version itself, and exits after them with 0, or with 1 if their text could not be written.
 * Exits after an invalid option with usage->wrong. */
int usage_next(const struct usage *usage, int argc, char **argv, const char *version);

/* Refuses an invalid command line: writes the forms to standard error and exits with
 * usage->wrong. */
__attribute__((noreturn)) void usage_refuse(const struct usage *usage);
