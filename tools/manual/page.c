/* page: whole man pages, made from the table of a command line and from the table of options. */
#include "tools/manual/page.h"

#include <inttypes.h>
#include <string.h>

#include "conf/conf.h"
#include "tools/manual/roff.h"

enum { TERM_SIZE = 128, VALUE_SIZE = 256 };

static const char *const pages[] = { "expired (8)", "expired.conf (5)", "expired\\-check (1)",
                                     "expired\\-export (1)", NULL };

static void write_see_also(FILE *to)
{
    roff_heading(to, "SEE ALSO");
    for (size_t i = 0; pages[i] != NULL; i++)
        fprintf(to, ".BR %s%s\n", pages[i], pages[i + 1] != NULL ? " ," : "");
}

/* ---- a program ---- */

static void write_synopsis(FILE *to, const struct usage *usage)
{
    roff_heading(to, "SYNOPSIS");
    for (size_t i = 0; usage->forms[i] != NULL; i++) {
        if (i > 0) fputs(".br\n", to);
        fputs("\\fB", to);
        roff_words(to, usage->name);
        fputs("\\fR ", to);
        roff_words(to, usage->forms[i]);
        fputc('\n', to);
    }
}

static void write_usage_options(FILE *to, const struct usage *usage)
{
    char term[TERM_SIZE];
    const struct usage_option *option;
    roff_heading(to, "OPTIONS");
    for (size_t i = 0; (option = usage_option_at(usage, i)) != NULL; i++) {
        usage_write_term(option, term, sizeof(term));
        roff_term(to, term, NULL);
        roff_text(to, option->help);
    }
}

static void write_usage_section(FILE *to, const struct usage_section *section)
{
    roff_heading(to, section->title);
    if (section->intro != NULL) roff_text(to, section->intro);
    for (size_t i = 0; section->items != NULL && section->items[i].term != NULL; i++) {
        roff_term(to, section->items[i].term, NULL);
        roff_text(to, section->items[i].text);
    }
}

void page_write_program(FILE *to, const struct usage *usage, const struct page_version *version)
{
    roff_begin(to, &(struct roff_page){ .name = usage->name,
                                        .section = usage->manual,
                                        .summary = usage->summary,
                                        .date = version->date,
                                        .version = version->version });
    write_synopsis(to, usage);
    roff_heading(to, "DESCRIPTION");
    roff_text(to, usage->about);
    write_usage_options(to, usage);
    for (size_t i = 0; usage->sections[i].title != NULL; i++)
        write_usage_section(to, &usage->sections[i]);
    write_see_also(to);
}

/* ---- the options of the configuration ---- */

static const char about_file[] =
    "A line of the file is an option and its value. Lines that begin with `#` are comments. Quote "
    "values with spaces or unprintable bytes: \"...\" with \\n \\\" \\\\ \\x7f, or '...'. Sizes: "
    "1k is "
    "1000 bytes, 1kb 1024 bytes, and so on with m, mb, g, gb.\n"
    "`include` with a path, or a pattern such as /etc/expired/*.conf, reads further files in its "
    "place.\n"
    "Every option can be given on the command line as `--option value`, which overrides the file. "
    "CONFIG SET changes the options marked \"live\" while the daemon runs, and CONFIG REWRITE "
    "writes them into the file.\n"
    "If the file has errors, the daemon reports each one with its line, the option and the reason, "
    "and does not start. `expired --check-config` only reports them.";

static void write_choices(const struct conf_choice *choice, char *text, size_t size)
{
    size_t len = 0;
    text[0] = '\0';
    for (; choice->name != NULL && len < size; choice++)
        len += (size_t)snprintf(text + len, size - len, "%s%s", len > 0 ? "|" : "", choice->name);
}

static void write_range(const struct conf_option *option, const char *what, char *text, size_t size)
{
    if (option->max >= INT32_MAX)
        snprintf(text, size, "%s of at least %" PRId64, what, option->min);
    else
        snprintf(text, size, "%s from %" PRId64 " to %" PRId64, what, option->min, option->max);
}

/* The form of an option's value, in words. */
static void write_form(const struct conf_option *option, char *text, size_t size)
{
    switch (option->type) {
    case CONF_BOOL: snprintf(text, size, "yes|no"); break;
    case CONF_INT: write_range(option, "number", text, size); break;
    case CONF_MEMORY_PERCENT: snprintf(text, size, "size, or a percentage of maxmemory"); break;
    case CONF_MEMORY: snprintf(text, size, "size"); break;
    case CONF_OCTAL: snprintf(text, size, "octal number"); break;
    case CONF_ENUM: write_choices(option->choices, text, size); break;
    default: snprintf(text, size, option->many ? "words" : "text"); break;
    }
}

/* Writes the names of all options that are used in this way. */
static void write_others(FILE *to, enum conf_use use, const char *heading)
{
    const char *between = "";
    roff_subheading(to, heading);
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        if (option->use != use) continue;
        fputs(between, to);
        roff_words(to, option->name);
        between = ",\n";
    }
    fputs(".\n", to);
}

void page_write_options(FILE *to, const struct page_version *version)
{
    roff_begin(to, &(struct roff_page){ .name = "expired.conf",
                                        .section = 5,
                                        .summary = "configuration of the data store expired",
                                        .date = version->date,
                                        .version = version->version });
    roff_heading(to, "DESCRIPTION");
    roff_text(to, about_file);
    roff_heading(to, "OPTIONS");
    const char *section = "";
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        if (option->use != CONF_WORKS) continue;
        if (strcmp(section, option->section) != 0) roff_subheading(to, section = option->section);
        char form[VALUE_SIZE], help[4096];
        write_form(option, form, sizeof(form));
        roff_term(to, option->name, form);
        snprintf(help, sizeof(help), "%s", option->help);
        for (char *at = help; *at != '\0'; at++)
            if (*at == '\n') *at = ' ';
        roff_text(to, help);
        fputs(".br\nDefault: ", to);
        roff_words(to, *option->preset != '\0' ? option->preset : "\"\"");
        fputs(option->live ? ". Live.\n" : ".\n", to);
    }
    roff_heading(to, "OTHER OPTIONS OF REDIS");
    write_others(to, CONF_ACCEPTED, "accepted, without an effect");
    write_see_also(to);
}
