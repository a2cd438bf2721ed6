/* idempotence: see idempotence.h. */
#include "server/engine/idempotence.h"

#include <string.h>

static bool is_one_of(struct bytes word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (bytes_is_word(word, *words)) return true;
    return false;
}

/* The number of words of the option at `i`; 0: it is no option, but the ID. */
static int option_words(int argc, const struct bytes *argv, int i)
{
    static const char *const alone[] = { "NOMKSTREAM", "KEEPREF", "DELREF", "ACKED", NULL };
    static const char *const with_value[] = { "LIMIT", "IDMPAUTO", NULL };
    static const char *const trims[] = { "MAXLEN", "MINID", NULL };
    if (is_one_of(argv[i], alone)) return 1;
    if (is_one_of(argv[i], with_value)) return 2;
    if (bytes_is_word(argv[i], "IDMP")) return 3;
    if (!is_one_of(argv[i], trims)) return 0;
    bool marked =
        i + 1 < argc && (bytes_is_word(argv[i + 1], "~") || bytes_is_word(argv[i + 1], "="));
    return marked ? 3 : 2;
}

int idempotence_find(int argc, const struct bytes *argv, int *at)
{
    int found = 0, i = 2;
    if (!bytes_is_word(argv[0], "XADD")) return 0;
    for (int words; i < argc && (words = option_words(argc, argv, i)) > 0; i += words) {
        if (!bytes_is_word(argv[i], "IDMP") && !bytes_is_word(argv[i], "IDMPAUTO")) continue;
        if (found > 0) return 0;
        found = words;
        *at = i;
    }
    bool complete = i < argc && memchr(argv[i].data, '*', argv[i].len) == NULL;
    return complete ? found : 0;
}

bool idempotence_only(const struct bytes *argv)
{
    static const char *const names[] = { "XCFGSET", "XIDMPRECORD", NULL };
    return is_one_of(argv[0], names);
}
