/* acl: the users of the server, by name. The user "default" always exists, and connections begin
 * with it. Depends on acl_user, the options and sessions' `user`; knows no connections.
 *
 * A session holds a reference to its user. The struct of a deleted user is thus freed when its last
 * session has ended or has another user.
 *
 * Folder server/engine/acl: users and their permissions. A user has selectors, of which one must
 * allow a call.
 *
 *     acl_user        a user: name, passwords, flags and selectors
 *     acl_selector    one set of permissions: commands, keys and channels
 *     acl_commands    its permissions for commands, as bits over the table of rows
 *     acl_rules       the words that set these bits
 *     acl_items       a list of texts, for patterns and rules
 *     acl_check       decides about a call
 *     acl_file        reads and writes many users
 *     acl_log         keeps the latest refusals
 *
 * A flag marks users with all rights, whose calls need no check. Start here; server/engine/rights.c
 * checks calls, the commands are in server/admin/acl.
 *
 * May use: conf server/base server/cmd/call store/. */
#pragma once

#include "conf/conf.h"
#include "server/cmd/call/session.h"
#include "server/engine/acl/acl_log.h"
#include "server/engine/acl/acl_user.h"

/* A table of users by name. It holds one reference to each. */
struct acl_users {
    struct dict by_name;
};
struct acl_user *acl_users_find(const struct acl_users *users, struct bytes name);
void acl_users_add(struct acl_users *users,
                   struct acl_user *user); /* takes over the caller's reference */

struct acl {
    const struct commands *commands;
    const struct conf *conf;
    struct acl_users users;
    struct acl_user *main_user; /* "default" */
    struct acl_log log;
};

/* Returns an ACL with only the default user, who may do everything and whose password is
 * requirepass. All commands must be registered before rules are applied. */
struct acl *acl_new(const struct commands *commands, const struct conf *conf);
void acl_free(struct acl *acl); /* NULL is allowed */

struct acl_user *acl_find(const struct acl *acl, struct bytes name); /* NULL if there is none */
struct acl_context acl_context(const struct acl *acl);
size_t acl_count(const struct acl *acl);
/* Returns all users in the order of their names. Free the array with mem_free(); the users are
 * borrowed. O(n log n) */
struct acl_user **acl_sorted(const struct acl *acl);

/* The words of ACL SETUSER, in which each "( ... )" is one word. */
struct acl_words {
    struct bytes *at; /* borrowed from the words given, or in `text` */
    size_t count;
    char *text;
};
/* Copies the given words. Joins the words of a selector to one: from a word that begins with '(' to
 * the next word that ends with ')'. Returns `count`, or the index of the word with '(' if no ')'
 * follows. The caller must drop `words` in both cases. */
size_t acl_words_join(struct acl_words *words, const struct bytes *given, size_t count);
void acl_words_drop(struct acl_words *words);

/* Creates or changes a user as ACL SETUSER does. Applies all words, or none if one is refused;
 * *refused is then that word. The new permissions apply to the user's sessions at once. */
enum acl_fault acl_set_user(struct acl *acl, struct bytes name, const struct acl_words *words,
                            struct bytes *refused);
/* Deletes the user; returns false if there is none. The user's sessions keep the struct, now with
 * `is_deleted`, until the caller closes them or calls acl_log_out for them. Not allowed for the
 * default user. */
bool acl_delete_user(struct acl *acl, struct bytes name);
/* Makes `password`, the new requirepass, the only password of the default user. If it is "", the
 * default user needs no password. */
void acl_set_requirepass(struct acl *acl, const char *password);

/* ---- several users at once: files and options (acl_file.c) ---- */

void acl_users_init(struct acl_users *users);
void acl_users_drop(struct acl_users *users);
/* Add users to an empty table: from the text of the ACL file `name`, or from the lines of the
 * option `user`. Append each error to `faults` as a sentence. If there are any errors, the table
 * must not be used. */
void acl_read_file(const struct acl *acl, struct bytes text, const char *name,
                   struct acl_users *users, struct outbuf *faults);
void acl_read_options(const struct acl *acl, const char *lines, struct acl_users *users,
                      struct outbuf *faults);
/* Replaces the users of the server with those of the table, and empties the table. Sessions of a
 * user that is in both keep it, with its new permissions. A user that is not in the table is
 * deleted, as by acl_delete_user. A missing default user is made from requirepass. */
void acl_adopt(struct acl *acl, struct acl_users *users);
/* Call at the start: reads the users from `aclfile` or the option `user`; it is an error to set
 * both. On failure returns false with all errors in `why`. */
bool acl_start(struct acl *acl, struct outbuf *why);
/* Implement ACL LOAD and SAVE. On failure, return false with the reply in `why`. */
bool acl_load(struct acl *acl, struct outbuf *why);
bool acl_save(const struct acl *acl, struct outbuf *why);
/* Returns the users as lines of the option `user`, whose value they become after the start and at
 * CONFIG REWRITE; free() the result. Returns "" if the ACL file or requirepass alone defines the
 * users. */
char *acl_option_lines(const struct acl *acl);
/* Does requirepass define the default user? No if the option `user` has a line for it or, with an
 * ACL file, if the user is not exactly as requirepass alone would make it. */
bool acl_uses_requirepass(const struct acl *acl);

/* ---- sessions ---- */

/* Gives a new session, or one after RESET, the default user. The session is authenticated unless
 * acl_wants_password. */
void acl_begin_session(struct acl *acl, struct session *session);
/* Takes the user from a session that ends. */
void acl_end_session(struct session *session);
/* Gives the session this user, authenticated. Returns false, and leaves the session's user, if the
 * password is wrong, or the user does not exist or is off. */
bool acl_log_in(struct acl *acl, struct session *session, struct bytes name, struct bytes password);
/* Gives the session this user, authenticated, without a password, for a peer that was authenticated
 * by other means, such as a certificate. Returns false, and leaves the session's user, if the user
 * does not exist or is off. */
bool acl_log_in_by_name(struct acl *acl, struct session *session, struct bytes name);
/* For a session whose user was deleted: makes it an unauthenticated session of the default user. */
void acl_log_out(struct acl *acl, struct session *session);
/* Must new sessions log in, because the default user needs a password or is off? */
static inline bool acl_wants_password(const struct acl *acl)
{
    return !acl->main_user->nopass || !acl->main_user->on;
}
