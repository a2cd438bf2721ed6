/* Fuzz target: a user that is made from any words is the same user when it is made again from its
 * description; refused words change nothing; checks of any call end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/engine/acl/acl.h"
#include "store/mem/mem.h"
#include "tests/support/server_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64 };

static struct server_world world;
static struct acl *acl;

static void begin(void)
{
    if (acl != NULL) return;
    server_world_init(&world, SERVER_WORLD_PLAIN);
    acl = world.engine.acl;
}

static size_t split_at(struct bytes text, char mark, struct bytes *words)
{
    size_t count = 0;
    while (text.len > 0 && count < WORDS_MAX) {
        const char *end = memchr(text.data, mark, text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        words[count++] = bytes_of(text.data, len);
        size_t past = len + (end != NULL);
        text = bytes_of(text.data + past, text.len - past);
    }
    return count;
}

/* The description in memory of its own; the caller frees it. */
static struct bytes description_of(struct bytes name)
{
    struct outbuf out;
    outbuf_init(&out);
    acl_user_describe(acl_find(acl, name), &out);
    size_t len = out.len;
    char *text = mem_alloc(len + 1);
    outbuf_copy(&out, text);
    outbuf_drop(&out);
    return bytes_of(text, len);
}

static bool apply(struct bytes name, const struct bytes *words, size_t count)
{
    struct acl_words joined;
    struct bytes refused = { 0 };
    bool good = acl_words_join(&joined, words, count) == count &&
                acl_set_user(acl, name, &joined, &refused) == ACL_NO_FAULT;
    acl_words_drop(&joined);
    return good;
}

/* Makes the user "b" from the description of "a". */
static void check_description(void)
{
    struct bytes first = description_of(LIT("a")), *words;
    static const size_t before = sizeof("user a ") - 1;
    words = mem_alloc((first.len + 2) * sizeof(*words));
    size_t count = 0;
    words[count++] = LIT("reset");
    struct bytes rest = bytes_of(first.data + before, first.len - before);
    while (rest.len > 0) {
        const char *end = memchr(rest.data, ' ', rest.len);
        size_t len = end != NULL ? (size_t)(end - rest.data) : rest.len;
        words[count++] = bytes_of(rest.data, len);
        rest = bytes_of(rest.data + len + (end != NULL), rest.len - len - (end != NULL));
    }
    if (!apply(LIT("b"), words, count)) abort();
    struct bytes second = description_of(LIT("b"));
    if (second.len != first.len ||
        memcmp(first.data + before, second.data + before, first.len - before) != 0)
        abort();
    const struct acl_user *a = acl_find(acl, LIT("a")), *b = acl_find(acl, LIT("b"));
    if (a->unrestricted != b->unrestricted || a->selector_count != b->selector_count) abort();
    for (size_t i = 0; i < a->selector_count; i++) {
        const struct acl_selector *x = &a->selectors[i], *y = &b->selectors[i];
        if (memcmp(x->allowed, y->allowed, sizeof(x->allowed)) != 0) abort();
        /* The tag also says whether a first argument is still allowed. */
        const struct acl_item *rule = x->rules.items.first, *same = y->rules.items.first;
        for (; rule != NULL; rule = rule->next, same = same->next)
            if (rule->tag != same->tag) abort();
    }
    mem_free((char *)first.data);
    mem_free((char *)second.data);
    mem_free(words);
}

static void check_call(struct bytes line)
{
    struct bytes words[WORDS_MAX];
    int count = (int)split_at(line, ' ', words), at = -1;
    if (count == 0) return;
    struct command_ref ref = commands_match(acl->commands, count, words);
    const struct acl_user *user = acl_find(acl, LIT("a"));
    if (ref.row == NULL || !command_fits_arity(ref.row, count)) return;
    enum acl_verdict verdict = acl_user_check(user, ref, count, words, &at);
    if (at < 0 || at >= count) abort();
    if (user->unrestricted && verdict != ACL_ALLOWED) abort();
    acl_user_reads_all(user, ref, count, words);
    acl_user_reads_prefix(user, words[0]);
}

static void check_file(struct bytes text)
{
    struct acl_users users;
    struct outbuf faults;
    outbuf_init(&faults);
    acl_users_init(&users);
    acl_read_file(acl, text, "file", &users, &faults);
    acl_users_drop(&users);
    outbuf_drop(&faults);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes lines[WORDS_MAX], words[WORDS_MAX];
    begin();
    apply(LIT("a"), &(struct bytes){ "reset", 5 }, 1);
    apply(LIT("b"), &(struct bytes){ "reset", 5 }, 1);
    size_t count = split_at(bytes_of((const char *)data, size), '\n', lines);
    for (size_t i = 0; i < count; i++) {
        if (i % 2 == 1) {
            check_call(lines[i]);
            continue;
        }
        struct bytes before = description_of(LIT("a"));
        bool good = apply(LIT("a"), words, split_at(lines[i], ' ', words));
        struct bytes after = description_of(LIT("a"));
        if (!good && !bytes_equal(before, after)) abort();
        mem_free((char *)before.data);
        mem_free((char *)after.data);
        check_description();
    }
    check_file(bytes_of((const char *)data, size));
    /* The leak checker does not see what only the table of users points at. */
    acl_delete_user(acl, LIT("a"));
    acl_delete_user(acl, LIT("b"));
    return 0;
}
