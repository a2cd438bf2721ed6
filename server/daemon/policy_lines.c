/* policy_lines: see policy_lines.h. A line adds to earlier lines with the same name, but not to a
 * policy of the data set. The lines are therefore first applied to an empty store; of the resulting
 * policies, those whose name is new are then set in the data set. */
#include "server/daemon/policy_lines.h"

#include <string.h>

#include "conf/words.h"
#include "server/cmd/key/policy_args.h"
#include "store/mem/mem.h"
#include "store/store.h"
#include "store/txn/txn.h"

static bool set_lines(struct store *to, const char *lines, struct policy_refusal *refusal)
{
    const char *end = lines + strlen(lines), *line, *why;
    struct txn txn;
    bool good = true;
    size_t len;
    txn_begin(&txn, to, 0, FROM_CLIENT);
    while (good && conf_next_line(&lines, end, &line, &len)) {
        struct conf_words words;
        if (!conf_words_split(line, len, &words, &why)) continue;
        if (words.count > 0) {
            struct bytes *views = mem_alloc(words.count * sizeof(*views));
            struct policy policy;
            for (size_t i = 0; i < words.count; i++)
                views[i] = bytes_of(words.at[i], strlen(words.at[i]));
            good = policy_args_read(views, words.count, &to->policies, &policy, refusal);
            if (good) txn_policy_set(&txn, views[0], &policy);
            mem_free(views);
        }
        conf_words_drop(&words);
    }
    txn_commit(&txn);
    return good;
}

const char *policy_lines_fault(const char *lines)
{
    static const char code[] = "ERR ";
    static struct policy_refusal refusal;
    struct store *trial = store_new(1);
    bool good = set_lines(trial, lines, &refusal);
    store_free(trial);
    if (good) return NULL;
    bool has_code = strncmp(refusal.text, code, strlen(code)) == 0;
    return refusal.text + (has_code ? strlen(code) : 0);
}

static void set_missing(void *ctx, struct bytes name, const struct policy *policy)
{
    struct txn *txn = ctx;
    if (policies_get(&txn->store->policies, name) == NULL) txn_policy_set(txn, name, policy);
}

void policy_lines_set(struct txn *txn, const char *lines)
{
    struct policy_refusal refusal;
    struct store *trial = store_new(1);
    if (set_lines(trial, lines, &refusal)) policies_each(&trial->policies, set_missing, txn);
    store_free(trial);
}
