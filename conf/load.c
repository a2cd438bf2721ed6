/* load: reads the configuration at start: files, the files they include, and the command line. */
#include "conf/conf.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/words.h"

enum { INCLUDE_DEPTH = 8 };

/* The text being read, for error messages. */
struct source {
    const char *name;
    size_t line;
    int depth; /* of includes; 0: not included */
};

static bool load_path(struct conf *conf, const char *path, int depth, struct conf_error *error);

/* Replaces control characters, so that an error is one line whatever the file holds. */
static bool fail_at(struct conf_error *error, const struct source *source, const char *name,
                    const char *why)
{
    snprintf(error->text, sizeof(error->text), "%.200s:%zu: %.100s%s%.180s", source->name,
             source->line, name, *name != '\0' ? ": " : "", why);
    for (char *at = error->text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) *at = '?';
    return false;
}

/* The words of earlier lines followed by these; the caller frees it. */
static char *with_words(const struct conf *conf, const struct conf_option *option,
                        const struct conf_words *words)
{
    char *before = conf_get(conf, option), *added = conf_words_join(words, 1), *all;
    bool alone = before[0] == '\0' || added[0] == '\0';
    if (asprintf(&all, "%s%s%s", alone ? "" : before, alone ? "" : " ", added) < 0) abort();
    free(before);
    free(added);
    return all;
}

/* The option's lines plus one of these words, which replaces a line with the same first word. An
 * empty word adds nothing. The caller frees it. */
static char *with_line(const struct conf *conf, const struct conf_option *option,
                       const struct conf_words *words)
{
    if (words->count == 2 && *words->at[1] == '\0') return conf_get(conf, option);
    char *lines = conf_get(conf, option), *added = conf_words_quote(words, 1), *all;
    const char *at = lines, *end = lines + strlen(lines), *line, *why;
    size_t len, all_len;
    FILE *to = conf_memory_stream(&all, &all_len);
    while (conf_next_line(&at, end, &line, &len)) {
        struct conf_words old;
        if (!conf_words_split(line, len, &old, &why)) continue;
        if (old.count > 0 && strcmp(old.at[0], words->at[1]) != 0)
            fprintf(to, "%.*s\n", (int)len, line);
        conf_words_drop(&old);
    }
    fputs(added, to);
    fclose(to);
    free(lines);
    free(added);
    return all;
}

/* Sets the option named by the first word; false: *why is the error. */
static bool set_words(struct conf *conf, const struct conf_words *words, bool included,
                      const char **why)
{
    const struct conf_option *option = conf_find(words->at[0]);
    *why = "no such option";
    if (option == NULL) return false;
    *why = "wrong number of arguments";
    if (words->count < 2 || (words->count > 2 && !option->many)) return false;
    char *value = option->type == CONF_LINES ? with_line(conf, option, words)
                  : option->adds             ? with_words(conf, option, words)
                                             : conf_words_join(words, 1);
    bool ok = conf_set(conf, option, value, why);
    free(value);
    if (ok && included) conf_mark(&conf->by_include, option);
    return ok;
}

/* A pattern that matches no file is no error; a missing file without a pattern is one. */
static bool include(struct conf *conf, const struct conf_words *words, const struct source *source,
                    struct conf_error *error)
{
    if (words->count != 2) return fail_at(error, source, words->at[0], "wrong number of arguments");
    if (source->depth >= INCLUDE_DEPTH)
        return fail_at(error, source, words->at[0], "files include one another too deeply");
    glob_t found;
    int outcome = glob(words->at[1], GLOB_NOMAGIC, NULL, &found);
    if (outcome == GLOB_NOMATCH) return true;
    if (outcome != 0) return fail_at(error, source, words->at[0], "the pattern cannot be matched");
    bool ok = true;
    for (size_t i = 0; i < found.gl_pathc && ok; i++)
        ok = load_path(conf, found.gl_pathv[i], source->depth + 1, error);
    globfree(&found);
    return ok;
}

static bool load_line(struct conf *conf, const char *line, size_t len, const struct source *source,
                      struct conf_error *error)
{
    size_t blank = 0;
    while (blank < len && strchr(" \t\r\v\f", line[blank]) != NULL && line[blank] != '\0')
        blank++;
    if (blank == len || line[blank] == '#') return true;
    struct conf_words words;
    const char *why;
    if (!conf_words_split(line, len, &words, &why)) return fail_at(error, source, "", why);
    bool ok;
    if (strcasecmp(words.at[0], "include") == 0) {
        ok = include(conf, &words, source, error);
    } else {
        ok = set_words(conf, &words, source->depth > 0, &why);
        if (!ok) fail_at(error, source, words.at[0], why);
    }
    conf_words_drop(&words);
    return ok;
}

static bool load_lines(struct conf *conf, const char *text, size_t len, struct source *source,
                       struct conf_error *error)
{
    const char *line, *end = text + len;
    size_t line_len;
    while (conf_next_line(&text, end, &line, &line_len)) {
        source->line++;
        if (!load_line(conf, line, line_len, source, error)) return false;
    }
    return true;
}

bool conf_load_text(struct conf *conf, const char *text, size_t len, const char *name,
                    struct conf_error *error)
{
    struct source source = { .name = name };
    return load_lines(conf, text, len, &source, error);
}

static bool load_path(struct conf *conf, const char *path, int depth, struct conf_error *error)
{
    size_t len;
    char *text = conf_read_file(path, &len);
    if (text == NULL) {
        snprintf(error->text, sizeof(error->text), "%.400s: %.100s", path, strerror(errno));
        return false;
    }
    struct source source = { .name = path, .depth = depth };
    bool ok = load_lines(conf, text, len, &source, error);
    free(text);
    return ok;
}

bool conf_load_file(struct conf *conf, const char *path, struct conf_error *error)
{
    if (!load_path(conf, path, 0, error)) return false;
    /* Absolute, because CONFIG REWRITE runs after the daemon has changed its directory. */
    char *absolute = realpath(path, NULL);
    if (absolute == NULL) {
        snprintf(error->text, sizeof(error->text), "%.400s: %.100s", path, strerror(errno));
        return false;
    }
    free(conf->file);
    conf->file = absolute;
    return true;
}

static bool load_stdin(struct conf *conf, struct conf_error *error)
{
    size_t len;
    char *text = conf_read_stream(stdin, &len);
    if (text == NULL) {
        snprintf(error->text, sizeof(error->text), "standard input: %.100s", strerror(errno));
        return false;
    }
    bool ok = conf_load_text(conf, text, len, "standard input", error);
    free(text);
    return ok;
}

static bool is_name(const char *word)
{
    return word[0] == '-' && word[1] == '-';
}

/* The value of an option that the command line names without one: "" for save, yes for a bool.
 * NULL: the next word is the value. */
static const char *value_left_out(const char *name, char *const *next, char *const *end)
{
    if (next < end && !is_name(*next)) return NULL;
    const struct conf_option *option = conf_find(name);
    if (strcasecmp(name, "save") == 0) return "";
    return option != NULL && option->type == CONF_BOOL ? "yes" : NULL;
}

/* Reads one "--name value ...". The word after a name is its value even if it begins with "--" (a
 * password may), unless name and value came in one word ("--port 7000") or the option may stand
 * without one. Moves *at behind it. */
static bool load_option(struct conf *conf, char *const **at, char *const *end,
                        struct conf_error *error)
{
    struct conf_words words;
    const char *why;
    const char *given = *(*at)++;
    bool ok = conf_words_split(given + 2, strlen(given + 2), &words, &why);
    if (ok && words.count == 0) {
        why = "not an option";
        ok = false;
    }
    if (ok && words.count == 1) {
        const char *meant = value_left_out(words.at[0], *at, end);
        if (meant != NULL)
            conf_words_add(&words, meant);
        else if (*at < end)
            conf_words_add(&words, *(*at)++);
    }
    while (ok && *at < end && !is_name(**at))
        conf_words_add(&words, *(*at)++);
    ok = ok && set_words(conf, &words, false, &why);
    if (!ok) snprintf(error->text, sizeof(error->text), "%.100s: %.300s", given, why);
    conf_words_drop(&words);
    return ok;
}

bool conf_load_args(struct conf *conf, int argc, char *const *argv, struct conf_error *error)
{
    char *const *at = argv + 1, *const *end = argv + argc;
    if (at < end && **at != '-' && !conf_load_file(conf, *at++, error)) return false;
    if (at < end && strcmp(end[-1], "-") == 0) {
        end--;
        if (!load_stdin(conf, error)) return false;
    }
    while (at < end) {
        if (!is_name(*at)) {
            snprintf(error->text, sizeof(error->text),
                     "%.100s: not an option; options are given as --name value", *at);
            return false;
        }
        if (!load_option(conf, &at, end, error)) return false;
    }
    return true;
}
