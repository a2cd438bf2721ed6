/* roff: writes text for man(7), escaped so that it is shown as it is. */
#include "tools/manual/roff.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static void write_char(FILE *to, char c)
{
    switch (c) {
    case '\\': fputs("\\(rs", to); break;
    case '-': fputs("\\-", to); break;
    case '\'': fputs("\\(aq", to); break;
    case '"': fputs("\\(dq", to); break;
    case '^': fputs("\\(ha", to); break;
    case '~': fputs("\\(ti", to); break;
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

void roff_words(FILE *to, const char *text)
{
    write_line(to, text, strlen(text));
}

void roff_begin(FILE *to, const struct roff_page *page)
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

void roff_heading(FILE *to, const char *title)
{
    fputs(".SH ", to);
    roff_words(to, title);
    fputc('\n', to);
}

void roff_subheading(FILE *to, const char *title)
{
    fputs(".SS ", to);
    roff_words(to, title);
    fputc('\n', to);
}

void roff_text(FILE *to, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        if (at > text) fputs(".PP\n", to);
        write_line(to, at, len);
        fputc('\n', to);
        at += len + (at[len] == '\n');
    }
}

void roff_term(FILE *to, const char *term, const char *value)
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
