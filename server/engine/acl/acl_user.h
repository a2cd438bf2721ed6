/* acl_user: one user, with a name, passwords, flags and selectors. Only the SHA-256 of a password
 * is stored, and it is compared in constant time. Depends on acl_selector and libcrypto; knows no
 * sessions. */
#pragma once

#include "server/cmd/call/call.h"
#include "server/engine/acl/acl_selector.h"

/* Whether RESTORE should check payloads. Here it always does: the words are accepted and listed. */
enum acl_payload { ACL_PAYLOAD_UNSET, ACL_PAYLOAD_CHECK, ACL_PAYLOAD_TRUST };

struct acl_user {
    /* A selector allows everything, so no call needs a check. Tested for each call. */
    bool unrestricted;
    bool on, nopass;
    bool is_deleted; /* only sessions refer to it */
    enum acl_payload payload;
    unsigned references; /* held by the set of users and by this user's sessions */
    struct blob *name;
    struct acl_items hashes;        /* SHA-256 hashes of passwords */
    struct acl_selector *selectors; /* words outside of (...) change the first one */
    size_t selector_count;
    bool has_full_selector; /* a selector after the first allows everything */
};

/* Makes a user that can do nothing: off, without a password. It has one reference. */
struct acl_user *acl_user_new(struct bytes name, bool all_channels);
/* Lets the user do everything without a password, like the initial default user. */
void acl_user_open(struct acl_user *user);
struct acl_user *acl_user_copy(const struct acl_user *user); /* with one reference */
/* Exchanges everything except name, references and is_deleted, so that a changed copy takes effect
 * for all sessions of the user at once. */
void acl_user_swap(struct acl_user *a, struct acl_user *b);
/* Count references. The last release frees the user; releasing NULL does nothing. */
struct acl_user *acl_user_retain(struct acl_user *user);
void acl_user_release(struct acl_user *user);

/* State of the server that rules depend on. */
struct acl_context {
    const struct commands *commands;
    bool all_channels; /* new selectors may use all channels (acl-pubsub-default) */
};
/* Applies one word of ACL SETUSER, or one selector "(...)" (doc/acl.md). An invalid word changes
 * nothing. */
enum acl_fault acl_user_apply(struct acl_user *user, const struct acl_context *context,
                              struct bytes word);

/* Is the user on, and does it have this password or need none (nopass)? */
bool acl_user_admits(const struct acl_user *user, struct bytes password);

/* Appends the rules that make the same user: "user a on #... ~a* resetchannels -@all +get". */
void acl_user_describe(const struct acl_user *user, struct outbuf *to);
/* Its flags as words: "on", "nopass" ...; returns their number. */
size_t acl_user_flags(const struct acl_user *user, const char *words[3]);

/* ---- checks (acl_check.c) ---- */

/* If every selector refuses a call, the reply reports the greatest verdict. */
enum acl_verdict { ACL_ALLOWED, ACL_NO_COMMAND, ACL_NO_KEY, ACL_NO_CHANNEL };

/* May the user make this call? If not, sets *at to the index of the refused argument. A call with a
 * wrong number of arguments never runs, so only the permission for the command is checked. */
enum acl_verdict acl_user_check(const struct acl_user *user, struct command_ref command, int argc,
                                const struct bytes *argv, int *at);
/* Is there a selector that allows the call and also the reading of every key? For commands such as
 * SORT, which read keys that the call does not name. */
bool acl_user_reads_all(const struct acl_user *user, struct command_ref command, int argc,
                        const struct bytes *argv);
/* May the user read every key that begins with this prefix? Asked by CLIENT TRACKING BCAST and,
 * with the prefix "", by the metrics port. */
bool acl_user_reads_prefix(const struct acl_user *user, struct bytes prefix);
/* May the user subscribe to this channel, or to this pattern? */
bool acl_user_may_subscribe(const struct acl_user *user, struct bytes channel, bool is_pattern);
/* Does the user lack a channel rule that `before`, an earlier copy, had? Subscriptions may then
 * have become forbidden. */
bool acl_user_lost_channels(const struct acl_user *user, const struct acl_user *before);
