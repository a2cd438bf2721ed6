/* page: see page.h. */
#include "tools/manual/page.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "conf/conf.h"

/* ---- text for man(7), escaped so that it is shown as it is ----------------------------------- */

struct roff_page {
    const char *name; /* "expired.conf" */
    int section;
    const char *summary;
    const char *date, *version; /* "2026-11-22", "0.2.0" */
};

static void write_char(FILE *to, char c)
{
    switch (c) {
    case '\\': fputs("\\(rs", to); break;
    case '-': fputs("\\-", to); break;
    case '\'': fputs("\\(aq", to); break;
    case '"': fputs("\\(dq", to); break;
    case '^': fputs("\\(ha", to); break;
    case '~': fputs("\\(ti", to); break;
    case '\n': fputc(' ', to); break;
    default: fputc(c, to); break;
    }
}

/* The first character of a line must not be one that begins a request. */
static void write_line(FILE *to, const char *text, size_t len)
{
    bool bold = false;
    if (len > 0 && (*text == '.' || *text == '\'')) fputs("\\&", to);
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '`') {
            write_char(to, text[i]);
            continue;
        }
        bold = !bold;
        fputs(bold ? "\\fB" : "\\fR", to);
    }
}

static void roff_words(FILE *to, const char *text)
{
    write_line(to, text, strlen(text));
}

static void roff_heading(FILE *to, const char *title)
{
    fputs(".SH ", to);
    roff_words(to, title);
    fputc('\n', to);
}

static void roff_begin(FILE *to, const struct roff_page *page)
{
    fprintf(to, ".\\\" Made from the tables of the program.\n.TH ");
    for (const char *at = page->name; *at != '\0'; at++)
        write_char(to, (char)toupper((unsigned char)*at));
    fprintf(to, " %d %s \"expired %s\" \"expired\"\n", page->section, page->date, page->version);
    roff_heading(to, "NAME");
    roff_words(to, page->name);
    fputs(" \\- ", to);
    roff_words(to, page->summary);
    fputc('\n', to);
}

static void roff_subheading(FILE *to, const char *title)
{
    fputs(".SS ", to);
    roff_words(to, title);
    fputc('\n', to);
}

/* Writes paragraphs, which "\n" separates. `x` becomes bold. */
static void roff_text(FILE *to, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        if (at > text) fputs(".PP\n", to);
        write_line(to, at, len);
        fputc('\n', to);
        at += len + (at[len] == '\n');
    }
}

static void roff_term(FILE *to, const char *term, const char *value)
{
    fputs(".TP\n\\fB", to);
    roff_words(to, term);
    fputs("\\fR", to);
    if (value != NULL) {
        fputs(" \\fI", to);
        roff_words(to, value);
        fputs("\\fR", to);
    }
    fputc('\n', to);
}

/* ---- the pages ------------------------------------------------------------------------------- */

enum { TERM_SIZE = 128, VALUE_SIZE = 256 };

static const char *const pages[] = { "expired (8)", "expired.conf (5)", "expired\\-check (1)",
                                     "expired\\-export (1)", NULL };

static void write_see_also(FILE *to)
{
    roff_heading(to, "SEE ALSO");
    for (size_t i = 0; pages[i] != NULL; i++)
        fprintf(to, ".BR %s%s\n", pages[i], pages[i + 1] != NULL ? " ," : "");
}

void page_write_program(FILE *to, const struct usage *usage, const struct page_version *version)
{
    roff_begin(to, &(struct roff_page){ .name = usage->name,
                                        .section = usage->manual,
                                        .summary = usage->summary,
                                        .date = version->date,
                                        .version = version->version });

    roff_heading(to, "SYNOPSIS");
    for (size_t i = 0; usage->forms[i] != NULL; i++) {
        if (i > 0) fputs(".br\n", to);
        fputs("\\fB", to);
        roff_words(to, usage->name);
        fputs("\\fR ", to);
        roff_words(to, usage->forms[i]);
        fputc('\n', to);
    }

    roff_heading(to, "DESCRIPTION");
    roff_text(to, usage->about);

    char term[TERM_SIZE];
    const struct usage_option *option;
    roff_heading(to, "OPTIONS");
    for (size_t i = 0; (option = usage_option_at(usage, i)) != NULL; i++) {
        usage_write_term(option, term, sizeof(term));
        roff_term(to, term, NULL);
        roff_text(to, option->help);
    }

    for (const struct usage_section *section = usage->sections; section->title != NULL; section++) {
        roff_heading(to, section->title);
        if (section->intro != NULL) roff_text(to, section->intro);
        for (size_t i = 0; section->items != NULL && section->items[i].term != NULL; i++) {
            roff_term(to, section->items[i].term, NULL);
            roff_text(to, section->items[i].text);
        }
    }
    write_see_also(to);
}

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

static void write_form(const struct conf_option *option, char *text, size_t size)
{
    text[0] = '\0';
    switch (option->type) {
    case CONF_BOOL: snprintf(text, size, "yes|no"); break;
    case CONF_INT:
        if (option->max >= INT32_MAX)
            snprintf(text, size, "number of at least %" PRId64, option->min);
        else
            snprintf(text, size, "number from %" PRId64 " to %" PRId64, option->min, option->max);
        break;
    case CONF_MEMORY_PERCENT: snprintf(text, size, "size, or a percentage of maxmemory"); break;
    case CONF_MEMORY: snprintf(text, size, "size"); break;
    case CONF_OCTAL: snprintf(text, size, "octal number"); break;
    case CONF_ENUM:
        for (const struct conf_choice *choice = option->choices; choice->name != NULL; choice++) {
            size_t len = strlen(text);
            snprintf(text + len, size - len, "%s%s", len > 0 ? "|" : "", choice->name);
        }
        break;
    default: snprintf(text, size, option->many ? "words" : "text"); break;
    }
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
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        if (option->use != CONF_WORKS) continue;
        if (option->section != NULL && option->alias_of == NULL)
            roff_subheading(to, option->section);
        char form[VALUE_SIZE];
        write_form(option, form, sizeof(form));
        roff_term(to, option->name, form);
        roff_words(to, option->help);
        fputs("\n.br\nDefault: ", to);
        roff_words(to, *option->preset != '\0' ? option->preset : "\"\"");
        fputs(option->live ? ". Live.\n" : ".\n", to);
    }
    roff_heading(to, "OTHER OPTIONS OF REDIS");
    roff_subheading(to, "accepted, without an effect");
    const char *between = "";
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        if (option->use != CONF_ACCEPTED) continue;
        fputs(between, to);
        roff_words(to, option->name);
        between = ",\n";
    }
    fputs(".\n", to);
    write_see_also(to);
}
