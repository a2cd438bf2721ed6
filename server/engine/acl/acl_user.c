/* acl_user: see acl_user.h. The checks are in acl_check.c. */
#include "server/engine/acl/acl_user.h"

#include <ctype.h>
#include <openssl/crypto.h>

#include "server/base/sha.h"
#include "store/mem/mem.h"

/* ---- life ----------------------------------------------------------------------------------- */

struct acl_user *acl_user_new(struct bytes name, bool all_channels)
{
    struct acl_user *user = mem_zalloc(sizeof(*user));
    user->references = 1;
    user->name = blob_new(name);
    user->selectors = mem_alloc(sizeof(*user->selectors));
    user->selector_count = 1;
    acl_selector_init(user->selectors, all_channels);
    return user;
}

static bool is_full(const struct acl_selector *selector)
{
    return selector->all_commands && selector->all_keys && selector->all_channels;
}

/* Call after a change of the first selector. Other selectors never change once they are added;
 * has_full_selector says whether one of them is full. */
static void update_unrestricted(struct acl_user *user)
{
    user->unrestricted = user->has_full_selector || is_full(&user->selectors[0]);
}

void acl_user_open(struct acl_user *user)
{
    struct acl_selector *root = &user->selectors[0];
    acl_selector_reset(root, true);
    root->all_keys = true;
    acl_commands_set_all(root, true);
    user->on = user->nopass = true;
    update_unrestricted(user);
}

static void drop_selectors(struct acl_user *user, size_t left)
{
    while (user->selector_count > left)
        acl_selector_drop(&user->selectors[--user->selector_count]);
    user->has_full_selector = false;
}

static size_t cap_for(size_t count)
{
    size_t cap = 1;
    while (cap < count)
        cap *= 2;
    return cap;
}

struct acl_user *acl_user_copy(const struct acl_user *user)
{
    struct acl_user *copy = mem_alloc(sizeof(*copy));
    *copy = *user;
    copy->references = 1;
    copy->name = blob_new(blob_view(user->name));
    copy->hashes = acl_items_copy(&user->hashes);
    copy->selectors = mem_alloc(cap_for(user->selector_count) * sizeof(*copy->selectors));
    for (size_t i = 0; i < user->selector_count; i++)
        copy->selectors[i] = acl_selector_copy(&user->selectors[i]);
    return copy;
}

void acl_user_swap(struct acl_user *a, struct acl_user *b)
{
    struct acl_user old = *a;
    *a = *b;
    *b = old;
    b->name = a->name;
    b->references = a->references;
    b->is_deleted = a->is_deleted;
    a->name = old.name;
    a->references = old.references;
    a->is_deleted = old.is_deleted;
}

struct acl_user *acl_user_retain(struct acl_user *user)
{
    user->references++;
    return user;
}

void acl_user_release(struct acl_user *user)
{
    if (user == NULL || --user->references > 0) return;
    drop_selectors(user, 0);
    mem_free(user->selectors);
    acl_items_clear(&user->hashes);
    blob_free(user->name);
    mem_free(user);
}

/* ---- passwords ------------------------------------------------------------------------------ */

/* Compares all hashes, and all bytes of each, so that the time does not tell which bytes match. */
bool acl_user_admits(const struct acl_user *user, struct bytes password)
{
    char hex[SHA256_HEX_LEN];
    bool same = false;
    sha256_hex(password, hex);
    for (const struct acl_item *item = user->hashes.first; item != NULL; item = item->next)
        same |= CRYPTO_memcmp(item->text->data, hex, sizeof(hex)) == 0;
    return user->on && (user->nopass || same);
}

/* Applies ">password", "<password", "#hash" or "!hash". */
static enum acl_fault take_password(struct acl_user *user, struct bytes word)
{
    char hex[SHA256_HEX_LEN];
    struct bytes given = bytes_of(word.data + 1, word.len - 1), hash = given;
    if (word.data[0] == '>' || word.data[0] == '<') {
        sha256_hex(given, hex);
        hash = bytes_of(hex, sizeof(hex));
    } else {
        for (size_t i = 0; i < given.len; i++)
            if (!isdigit((unsigned char)given.data[i]) &&
                (given.data[i] < 'a' || given.data[i] > 'f'))
                return ACL_BAD_HASH;
        if (given.len != SHA256_HEX_LEN) return ACL_BAD_HASH;
    }
    struct acl_item *item = acl_items_find(&user->hashes, hash);
    if (word.data[0] == '<' || word.data[0] == '!') {
        if (item == NULL) return ACL_NO_SUCH_PASSWORD;
        acl_items_remove(&user->hashes, item);
        return ACL_NO_FAULT;
    }
    if (item == NULL) acl_items_add(&user->hashes, 0, hash);
    user->nopass = false;
    return ACL_NO_FAULT;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Removes and returns the next word of the text; spaces separate words. Returns a word of length 0
 * when none is left. */
static struct bytes next_word(struct bytes *text)
{
    while (text->len > 0 && text->data[0] == ' ')
        *text = bytes_of(text->data + 1, text->len - 1);
    size_t len = 0;
    while (len < text->len && text->data[len] != ' ')
        len++;
    struct bytes word = bytes_of(text->data, len);
    *text = bytes_of(text->data + len, text->len - len);
    return word;
}

/* Applies a word such as "(~a* +get)", which adds a selector. */
static enum acl_fault add_selector(struct acl_user *user, const struct acl_context *context,
                                   struct bytes word)
{
    struct acl_selector selector;
    struct bytes text = bytes_of(word.data + 1, word.len - 2);
    enum acl_fault fault = ACL_NO_FAULT;
    acl_selector_init(&selector, context->all_channels);
    for (struct bytes rule = next_word(&text); rule.len > 0; rule = next_word(&text)) {
        /* DIFFERS: Redis accepts a pattern that ends with ')', but can't load it from a file. Here
         * it is refused. (doc/differs.md) */
        bool ends = rule.data[rule.len - 1] == ')';
        fault = ends ? ACL_SYNTAX : acl_selector_apply(&selector, context->commands, rule);
        if (fault != ACL_NO_FAULT) break;
    }
    if (fault != ACL_NO_FAULT) {
        acl_selector_drop(&selector);
        return fault;
    }
    size_t count = user->selector_count++;
    if (cap_for(count + 1) > cap_for(count))
        user->selectors =
            mem_realloc(user->selectors, cap_for(count + 1) * sizeof(*user->selectors));
    user->selectors[count] = selector;
    user->has_full_selector |= is_full(&selector);
    return ACL_NO_FAULT;
}

static void forget_passwords(struct acl_user *user, bool nopass)
{
    acl_items_clear(&user->hashes);
    user->nopass = nopass;
}

enum acl_fault acl_user_apply(struct acl_user *user, const struct acl_context *context,
                              struct bytes word)
{
    enum acl_fault fault = ACL_NO_FAULT;
    if (word.len == 0) return fault;
    if (bytes_is_word(word, "on"))
        user->on = true;
    else if (bytes_is_word(word, "off"))
        user->on = false;
    else if (bytes_is_word(word, "nopass"))
        forget_passwords(user, true);
    else if (bytes_is_word(word, "resetpass"))
        forget_passwords(user, false);
    else if (bytes_is_word(word, "sanitize-payload"))
        user->payload = ACL_PAYLOAD_CHECK;
    else if (bytes_is_word(word, "skip-sanitize-payload"))
        user->payload = ACL_PAYLOAD_TRUST;
    else if (bytes_is_word(word, "clearselectors"))
        drop_selectors(user, 1);
    else if (bytes_is_word(word, "reset")) {
        forget_passwords(user, false);
        drop_selectors(user, 1);
        acl_selector_reset(&user->selectors[0], context->all_channels);
        user->on = false;
        user->payload = ACL_PAYLOAD_CHECK;
    } else if (memchr("><#!", word.data[0], 4) != NULL)
        fault = take_password(user, word);
    else if (word.len >= 2 && word.data[0] == '(' && word.data[word.len - 1] == ')')
        fault = add_selector(user, context, word);
    else
        fault = acl_selector_apply(&user->selectors[0], context->commands, word);
    update_unrestricted(user);
    return fault;
}

/* ---- describing ----------------------------------------------------------------------------- */

size_t acl_user_flags(const struct acl_user *user, const char *words[3])
{
    size_t count = 0;
    words[count++] = user->on ? "on" : "off";
    if (user->nopass) words[count++] = "nopass";
    if (user->payload != ACL_PAYLOAD_UNSET)
        words[count++] =
            user->payload == ACL_PAYLOAD_TRUST ? "skip-sanitize-payload" : "sanitize-payload";
    return count;
}

static void append(struct outbuf *to, const char *text, size_t len)
{
    outbuf_append(to, text, len);
}

void acl_user_describe(const struct acl_user *user, struct outbuf *to)
{
    const char *flags[3];
    size_t count = acl_user_flags(user, flags);
    append(to, "user ", 5);
    append(to, user->name->data, user->name->len);
    for (size_t i = 0; i < count; i++) {
        append(to, " ", 1);
        append(to, flags[i], strlen(flags[i]));
    }
    for (const struct acl_item *item = user->hashes.first; item != NULL; item = item->next) {
        append(to, " #", 2);
        append(to, item->text->data, SHA256_HEX_LEN);
    }
    for (size_t i = 0; i < user->selector_count; i++) {
        append(to, i == 0 ? " " : " (", i == 0 ? 1 : 2);
        acl_selector_describe(&user->selectors[i], to);
        if (i > 0) append(to, ")", 1);
    }
}
