/* load: reads the configuration at start: files, the files that they include, and the command line.
 * Loading continues after an error, so that the administrator sees all errors at once. */
#include "conf/conf.h"

#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/words.h"

enum { INCLUDE_DEPTH = 8, FAULTS_ENOUGH = 1000 };

struct faults {
    struct conf_error *error;
    size_t used, count, left_out;
};

/* The text being read, for error messages. */
struct source {
    const char *name;
    size_t line;
    int depth; /* of nested includes; 0 for a file that is not included */
    struct faults *faults;
};

static bool load_path(struct conf *conf, const char *path, int depth, struct faults *faults);

static struct faults begin_faults(struct conf_error *error)
{
    error->text[0] = '\0';
    return (struct faults){ .error = error };
}

/* Replaces control characters, so that a bad file can't forge further lines. */
__attribute__((format(printf, 2, 3))) static void add_fault(struct faults *faults,
                                                            const char *format, ...)
{
    enum { LAST_LINE = 64 }; /* bytes reserved for the count of omitted faults */
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) *at = '?';
    faults->count++;
    if (faults->used + strlen(line) + 1 + LAST_LINE > sizeof(faults->error->text)) {
        faults->left_out++;
        return;
    }
    char *to = faults->error->text + faults->used;
    faults->used +=
        (size_t)snprintf(to, sizeof(line) + 1, "%s%s", faults->used > 0 ? "\n" : "", line);
}

static bool end_faults(const struct faults *faults)
{
    if (faults->left_out > 0)
        snprintf(faults->error->text + faults->used, sizeof(faults->error->text) - faults->used,
                 "\n%zu more errors are not shown", faults->left_out);
    return faults->count == 0;
}

static void fail_at(const struct source *source, const char *name, const char *why)
{
    add_fault(source->faults, "%.150s:%zu: %.100s%s%.220s", source->name, source->line, name,
              *name != '\0' ? ": " : "", why);
}

void conf_error_print(const struct conf_error *error, FILE *to, const char *program)
{
    const char *at = error->text, *end = at + strlen(at), *line;
    size_t len;
    while (conf_next_line(&at, end, &line, &len))
        fprintf(to, "%s: %.*s\n", program, (int)len, line);
}

/* Sets the option named by the first word. Returns false with the error in *why. */
static bool set_words(struct conf *conf, const struct conf_words *words, bool included,
                      const char **why)
{
    const char *name = words->at[0];
    const struct conf_option *option = conf_find(name);
    if (option == NULL) {
        static char text[128];
        const char *closest = conf_closest_name(name);
        if (closest != NULL) snprintf(text, sizeof(text), "no such option. Is it %s?", closest);
        *why = closest != NULL ? text : "no such option";
        if (strcasecmp(name, "loadmodule") == 0)
            *why = "modules are not supported. Remove the line";
        if (strcasecmp(name, "sentinel") == 0)
            *why = "this server is not a Sentinel. Remove the line";
        return false;
    }
    *why = "wrong number of arguments";
    if (words->count < 2 || (words->count > 2 && !option->many)) return false;
    *why = option->twice;
    if (option->twice != NULL && conf_has_line(conf, option, words->at[1])) return false;
    bool ok;
    if (option->type == CONF_LINES) {
        ok = conf_add_line(conf, option, words, why);
    } else {
        char *value = conf_words_join(words, 1);
        if (option->adds) { /* to its earlier words */
            char *before = conf_get(conf, option), *all;
            bool alone = before[0] == '\0' || value[0] == '\0';
            if (asprintf(&all, "%s%s%s", alone ? "" : before, alone ? "" : " ", value) < 0) abort();
            free(before);
            free(value);
            value = all;
        }
        ok = conf_set(conf, option, value, why);
        free(value);
    }
    if (ok && included) conf_bits_add(&conf->by_include, conf_original(option));
    if (ok) conf_bits_add(&conf->given, option);
    return ok;
}

/* Loads the files that an `include` line names. As in Redis, a pattern that matches no file is
 * ignored, but a name without wildcards must exist. */
static void include(struct conf *conf, const struct conf_words *words, const struct source *source)
{
    if (words->count != 2 || source->depth >= INCLUDE_DEPTH) {
        fail_at(source, words->at[0],
                words->count != 2 ? "wrong number of arguments" : "too many nested includes");
        return;
    }
    /* Stop including after this many errors: a file that includes itself k times would be loaded
     * k^INCLUDE_DEPTH times. */
    if (source->faults->count >= FAULTS_ENOUGH) return;
    glob_t found;
    int outcome = glob(words->at[1], GLOB_NOMAGIC, NULL, &found);
    if (outcome == GLOB_NOMATCH) return;
    if (outcome != 0) {
        fail_at(source, words->at[0], "cannot search for files that match the pattern");
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        if (load_path(conf, path, source->depth + 1, source->faults)) continue;
        char why[256];
        snprintf(why, sizeof(why), "%.140s: %.100s", path, strerror(errno));
        fail_at(source, "include", why);
    }
    globfree(&found);
}

static void load_lines(struct conf *conf, const char *text, size_t len, struct source *source)
{
    const char *line, *why, *end = text + len;
    size_t line_len;
    while (conf_next_line(&text, end, &line, &line_len)) {
        size_t blank = 0;
        source->line++;
        while (blank < line_len && strchr(" \t\r\v\f", line[blank]) != NULL && line[blank] != '\0')
            blank++;
        if (blank == line_len || line[blank] == '#') continue;
        struct conf_words words;
        if (!conf_words_split(line, line_len, &words, &why)) {
            fail_at(source, "", why);
            continue;
        }
        if (strcasecmp(words.at[0], "include") == 0)
            include(conf, &words, source);
        else if (!set_words(conf, &words, source->depth > 0, &why))
            fail_at(source, words.at[0], why);
        conf_words_drop(&words);
    }
}

bool conf_load_text(struct conf *conf, const char *text, size_t len, const char *name,
                    struct conf_error *error)
{
    struct faults faults = begin_faults(error);
    load_lines(conf, text, len, &(struct source){ .name = name, .faults = &faults });
    return end_faults(&faults);
}

/* Loads one file. Returns false with errno if the file can't be read; errors inside the file are
 * added to `faults`. */
static bool load_path(struct conf *conf, const char *path, int depth, struct faults *faults)
{
    size_t len;
    char *text = conf_read_file(path, &len);
    if (text == NULL) return false;
    load_lines(conf, text, len, &(struct source){ .name = path, .depth = depth, .faults = faults });
    free(text);
    return true;
}

static void load_file(struct conf *conf, const char *path, struct faults *faults)
{
    size_t before = faults->count;
    if (!load_path(conf, path, 0, faults))
        add_fault(faults, "%.400s: %.100s", path, strerror(errno));
    if (faults->count > before) return;
    /* Absolute, because CONFIG REWRITE runs after the daemon has changed its directory. */
    char *absolute = realpath(path, NULL);
    if (absolute == NULL) {
        add_fault(faults, "%.400s: %.100s", path, strerror(errno));
        return;
    }
    free(conf->file);
    conf->file = absolute;
}

bool conf_load_file(struct conf *conf, const char *path, struct conf_error *error)
{
    struct faults faults = begin_faults(error);
    load_file(conf, path, &faults);
    return end_faults(&faults);
}

static bool is_name(const char *word)
{
    return word[0] == '-' && word[1] == '-';
}

/* Reads one "--name value ..." and moves *at past it. The word after a name is its value even if
 * that word begins with "--", because a password may. There are two exceptions: a name and value in
 * one word ("--port 7000"), and an option whose value may be left out. */
static void load_option(struct conf *conf, char *const **at, char *const *end,
                        struct faults *faults)
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
        const struct conf_option *option = conf_find(words.at[0]);
        bool is_last = *at == end || is_name(**at);
        if (is_last && strcasecmp(words.at[0], "save") == 0)
            conf_words_add(&words, "");
        else if (is_last && option != NULL && option->type == CONF_BOOL)
            conf_words_add(&words, "yes");
        else if (*at < end)
            conf_words_add(&words, *(*at)++);
    }
    while (*at < end && !is_name(**at)) {
        if (ok) conf_words_add(&words, **at);
        ++*at;
    }
    if (!ok || !set_words(conf, &words, false, &why))
        add_fault(faults, "%.100s: %.300s", given, why);
    conf_words_drop(&words);
}

static bool is_given(const struct conf *conf, const char *name)
{
    return conf_bits_has(&conf->given, conf_find(name));
}

bool conf_load_args(struct conf *conf, int argc, char *const *argv, struct conf_error *error)
{
    struct faults faults = begin_faults(error);
    char *const *at = argv + 1, *const *end = argv + argc;
    bool has_file = at < end && **at != '-';
    if (has_file) load_file(conf, *at++, &faults);
    bool has_stdin = at < end && strcmp(end[-1], "-") == 0;
    if (has_stdin) {
        struct source source = { .name = "standard input", .faults = &faults };
        size_t len;
        char *text = conf_read_stream(stdin, &len);
        if (text != NULL)
            load_lines(conf, text, len, &source);
        else
            add_fault(&faults, "standard input: %.100s", strerror(errno));
        free(text);
        end--;
    }
    if (at < end && !is_name(*at))
        add_fault(&faults, "%.100s: not an option; options are given as --name value", *at);
    while (at < end && !is_name(*at))
        at++;
    while (at < end)
        load_option(conf, &at, end, &faults);

    /* Debian's redis.conf has `appendonly no` and no `save` line: it relies on Redis' default save
     * points. Here the journal is the default, and such a file turns it off; without these save
     * points no snapshot would be saved either. */
    const char *why;
    bool relies = !conf->appendonly && is_given(conf, "appendonly") && !is_given(conf, "save");
    if ((has_file || has_stdin) && relies &&
        !conf_set(conf, conf_find("save"), "3600 1 300 100 60 10000", &why))
        add_fault(&faults, "save: %.100s", why);
    return end_faults(&faults);
}
