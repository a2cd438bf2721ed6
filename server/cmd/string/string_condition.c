/* string_condition: see string_condition.h. The digest is libxxhash's XXH3. The library's header
 * contains the whole function (XXH_INLINE_ALL), so nothing is linked. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "server/cmd/call/args.h"
#include "server/cmd/string/string_condition.h"

bool arg_string_condition(const struct call *call, int i, struct string_condition *condition)
{
    static const char *const words[] = { "IFEQ", "IFNE", "IFDEQ", "IFDNE" };
    int found = arg_word(call, i, words, sizeof(words) / sizeof(words[0]));
    if (found < 0) return false;
    *condition = (struct string_condition){ .kind = IF_EQUAL + (unsigned)found, .arg = i + 1 };
    return true;
}

void string_digest(struct bytes value, char digits[STRING_DIGEST_CHARS])
{
    XXH64_hash_t hash = XXH3_64bits(value.data, value.len);
    for (int i = STRING_DIGEST_CHARS - 1; i >= 0; i--) {
        digits[i] = "0123456789abcdef"[hash & 15];
        hash >>= 4;
    }
}

bool string_condition_holds(struct call *call, const struct string_condition *condition,
                            const struct entry *entry, bool *holds)
{
    bool if_equal = condition->kind == IF_EQUAL || condition->kind == IF_DIGEST_EQUAL;
    bool by_digest = condition->kind == IF_DIGEST_EQUAL || condition->kind == IF_DIGEST_DIFFERENT;
    *holds = !if_equal;
    if (entry == NULL || condition->kind == IF_ANY) return true;
    struct bytes value = object_text(&entry->object), wanted = call->argv[condition->arg];
    if (!by_digest) {
        *holds = bytes_equal(value, wanted) == if_equal;
        return true;
    }
    /* As in Redis, only the length of the digest is checked. */
    char digits[STRING_DIGEST_CHARS];
    if (wanted.len != STRING_DIGEST_CHARS) return fail(call, ERR_DIGEST_LENGTH);
    string_digest(value, digits);
    *holds = (strncasecmp(digits, wanted.data, STRING_DIGEST_CHARS) == 0) == if_equal;
    return true;
}
