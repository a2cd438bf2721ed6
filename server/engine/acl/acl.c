/* acl: see acl.h. */
#include "server/engine/acl/acl.h"

#include <stdlib.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct acl_context acl_context(const struct acl *acl)
{
    return (struct acl_context){ .commands = acl->commands,
                                 .all_channels = acl->conf->acl_pubsub_default != 0 };
}

/* ---- the table of users --------------------------------------------------------------------- */

static struct bytes name_of(const void *user)
{
    return blob_view(((const struct acl_user *)user)->name);
}

static const struct dict_type by_name = { .key = name_of };

void acl_users_init(struct acl_users *users)
{
    dict_init(&users->by_name, &by_name);
}

struct acl_user *acl_users_find(const struct acl_users *users, struct bytes name)
{
    return dict_find(&users->by_name, name);
}

void acl_users_add(struct acl_users *users, struct acl_user *user)
{
    dict_add(&users->by_name, user);
}

struct user_list {
    struct acl_user **at;
    size_t count;
};

static void list_user(void *ctx, void *user)
{
    struct user_list *list = ctx;
    list->at[list->count++] = user;
}

static struct user_list list_users(const struct acl_users *users)
{
    struct user_list list = { .at =
                                  mem_alloc((dict_count(&users->by_name) + 1) * sizeof(*list.at)) };
    uint64_t cursor = 0;
    do
        cursor = dict_scan(&users->by_name, cursor, list_user, &list);
    while (cursor != 0);
    return list;
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(name_of(*(struct acl_user *const *)a),
                         name_of(*(struct acl_user *const *)b));
}

size_t acl_count(const struct acl *acl)
{
    return dict_count(&acl->users.by_name);
}

struct acl_user **acl_sorted(const struct acl *acl)
{
    struct user_list list = list_users(&acl->users);
    qsort(list.at, list.count, sizeof(*list.at), compare_names);
    return list.at;
}

void acl_users_drop(struct acl_users *users)
{
    struct user_list list = list_users(users);
    dict_drop(&users->by_name);
    for (size_t i = 0; i < list.count; i++)
        acl_user_release(list.at[i]);
    mem_free(list.at);
}

struct acl_user *acl_find(const struct acl *acl, struct bytes name)
{
    return acl_users_find(&acl->users, name);
}

struct acl *acl_new(const struct commands *commands, const struct conf *conf)
{
    struct acl *acl = mem_zalloc(sizeof(*acl));
    acl->commands = commands;
    acl->conf = conf;
    TAILQ_INIT(&acl->log.entries);
    acl_users_init(&acl->users);
    acl->main_user = acl_user_new(LIT("default"), true);
    acl_user_open(acl->main_user);
    acl_users_add(&acl->users, acl->main_user);
    acl_set_requirepass(acl, conf->requirepass);
    return acl;
}

void acl_free(struct acl *acl)
{
    if (acl == NULL) return;
    acl_users_drop(&acl->users);
    acl_log_reset(&acl->log);
    mem_free(acl);
}

/* ---- changing users ------------------------------------------------------------------------- */

size_t acl_words_join(struct acl_words *words, const struct bytes *given, size_t count)
{
    size_t size = 1, open = count;
    for (size_t i = 0; i < count; i++)
        size += given[i].len + 1;
    *words = (struct acl_words){ .at = mem_alloc((count + 1) * sizeof(*given)),
                                 .text = mem_alloc(size) };
    char *to = words->text, *begin = to;
    for (size_t i = 0; i < count; i++) {
        struct bytes word = given[i];
        if (open == count && word.len > 0 && word.data[0] == '(') {
            open = i;
            begin = to;
        }
        if (open == count) {
            words->at[words->count++] = word;
            continue;
        }
        if (open < i) *to++ = ' ';
        if (word.len > 0) memcpy(to, word.data, word.len);
        to += word.len;
        if (word.len == 0 || word.data[word.len - 1] != ')') continue;
        words->at[words->count++] = bytes_of(begin, (size_t)(to - begin));
        open = count;
    }
    return open;
}

void acl_words_drop(struct acl_words *words)
{
    mem_free(words->at);
    mem_free(words->text);
    *words = (struct acl_words){ 0 };
}

enum acl_fault acl_set_user(struct acl *acl, struct bytes name, const struct acl_words *words,
                            struct bytes *refused)
{
    struct acl_context context = acl_context(acl);
    struct acl_user *old = acl_find(acl, name);
    struct acl_user *changed =
        old != NULL ? acl_user_copy(old) : acl_user_new(name, context.all_channels);
    for (size_t i = 0; i < words->count; i++) {
        enum acl_fault fault = acl_user_apply(changed, &context, words->at[i]);
        if (fault == ACL_NO_FAULT) continue;
        *refused = words->at[i];
        acl_user_release(changed);
        return fault;
    }
    if (old != NULL) {
        acl_user_swap(old, changed);
        acl_user_release(changed);
    } else {
        acl_users_add(&acl->users, changed);
    }
    return ACL_NO_FAULT;
}

static void delete_user(struct acl_user *user)
{
    user->is_deleted = true;
    acl_user_release(user);
}

bool acl_delete_user(struct acl *acl, struct bytes name)
{
    struct acl_user *user = acl_find(acl, name);
    if (user == NULL) return false;
    ensure(user != acl->main_user, "the default user can't be deleted");
    dict_remove(&acl->users.by_name, name);
    delete_user(user);
    return true;
}

void acl_set_requirepass(struct acl *acl, const char *password)
{
    struct acl_context context = acl_context(acl);
    size_t len = strlen(password);
    acl_user_apply(acl->main_user, &context, len > 0 ? LIT("resetpass") : LIT("nopass"));
    if (len == 0) return;
    char *word = mem_alloc(len + 1);
    word[0] = '>';
    memcpy(word + 1, password, len);
    acl_user_apply(acl->main_user, &context, bytes_of(word, len + 1));
    mem_free(word);
}

/* Sessions point to their users, so a user that is in both tables keeps its struct; only the
 * contents are exchanged. */
void acl_adopt(struct acl *acl, struct acl_users *users)
{
    struct user_list old = list_users(&acl->users);
    bool is_missing = acl_users_find(users, LIT("default")) == NULL;
    if (is_missing) {
        struct acl_user *open = acl_user_new(LIT("default"), true);
        acl_user_open(open);
        acl_users_add(users, open);
    }
    for (size_t i = 0; i < old.count; i++) {
        struct acl_user *same = dict_remove(&users->by_name, name_of(old.at[i]));
        if (same == NULL) {
            dict_remove(&acl->users.by_name, name_of(old.at[i]));
            delete_user(old.at[i]);
            continue;
        }
        acl_user_swap(old.at[i], same);
        acl_user_release(same);
    }
    mem_free(old.at);
    struct user_list added = list_users(users);
    for (size_t i = 0; i < added.count; i++)
        acl_users_add(&acl->users, added.at[i]);
    mem_free(added.at);
    dict_drop(&users->by_name);
    if (is_missing) acl_set_requirepass(acl, acl->conf->requirepass);
}

/* ---- sessions ------------------------------------------------------------------------------- */

static void give_user(struct session *session, struct acl_user *user, bool authenticated)
{
    struct acl_user *old = session->user;
    if (old != user) session_forget_author(session);
    session->user = acl_user_retain(user);
    session->authenticated = authenticated;
    acl_user_release(old);
}

void acl_begin_session(struct acl *acl, struct session *session)
{
    give_user(session, acl->main_user, !acl_wants_password(acl));
}

void acl_end_session(struct session *session)
{
    session_forget_author(session);
    acl_user_release(session->user);
    session->user = NULL;
}

bool acl_log_in(struct acl *acl, struct session *session, struct bytes name, struct bytes password)
{
    struct acl_user *user = acl_find(acl, name);
    /* Hash even for an unknown user, so that the time does not reveal which names exist. */
    bool admitted = acl_user_admits(user != NULL ? user : acl->main_user, password);
    if (user == NULL || !admitted) return false;
    give_user(session, user, true);
    return true;
}

bool acl_log_in_by_name(struct acl *acl, struct session *session, struct bytes name)
{
    struct acl_user *user = acl_find(acl, name);
    if (user == NULL || !user->on) return false;
    give_user(session, user, true);
    return true;
}

void acl_log_out(struct acl *acl, struct session *session)
{
    give_user(session, acl->main_user, false);
}
