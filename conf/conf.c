/* conf: converts values between text and struct conf, with Redis' error messages. */
#include "conf/conf.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/words.h"

/* A value that is parsed but not stored yet. `limits` begins as a copy of the current limits,
 * because a text may set some classes of clients and leave the others as they are. */
struct value {
    int64_t number;
    struct conf_output_limit limits[3];
};

static const char *const limit_classes[] = { "normal", "slave", "pubsub" };

static size_t offset_of(const struct conf_option *option)
{
    if (option->use == CONF_WORKS) return option->offset;
    return offsetof(struct conf, kept) + conf_kept_index(option) * sizeof(union conf_kept);
}

static void *field(struct conf *conf, const struct conf_option *option)
{
    return (char *)conf + offset_of(option);
}

static const struct conf_choice *find_choice(const struct conf_choice *choices, const char *name)
{
    while (choices->name != NULL && strcasecmp(choices->name, name) != 0)
        choices++;
    return choices->name != NULL ? choices : NULL;
}

/* Reads a decimal number as Redis accepts it: no plus sign, spaces or leading zeros. */
static bool read_int(const char *text, int64_t *number)
{
    const char *digits = text + (*text == '-');
    if (!isdigit((unsigned char)*digits)) return false;
    if (*digits == '0' && (digits[1] != '\0' || digits != text)) return false;
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0;
}

/* Reads a number of bytes with an optional unit. As in Redis, a text without digits ("kb") is 0. A
 * number too large for int64_t becomes INT64_MAX. */
static bool read_memory(const char *text, int64_t *bytes)
{
    static const struct conf_choice units[] = {
        { "", 1 },           { "b", 1 },        { "k", 1000 },
        { "kb", 1 << 10 },   { "m", 1000000 },  { "mb", 1 << 20 },
        { "g", 1000000000 }, { "gb", 1 << 30 }, { NULL, 0 },
    };
    size_t digits = strspn(text, "0123456789");
    const struct conf_choice *unit = find_choice(units, text + digits);
    if (unit == NULL) return false;
    errno = 0;
    int64_t count = digits > 0 ? strtoll(text, NULL, 10) : 0;
    if (errno != 0 || __builtin_mul_overflow(count, unit->value, bytes)) *bytes = INT64_MAX;
    return true;
}

static const char *read_limits(const char *text, struct conf_output_limit *limits)
{
    const char *why = NULL;
    struct conf_words words;
    if (!conf_words_split(text, strlen(text), &words, &why)) return why;
    if (words.count % 4 != 0) why = "Wrong number of arguments in buffer limit configuration.";
    for (size_t i = 0; i < words.count && why == NULL; i += 4) {
        struct conf_output_limit limit;
        int which = 0;
        while (which < 3 && strcasecmp(limit_classes[which], words.at[i]) != 0)
            which++;
        if (strcasecmp(words.at[i], "replica") == 0) which = CONF_LIMIT_REPLICA;
        if (which == 3)
            why = "Invalid client class specified in buffer limit configuration.";
        else if (!read_memory(words.at[i + 1], &limit.hard) ||
                 !read_memory(words.at[i + 2], &limit.soft) ||
                 !read_int(words.at[i + 3], &limit.soft_seconds) || limit.soft_seconds < 0)
            why = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
        else
            limits[which] = limit;
    }
    conf_words_drop(&words);
    return why;
}

/* Parses text by the option's type. Returns the error, or NULL. */
static const char *read_value(const struct conf_option *option, const char *text,
                              struct value *value)
{
    static char too_high[128], out_of_range[128], none_of[256];
    const struct conf_choice *choice;
    size_t digits;
    bool is_percent;
    switch (option->type) {
    case CONF_BOOL:
        value->number = strcasecmp(text, "yes") == 0;
        if (value->number || strcasecmp(text, "no") == 0) return NULL;
        return "argument must be 'yes' or 'no'";
    case CONF_INT:
        if (!read_int(text, &value->number)) return "argument couldn't be parsed into an integer";
        break;
    case CONF_MEMORY:
        if (!read_memory(text, &value->number)) return "argument must be a memory value";
        break;
    case CONF_MEMORY_PERCENT:
        /* As in Redis, "5%" is stored as -5. */
        digits = strspn(text, "0123456789");
        is_percent = digits > 0 && strcmp(text + digits, "%") == 0;
        errno = 0;
        if (is_percent) value->number = -strtoll(text, NULL, 10);
        if (is_percent ? errno != 0 : !read_memory(text, &value->number))
            return "argument must be a memory or percent value";
        if (value->number >= option->min) break;
        snprintf(too_high, sizeof(too_high),
                 "percentage argument must be less or equal to %" PRId64, -option->min);
        return too_high;
    case CONF_OCTAL:
        errno = 0;
        value->number = strtoll(text, NULL, 8);
        if (*text == '\0' || text[strspn(text, "01234567")] != '\0' || errno != 0)
            return "argument couldn't be parsed as an octal number";
        break;
    case CONF_ENUM:
        choice = find_choice(option->choices, text);
        if (choice == NULL) {
            size_t used = (size_t)snprintf(none_of, sizeof(none_of),
                                           "argument(s) must be one of the following: ");
            for (choice = option->choices; choice->name != NULL && used < sizeof(none_of); choice++)
                used += (size_t)snprintf(none_of + used, sizeof(none_of) - used, "%s%s",
                                         choice == option->choices ? "" : ", ", choice->name);
            return none_of;
        }
        value->number = choice->value;
        return NULL;
    case CONF_TEXT:
    case CONF_LINES: return NULL;
    case CONF_LIMITS: return read_limits(text, value->limits);
    }
    if (value->number >= option->min && value->number <= option->max) return NULL;
    const char *format = option->type == CONF_OCTAL
                             ? "argument must be between %" PRIo64 " and %" PRIo64 " inclusive"
                             : "argument must be between %" PRId64 " and %" PRId64 " inclusive";
    snprintf(out_of_range, sizeof(out_of_range), format, option->min, option->max);
    return out_of_range;
}

/* Checks the lines of an option and returns the error, or NULL. Each line must split into words.
 * Lines of policies, renames and users have a syntax that only the server knows, so the callbacks
 * in conf check them. */
static const char *fault_in_lines(const struct conf *conf, const struct conf_option *option,
                                  const char *text)
{
    const char *line, *why = NULL, *at = text, *end = text + strlen(text);
    size_t len;
    while (conf_next_line(&at, end, &line, &len)) {
        struct conf_words words;
        if (!conf_words_split(line, len, &words, &why)) return why;
        conf_words_drop(&words);
    }
    const char *(*fault)(const char *lines) = NULL;
    if (option->offset == offsetof(struct conf, policy)) fault = conf->policies_fault;
    if (option->offset == offsetof(struct conf, renames)) fault = conf->renames_fault;
    if (option->offset == offsetof(struct conf, user)) fault = conf->users_fault;
    return fault != NULL ? fault(text) : NULL;
}

bool conf_set(struct conf *conf, const struct conf_option *option, const char *value,
              const char **why)
{
    struct value read = { .number = 0 };
    if (option->type == CONF_LIMITS) memcpy(read.limits, field(conf, option), sizeof(read.limits));
    *why = read_value(option, value, &read);
    if (*why == NULL && option->check != NULL) *why = option->check(value);
    if (*why == NULL && option->type == CONF_LINES) *why = fault_in_lines(conf, option, value);
    if (*why != NULL) return false;
    char *text = conf_copy(value);
    if (option->tidy != NULL) {
        option->tidy(text);
        read_value(option, text, &read);
    }

    void *at = field(conf, option);
    switch (option->type) {
    case CONF_BOOL: *(bool *)at = read.number != 0; break;
    case CONF_INT:
    case CONF_MEMORY:
    case CONF_MEMORY_PERCENT:
    case CONF_OCTAL:
    case CONF_ENUM: *(int64_t *)at = read.number; break;
    case CONF_LIMITS: memcpy(at, read.limits, sizeof(read.limits)); break;
    case CONF_TEXT:
    case CONF_LINES: free(*(char **)at); *(char **)at = conf_copy(text);
    }

    free(text);
    return true;
}

/* Writes the lines that begin with this word, or all lines if it is NULL. */
static void write_lines_with(FILE *to, const char *lines, const char *word, size_t word_len)
{
    const char *end = lines + strlen(lines), *line;
    size_t len;
    while (conf_next_line(&lines, end, &line, &len)) {
        /* The word and the lines are quoted in the same way. */
        bool has_word = word == NULL || (len >= word_len && memcmp(line, word, word_len) == 0 &&
                                         (len == word_len || line[word_len] == ' '));
        if (has_word) fprintf(to, "%.*s\n", (int)len, line);
    }
}

bool conf_has_line(const struct conf *conf, const struct conf_option *option, const char *word)
{
    char *found, *first;
    size_t len, first_len;
    FILE *to = conf_memory_stream(&first, &first_len);
    conf_word_write(to, word);
    fclose(to);
    to = conf_memory_stream(&found, &len);
    write_lines_with(to, *(char *const *)((const char *)conf + offset_of(option)), first,
                     first_len);
    fclose(to);
    free(first);
    free(found);
    return len > 0;
}

bool conf_add_line(struct conf *conf, const struct conf_option *option,
                   const struct conf_words *words, const char **why)
{
    if (words->count == 2 && *words->at[1] == '\0') return true;
    char **lines = (char **)field(conf, option), *line = conf_words_quote(words, 1), *related;
    size_t size, len = strlen(line), before = strlen(*lines);
    struct conf_words first = { .at = words->at + 1, .count = 1 };
    char *word = conf_words_quote(&first, 0);
    FILE *to = conf_memory_stream(&related, &size);
    write_lines_with(to, *lines, option->by_name ? word : NULL, strlen(word));
    fputs(line, to);
    fclose(to);
    *why = fault_in_lines(conf, option, related);
    if (*why == NULL) {
        *lines = conf_resize(*lines, before + len + 2);
        if (before > 0) (*lines)[before++] = '\n';
        memcpy(*lines + before, line, len + 1);
    }
    free(related);
    free(word);
    free(line);
    return *why == NULL;
}

char *conf_get(const struct conf *conf, const struct conf_option *option)
{
    const void *at = (const char *)conf + offset_of(option);
    char *text;
    size_t len;
    FILE *to = conf_memory_stream(&text, &len);
    int64_t number = 0;
    switch (option->type) {
    case CONF_BOOL: fputs(*(const bool *)at ? "yes" : "no", to); break;
    case CONF_INT:
    case CONF_MEMORY: fprintf(to, "%" PRId64, *(const int64_t *)at); break;
    case CONF_MEMORY_PERCENT:
        number = *(const int64_t *)at;
        fprintf(to, "%" PRId64 "%s", number < 0 ? -number : number, number < 0 ? "%" : "");
        break;
    case CONF_OCTAL: fprintf(to, "%" PRIo64, *(const int64_t *)at); break;
    case CONF_ENUM: {
        const struct conf_choice *choice = option->choices;
        while (choice->name != NULL && choice->value != *(const int64_t *)at)
            choice++;
        if (choice->name != NULL) fputs(choice->name, to);
        break;
    }
    case CONF_TEXT:
    case CONF_LINES: fputs(*(char *const *)at, to); break;
    case CONF_LIMITS:
        for (int i = 0; i < 3; i++) {
            const struct conf_output_limit *limit = (const struct conf_output_limit *)at + i;
            fprintf(to, "%s%s %" PRId64 " %" PRId64 " %" PRId64, i > 0 ? " " : "", limit_classes[i],
                    limit->hard, limit->soft, limit->soft_seconds);
        }
        break;
    }
    fclose(to);
    return text;
}

void conf_init(struct conf *conf)
{
    *conf = (struct conf){ .file = conf_copy("") };
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        const char *why;
        if (conf_set(conf, option, option->preset, &why)) continue;
        fprintf(stderr, "expired: conf: the default of %s: %s\n", option->name, why);
        abort();
    }
}

void conf_drop(struct conf *conf)
{
    for (size_t i = 0; i < conf_option_count(); i++) {
        enum conf_type type = conf_option_at(i)->type;
        char **at = field(conf, conf_option_at(i));
        if (type != CONF_TEXT && type != CONF_LINES) continue;
        free(*at);
        *at = NULL; /* an alias shares the field, which must not be freed twice */
    }
    free(conf->file);
    *conf = (struct conf){ .file = NULL };
}
