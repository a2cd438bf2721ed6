/* usage: parses a command line by its table, and writes --help from the same table. */
#include "conf/usage.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 79, TERM_AT = 2, TEXT_AT = 26, TERM_SIZE = 128, OPTIONS_MAX = 32 };

static const struct usage_option of_all[] = {
    { "help", 'h', NULL, "Prints this help." },
    { "version", 'v', NULL, "Prints the version." },
};
enum { OF_ALL = sizeof(of_all) / sizeof(of_all[0]) };

const struct usage_option *usage_option_at(const struct usage *usage, size_t index)
{
    size_t own = 0;
    while (usage->options != NULL && usage->options[own].name != NULL)
        own++;
    if (index < own) return &usage->options[index];
    return index - own < OF_ALL ? &of_all[index - own] : NULL;
}

static bool is_letter(int id)
{
    return id < 128 && isalpha(id);
}

void usage_write_term(const struct usage_option *option, char *term, size_t size)
{
    char brief[8] = "";
    if (is_letter(option->id)) snprintf(brief, sizeof(brief), "-%c, ", option->id);
    snprintf(term, size, "%s--%s%s%s", brief, option->name, option->value != NULL ? " " : "",
             option->value != NULL ? option->value : "");
}

/* ---- --help ---- */

static void write_spaces(FILE *to, size_t count)
{
    fprintf(to, "%*s", (int)count, "");
}

/* Wraps the paragraphs of a text, indented by `indent`; output is at column `at`. */
static void write_text(FILE *to, const char *text, size_t indent, size_t at)
{
    while (*text != '\0') {
        const char *start = text, *end = text + strcspn(text, "\n");
        write_spaces(to, indent > at ? indent - at : 0);
        at = indent > at ? indent : at;
        while (text < end) {
            size_t word = strcspn(text, " \n");
            if (text > start && at + 1 + word > WIDTH) {
                fputc('\n', to);
                write_spaces(to, at = indent);
            } else if (text > start) {
                fputc(' ', to);
                at++;
            }
            fwrite(text, 1, word, to);
            at += word;
            text += word + (text + word < end);
        }
        fputc('\n', to);
        at = 0;
        if (*text == '\n') fputc(*text++, to);
    }
}

static void write_item(FILE *to, const char *term, const char *text)
{
    size_t at = TERM_AT + strlen(term);
    fprintf(to, "%*s%s", TERM_AT, "", term);
    if (at + 2 > TEXT_AT) {
        fputc('\n', to);
        at = 0;
    }
    write_text(to, text, TEXT_AT, at);
}

static void write_forms(const struct usage *usage, FILE *to)
{
    for (size_t i = 0; usage->forms[i] != NULL; i++)
        fprintf(to, "%s %s%s%s\n", i == 0 ? "Usage:" : "      ", usage->name,
                *usage->forms[i] != '\0' ? " " : "", usage->forms[i]);
}

/* Writes a title such as "EXIT STATUS" as "Exit status:". */
static void write_title(FILE *to, const char *title)
{
    fprintf(to, "\n%c", title[0]);
    for (const char *at = title + 1; *at != '\0'; at++)
        fputc(tolower((unsigned char)*at), to);
    fputs(":\n", to);
}

void usage_write_help(const struct usage *usage, FILE *to)
{
    char term[TERM_SIZE];
    write_forms(usage, to);
    fputc('\n', to);
    write_text(to, usage->about, 0, 0);
    write_title(to, "OPTIONS");
    const struct usage_option *option;
    for (size_t i = 0; (option = usage_option_at(usage, i)) != NULL; i++) {
        usage_write_term(option, term, sizeof(term));
        write_item(to, term, option->help);
    }
    for (const struct usage_section *at = usage->sections; at->title != NULL; at++) {
        if (at->only_manual) continue;
        write_title(to, at->title);
        if (at->intro != NULL) write_text(to, at->intro, TERM_AT, 0);
        for (size_t i = 0; at->items != NULL && at->items[i].term != NULL; i++)
            write_item(to, at->items[i].term, at->items[i].text);
    }
}

/* ---- parsing ---- */

void usage_refuse(const struct usage *usage)
{
    write_forms(usage, stderr);
    fprintf(stderr, "%s --help lists the options.\n", usage->name);
    exit(usage->wrong);
}

int usage_next(const struct usage *usage, int argc, char **argv, const char *version)
{
    struct option options[OPTIONS_MAX] = { { NULL, 0, NULL, 0 } };
    char letters[2 * OPTIONS_MAX + 1] = "";
    const struct usage_option *option;
    for (size_t i = 0; i + 1 < OPTIONS_MAX && (option = usage_option_at(usage, i)) != NULL; i++) {
        int takes = option->value != NULL ? required_argument : no_argument;
        options[i] = (struct option){ option->name, takes, NULL, option->id };
        if (is_letter(option->id))
            snprintf(strchr(letters, '\0'), 3, "%c%s", option->id, takes ? ":" : "");
    }
    int id = getopt_long(argc, argv, letters, options, NULL);
    if (id == '?') usage_refuse(usage);
    if (id == 'h') usage_write_help(usage, stdout);
    if (id == 'v') printf("%s %s\n", usage->name, version);
    if (id != 'h' && id != 'v') return id;
    exit(fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}
