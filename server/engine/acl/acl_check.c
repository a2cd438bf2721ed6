/* acl_check: decides whether a user may make a call, subscribe to a channel, or read the keys of a
 * prefix: the functions at the end of acl_user.h. A call is checked in Redis' order: command, keys,
 * channels. */
#include "server/engine/acl/acl_user.h"

#include "store/mem/mem.h"

enum { FEW_ARGS = 32 }; /* calls with at most this many arguments need no allocation */

/* A call, and its keys, which are found once for all selectors. */
struct question {
    struct command_ref command;
    int argc;
    const struct bytes *argv;
    int key_count; /* -1 until they are found */
    int *positions;
    unsigned *flags;
    int few_positions[FEW_ARGS];
    unsigned few_flags[FEW_ARGS];
};

static void begin_question(struct question *question, struct command_ref command, int argc,
                           const struct bytes *argv)
{
    question->command = command;
    question->argc = argc;
    question->argv = argv;
    question->key_count = -1;
    question->positions = question->few_positions;
    question->flags = question->few_flags;
}

static void end_question(struct question *question)
{
    if (question->positions == question->few_positions) return;
    mem_free(question->positions);
    mem_free(question->flags);
}

/* ---- parts of a selector -------------------------------------------------------------------- */

/* Returns the index of the first key that is refused, or 0. */
static int refused_key(const struct acl_selector *selector, struct question *question)
{
    const struct command *row = question->command.row;
    if (selector->all_keys || !command_has_keys(row)) return 0;
    if (question->key_count < 0) {
        size_t cap = (size_t)question->argc;
        if (cap > FEW_ARGS) {
            question->positions = mem_alloc(cap * sizeof(*question->positions));
            question->flags = mem_alloc(cap * sizeof(*question->flags));
        }
        int count = command_keys(row, question->argc, question->argv, question->positions);
        question->key_count = count < 0 ? 0 : count;
        command_key_flags(row, question->argc, question->argv, question->positions,
                          question->key_count, question->flags);
    }
    for (int i = 0; i < question->key_count; i++) {
        int at = question->positions[i];
        unsigned flags = question->flags[i];
        if (flags & KEY_NOT) continue;
        /* A key that is only tested, as by EXISTS, needs a pattern with any permission. */
        unsigned access = flags & KEY_ACCESS ? ACL_READ : 0;
        if (flags & (KEY_INSERT | KEY_DELETE | KEY_UPDATE)) access |= ACL_WRITE;
        const struct acl_item *item = selector->keys.first;
        while (item != NULL && !((item->tag & access) == access &&
                                 bytes_match(blob_view(item->text), question->argv[at])))
            item = item->next;
        if (item == NULL) return at;
    }
    return 0;
}

/* Does one rule allow this access to every key that begins with the prefix? */
static bool allows_prefix(const struct acl_selector *selector, struct bytes prefix, unsigned access)
{
    if (selector->all_keys) return true;
    for (const struct acl_item *item = selector->keys.first; item != NULL; item = item->next) {
        struct bytes rule = blob_view(item->text);
        size_t plain = 0;
        while (plain < rule.len && memchr("*?[\\", rule.data[plain], 4) == NULL)
            plain++;
        bool covers = plain + 1 == rule.len && rule.data[plain] == '*' && plain <= prefix.len &&
                      memcmp(rule.data, prefix.data, plain) == 0;
        if ((item->tag & access) == access && (covers || bytes_equal(rule, LIT("*")))) return true;
    }
    return false;
}

/* Does one rule allow the channel? A pattern to subscribe to needs a rule with exactly the same
 * pattern: otherwise it might match channels that no rule allows. */
static bool allows_channel(const struct acl_selector *selector, struct bytes name, bool is_pattern)
{
    if (selector->all_channels) return true;
    for (const struct acl_item *item = selector->channels.first; item != NULL; item = item->next) {
        struct bytes rule = blob_view(item->text);
        if (is_pattern ? bytes_equal(rule, name) : bytes_match(rule, name)) return true;
    }
    return false;
}

static enum acl_verdict check_selector(const struct acl_selector *selector,
                                       struct question *question, int *at)
{
    struct command_ref ref = question->command;
    const struct command *row = ref.row;
    bool allowed = selector->all_commands || (row->flags & NO_AUTH);
    if (!allowed && ref.stats != NULL)
        allowed = acl_selector_has_id(selector, ref.stats->id) ||
                  (ref.parent == NULL && question->argc >= 2 &&
                   acl_rules_allow_first_arg(&selector->rules, row, question->argv[1]));
    *at = 0;
    if (!allowed) return ACL_NO_COMMAND;
    if ((*at = refused_key(selector, question)) != 0) return ACL_NO_KEY;
    if (row->prefix > 0 && question->argc > row->prefix) {
        struct bytes name = question->argv[row->prefix];
        unsigned access = row->flags & WRITE ? ACL_READ | ACL_WRITE : ACL_READ;
        *at = row->prefix;
        /* Without the '*'. A name without one is refused by the command. */
        if (name.len > 0 && !allows_prefix(selector, bytes_of(name.data, name.len - 1), access))
            return ACL_NO_KEY;
        *at = 0;
    }
    unsigned acl = row->acl;
    if (!(acl & (ACL_CHANNEL_FIRST | ACL_CHANNEL_ALL | ACL_PATTERN_ALL))) return ACL_ALLOWED;
    if (!command_fits_arity(row, question->argc)) return ACL_ALLOWED;
    int end = acl & ACL_CHANNEL_FIRST ? 2 : question->argc;
    for (int i = 1; i < end; i++) {
        if (allows_channel(selector, question->argv[i], acl & ACL_PATTERN_ALL)) continue;
        *at = i;
        return ACL_NO_CHANNEL;
    }
    return ACL_ALLOWED;
}

/* ---- users ---------------------------------------------------------------------------------- */

enum acl_verdict acl_user_check(const struct acl_user *user, struct command_ref command, int argc,
                                const struct bytes *argv, int *at)
{
    struct question question;
    enum acl_verdict worst = ACL_NO_COMMAND;
    *at = 0;
    begin_question(&question, command, argc, argv);
    for (size_t i = 0; i < user->selector_count; i++) {
        int word;
        enum acl_verdict verdict = check_selector(&user->selectors[i], &question, &word);
        bool is_worse = verdict > worst || (verdict == worst && word > *at);
        if (verdict == ACL_ALLOWED || is_worse) {
            worst = verdict;
            *at = word;
        }
        if (verdict == ACL_ALLOWED) break;
    }
    end_question(&question);
    return worst;
}

bool acl_user_reads_prefix(const struct acl_user *user, struct bytes prefix)
{
    for (size_t i = 0; i < user->selector_count; i++)
        if (allows_prefix(&user->selectors[i], prefix, ACL_READ)) return true;
    return false;
}

bool acl_user_reads_all(const struct acl_user *user, struct command_ref command, int argc,
                        const struct bytes *argv)
{
    struct question question;
    bool found = false;
    int at;
    begin_question(&question, command, argc, argv);
    for (size_t i = 0; i < user->selector_count && !found; i++)
        found = check_selector(&user->selectors[i], &question, &at) == ACL_ALLOWED &&
                allows_prefix(&user->selectors[i], LIT(""), ACL_READ);
    end_question(&question);
    return found;
}

bool acl_user_may_subscribe(const struct acl_user *user, struct bytes channel, bool is_pattern)
{
    for (size_t i = 0; i < user->selector_count; i++)
        if (allows_channel(&user->selectors[i], channel, is_pattern)) return true;
    return false;
}

/* Returns the channel rules of all selectors, each once. */
static struct acl_items channels_of(const struct acl_user *user)
{
    struct acl_items all = { 0 };
    for (size_t i = 0; i < user->selector_count; i++) {
        const struct acl_item *item = user->selectors[i].channels.first;
        for (; item != NULL; item = item->next)
            if (acl_items_find(&all, blob_view(item->text)) == NULL)
                acl_items_add(&all, 0, blob_view(item->text));
    }
    return all;
}

static bool has_all_channels(const struct acl_user *user)
{
    for (size_t i = 0; i < user->selector_count; i++)
        if (user->selectors[i].all_channels) return true;
    return false;
}

bool acl_user_lost_channels(const struct acl_user *user, const struct acl_user *before)
{
    if (has_all_channels(user)) return false;
    if (has_all_channels(before)) return true;
    struct acl_items left = channels_of(user), had = channels_of(before);
    bool lost = false;
    for (const struct acl_item *item = had.first; item != NULL && !lost; item = item->next)
        lost = acl_items_find(&left, blob_view(item->text)) == NULL;
    acl_items_clear(&left);
    acl_items_clear(&had);
    return lost;
}
