/* acl_file: reads and writes many users at once: the ACL file, and the lines of the option `user`.
 * Users are read into a table of their own, so that all faults are found before the server's users
 * change. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/crypto.h>

#include "conf/words.h"
#include "server/base/log.h"
#include "server/engine/acl/acl.h"
#include "store/mem/mem.h"

static const char NO_FILE[] =
    "This Redis instance is not configured to use an ACL file. You may want to specify users via "
    "the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis "
    "configuration file set) in order to store users in the Redis configuration.";
static const char BOTH[] =
    "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path "
    "is invalid. This setup is very likely to lead to configuration errors and security holes, "
    "please define either an ACL file or declare users directly in your redis.conf, but not both.";

__attribute__((format(printf, 2, 3))) static void add_text(struct outbuf *to, const char *format,
                                                           ...)
{
    char *text;
    va_list values;
    va_start(values, format);
    int len = vasprintf(&text, format, values);
    va_end(values);
    if (len < 0) abort();
    outbuf_append(to, text, (size_t)len);
    free(text);
}

/* ---- one user ------------------------------------------------------------------------------- */

/* Where a user is defined, for error texts. */
struct source {
    const char *file; /* NULL for the configuration file */
    size_t line;
};

static void add_fault(struct outbuf *faults, const struct source *source, struct bytes name,
                      struct bytes word, enum acl_fault fault)
{
    const char *text = acl_fault_text(fault);
    /* Show no passwords in the error: neither words about passwords, nor words that are no rule,
     * because such a word may be a misplaced password. */
    bool is_secret =
        fault == ACL_SYNTAX || (word.len > 0 && memchr("<>#!", word.data[0], 4) != NULL);
    if (source->file == NULL)
        add_text(faults, "Error in user declaration '%.*s': %s. ", (int)name.len, name.data, text);
    else if (is_secret)
        add_text(faults, "%s:%zu: %s. ", source->file, source->line, text);
    else
        add_text(faults, "%s:%zu: Error in applying operation '%.*s': %s. ", source->file,
                 source->line, (int)word.len, word.data, text);
}

/* `given` are the words after "user": the name and its rules. */
static void read_user(const struct acl *acl, struct acl_users *users, const struct acl_words *given,
                      const struct source *source, struct outbuf *faults)
{
    struct bytes name = given->at[0];
    struct acl_words words;
    if (acl_has_spaces(name)) {
        add_text(faults, "Spaces not allowed in ACL usernames. ");
        return;
    }
    if (acl_users_find(users, name) != NULL) {
        if (source->file != NULL)
            add_text(faults, "WARNING: Duplicate user '%.*s' found on line %zu. ", (int)name.len,
                     name.data, source->line);
        else
            add_fault(faults, source, name, name, ACL_TWO_USERS);
        return;
    }
    size_t rules = given->count - 1;
    if (acl_words_join(&words, given->at + 1, rules) != rules) {
        if (source->file != NULL)
            add_text(faults, "%s:%zu: Unmatched parenthesis in selector definition. ", source->file,
                     source->line);
        else
            add_text(faults,
                     "Error in user declaration '%.*s': Unmatched parenthesis in selector "
                     "definition. ",
                     (int)name.len, name.data);
    } else {
        struct acl_context context = acl_context(acl);
        struct acl_user *user = acl_user_new(name, context.all_channels);
        bool had_syntax_fault = false;
        for (size_t i = 0; i < words.count; i++) {
            enum acl_fault fault = acl_user_apply(user, &context, words.at[i]);
            if (fault != ACL_NO_FAULT && !(fault == ACL_SYNTAX && had_syntax_fault))
                add_fault(faults, source, name, words.at[i], fault);
            had_syntax_fault |= fault == ACL_SYNTAX;
        }
        acl_users_add(users, user);
    }
    acl_words_drop(&words);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Splits a line at white space. As in Redis, words of the file are not quoted. */
static struct acl_words split_line(const char *line, size_t len)
{
    struct acl_words words = { .at = mem_alloc((len + 1) * sizeof(struct bytes)) };
    for (size_t i = 0; i < len;) {
        size_t begin = i;
        while (i < len && !is_blank(line[i]))
            i++;
        if (i > begin) words.at[words.count++] = bytes_of(line + begin, i - begin);
        while (i < len && is_blank(line[i]))
            i++;
    }
    return words;
}

void acl_read_file(const struct acl *acl, struct bytes text, const char *name,
                   struct acl_users *users, struct outbuf *faults)
{
    struct source source = { .file = name };
    const char *at = text.data, *end = text.data + text.len, *line;
    size_t len;
    while (conf_next_line(&at, end, &line, &len)) {
        source.line++;
        struct acl_words words = split_line(line, len);
        bool is_skipped = words.count == 0 || words.at[0].data[0] == '#';
        struct acl_words rest = { .at = words.at + 1, .count = words.count - 1 };
        if (!is_skipped && words.count >= 2 && bytes_equal(words.at[0], LIT("user")))
            read_user(acl, users, &rest, &source, faults);
        else if (!is_skipped)
            add_text(faults, "%s:%zu should start with user keyword followed by the username. ",
                     source.file, source.line);
        acl_words_drop(&words);
    }
}

void acl_read_options(const struct acl *acl, const char *lines, struct acl_users *users,
                      struct outbuf *faults)
{
    const char *at = lines, *end = lines + strlen(lines), *line, *why;
    size_t len;
    while (conf_next_line(&at, end, &line, &len)) {
        struct conf_words given;
        struct source source = { .file = NULL };
        if (!conf_words_split(line, len, &given, &why) || given.count == 0) continue;
        struct acl_words words = { .at = mem_alloc(given.count * sizeof(struct bytes)) };
        for (; words.count < given.count; words.count++)
            words.at[words.count] = bytes_of(given.at[words.count], strlen(given.at[words.count]));
        read_user(acl, users, &words, &source, faults);
        acl_words_drop(&words);
        conf_words_drop(&given);
    }
}

/* ---- the file and the options --------------------------------------------------------------- */

static void read_path(const struct acl *acl, struct acl_users *users, struct outbuf *why)
{
    const char *path = acl->conf->aclfile;
    size_t len;
    char *text = conf_read_file(path, &len);
    if (text == NULL) {
        add_text(why, "Error loading ACLs, opening file '%s': %s", path, strerror(errno));
        return;
    }
    acl_read_file(acl, bytes_of(text, len), path, users, why);
    OPENSSL_cleanse(text, len);
    free(text);
}

bool acl_start(struct acl *acl, struct outbuf *why)
{
    struct acl_users users;
    bool has_file = acl->conf->aclfile[0] != '\0';
    if (has_file && acl->conf->user[0] != '\0') {
        add_text(why, "%s", BOTH);
        return false;
    }
    acl_users_init(&users);
    if (has_file)
        read_path(acl, &users, why);
    else
        acl_read_options(acl, acl->conf->user, &users, why);
    if (why->len > 0) {
        acl_users_drop(&users);
        return false;
    }
    /* Without a line about the default user, requirepass defines it. */
    if (!has_file && acl_users_find(&users, LIT("default")) == NULL)
        acl_users_add(&users, acl_user_copy(acl->main_user));
    acl_adopt(acl, &users);
    return true;
}

bool acl_load(struct acl *acl, struct outbuf *why)
{
    struct acl_users users;
    if (acl->conf->aclfile[0] == '\0') {
        add_text(why, "%s", NO_FILE);
        return false;
    }
    acl_users_init(&users);
    read_path(acl, &users, why);
    if (why->len > 0) {
        acl_users_drop(&users);
        add_text(why,
                 "WARNING: ACL errors detected, no change to the previously active ACL rules was "
                 "performed");
        return false;
    }
    acl_adopt(acl, &users);
    return true;
}

static char *take_text(struct outbuf *lines)
{
    char *text = mem_alloc(lines->len + 1);
    text[lines->len] = '\0';
    outbuf_copy(lines, text);
    outbuf_drop(lines);
    return text;
}

bool acl_save(const struct acl *acl, struct outbuf *why)
{
    const char *path = acl->conf->aclfile;
    struct outbuf lines;
    if (path[0] == '\0') {
        add_text(why, "%s", NO_FILE);
        return false;
    }
    outbuf_init(&lines);
    struct acl_user **users = acl_sorted(acl);
    for (size_t i = 0; i < acl_count(acl); i++) {
        acl_user_describe(users[i], &lines);
        outbuf_append(&lines, "\n", 1);
    }
    mem_free(users);
    size_t len = lines.len;
    char *text = take_text(&lines);
    bool good = conf_replace_file(path, text, len);
    if (!good) {
        log_line(LOG_WARNING,
                 "Can't write the ACL file %s: %s. Check the folder and its permissions", path,
                 strerror(errno));
        add_text(why,
                 "There was an error trying to save the ACLs. Please check the server logs for "
                 "more information");
    }
    mem_free(text);
    return good;
}

/* Is the default user exactly as the option requirepass alone would make it? */
static bool is_plain_default(const struct acl *acl)
{
    struct acl *plain = acl_new(acl->commands, acl->conf);
    struct outbuf is, would_be;
    outbuf_init(&is);
    outbuf_init(&would_be);
    acl_user_describe(acl->main_user, &is);
    acl_user_describe(plain->main_user, &would_be);
    char *a = take_text(&is), *b = take_text(&would_be);
    bool same = strcmp(a, b) == 0;
    mem_free(a);
    mem_free(b);
    acl_free(plain);
    return same;
}

bool acl_uses_requirepass(const struct acl *acl)
{
    if (acl->conf->aclfile[0] != '\0') return is_plain_default(acl);
    return !conf_has_line(acl->conf, conf_find("user"), "default");
}

char *acl_option_lines(const struct acl *acl)
{
    char *text;
    size_t len;
    FILE *to = conf_memory_stream(&text, &len);
    bool plain = is_plain_default(acl);
    struct acl_user **users = acl_sorted(acl);
    for (size_t i = 0; i < acl_count(acl) && acl->conf->aclfile[0] == '\0'; i++) {
        const struct acl_user *user = users[i];
        struct outbuf line;
        if (plain && user == acl->main_user) continue;
        outbuf_init(&line);
        acl_user_describe(user, &line);
        size_t line_len = line.len;
        char *words = take_text(&line);
        struct acl_words split = split_line(words, line_len);
        for (size_t j = 1; j < split.count; j++) {
            words[split.at[j].data - words + (long)split.at[j].len] = '\0';
            if (j > 1) fputc(' ', to);
            conf_word_write(to, split.at[j].data);
        }
        fputc('\n', to);
        acl_words_drop(&split);
        mem_free(words);
    }
    mem_free(users);
    fclose(to);
    return text;
}
