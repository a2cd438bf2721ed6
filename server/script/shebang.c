/* shebang: see shebang.h. Errors use Redis' words. */
#include "server/script/shebang.h"

#include <stdio.h>

#include "conf/words.h"
#include "server/script/host.h"

const struct script_flag_name script_flag_names[] = {
    { "no-writes", SCRIPT_NO_WRITES },
    { "allow-oom", SCRIPT_ALLOW_OOM },
    { "allow-stale", SCRIPT_ALLOW_STALE },
    { "no-cluster", SCRIPT_NO_CLUSTER },
    { "allow-cross-slot-keys", SCRIPT_CROSS_SLOT },
    { NULL, 0 },
};

static bool starts_with(struct bytes text, const char *word)
{
    return text.len >= strlen(word) && memcmp(text.data, word, strlen(word)) == 0;
}

static void set_error(char *why, size_t size, const char *what, struct bytes which)
{
    snprintf(why, size, "ERR %s%.*s", what, (int)which.len, which.data);
}

static struct bytes word_at(const struct conf_words *words, size_t i)
{
    return i < words->count ? bytes_of(words->at[i], strlen(words->at[i])) : LIT("");
}

/* Reads the words of the line: the engine, and lists of flags. */
static bool read_words(const struct conf_words *words, unsigned *flags, char *why, size_t size)
{
    static const char option[] = "flags=";
    if (words->count == 0 || !bytes_equal(word_at(words, 0), LIT("#!lua"))) {
        set_error(why, size, "Unexpected engine in script shebang: ", word_at(words, 0));
        return false;
    }
    for (size_t i = 1; i < words->count; i++) {
        struct bytes list = word_at(words, i);
        if (!starts_with(list, option)) {
            set_error(why, size, "Unknown lua shebang option: ", list);
            return false;
        }
        list = bytes_of(list.data + strlen(option), list.len - strlen(option));
        for (size_t at = 0; list.len > 0 && at <= list.len;) {
            const char *comma = memchr(list.data + at, ',', list.len - at);
            size_t end = comma != NULL ? (size_t)(comma - list.data) : list.len;
            struct bytes name = bytes_of(list.data + at, end - at);
            const struct script_flag_name *known = script_flag_names;
            while (known->name != NULL &&
                   !bytes_equal(name, bytes_of(known->name, strlen(known->name))))
                known++;
            if (known->name == NULL) {
                set_error(why, size, "Unexpected flag in script shebang: ", name);
                return false;
            }
            *flags |= known->flag;
            at = end + 1;
        }
    }
    return true;
}

bool shebang_read(struct bytes text, struct shebang *shebang, char *why, size_t size)
{
    *shebang = (struct shebang){ .flags = SCRIPT_PLAIN };
    if (!starts_with(text, "#!")) return true;
    const char *end = memchr(text.data, '\n', text.len), *fault;
    struct conf_words words;
    if (end == NULL) {
        set_error(why, size, "Invalid script shebang", LIT(""));
        return false;
    }
    *shebang = (struct shebang){ .len = (size_t)(end - text.data) };
    if (!conf_words_split(text.data, shebang->len, &words, &fault)) {
        set_error(why, size, "Invalid engine in script shebang", LIT(""));
        return false;
    }
    bool good = read_words(&words, &shebang->flags, why, size);
    conf_words_drop(&words);
    return good;
}
