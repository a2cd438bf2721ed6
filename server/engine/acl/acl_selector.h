/* acl_selector: one set of permissions for commands, keys and channels. A user has one or more
 * selectors, and may make a call only if a single one of them allows all of it.
 *
 * Applies the words of ACL SETUSER that concern commands, keys or channels. Depends on the command
 * table; knows neither users nor sessions. */
#pragma once

#include "server/cmd/call/command.h"
#include "server/engine/acl/acl_rules.h"
#include "store/mem/outbuf.h"

enum { ACL_IDS_MAX = 1024 }; /* ids of commands are below this */

enum { ACL_READ = 1, ACL_WRITE = 2, ACL_READ_WRITE = ACL_READ | ACL_WRITE };

/* Why a word is refused. */
enum acl_fault {
    ACL_NO_FAULT,
    ACL_SYNTAX,
    ACL_UNKNOWN, /* no such command or category */
    ACL_HAS_ALL_KEYS,
    ACL_HAS_ALL_CHANNELS,
    ACL_FIRST_OF_SUBCOMMAND,
    ACL_NO_SUCH_PASSWORD,
    ACL_BAD_HASH,
    ACL_TWO_USERS,
};
const char *acl_fault_text(enum acl_fault fault); /* in Redis' words */

struct acl_selector {
    bool all_commands; /* no command was forbidden since +@all */
    bool all_keys, all_channels;
    uint64_t allowed[ACL_IDS_MAX / 64]; /* a bit for each command and subcommand, by id */
    struct acl_rules rules;             /* the words about commands */
    struct acl_items keys;              /* tag: ACL_READ, ACL_WRITE */
    struct acl_items channels;
};

/* The ids of all commands must be below ACL_IDS_MAX. */
void acl_selector_init(struct acl_selector *selector, bool all_channels);
void acl_selector_drop(struct acl_selector *selector);
struct acl_selector acl_selector_copy(const struct acl_selector *selector);
/* Makes the selector as acl_selector_init does: no keys, no commands, and all channels or none. */
void acl_selector_reset(struct acl_selector *selector, bool all_channels);

/* Applies a word of ACL SETUSER about commands, keys or channels (doc/acl.md). An invalid word
 * changes nothing, and its fault is returned. */
enum acl_fault acl_selector_apply(struct acl_selector *selector, const struct commands *commands,
                                  struct bytes word);
/* Applies a word about commands: +get -get +@read +config|get +select|0 +@all -@all. */
enum acl_fault acl_commands_apply(struct acl_selector *selector, const struct commands *commands,
                                  struct bytes word);
/* Allows all commands, or none, and replaces the rules about commands by this one. */
void acl_commands_set_all(struct acl_selector *selector, bool allow);

/* Append the words that would make this selector from a new one: "~a* %R~b &ch* -@all +get".
 * `resets` puts "resetchannels" before the channels, because acl-pubsub-default may give a new user
 * all of them. */
void acl_selector_describe_keys(const struct acl_selector *selector, struct outbuf *to);
void acl_selector_describe_channels(const struct acl_selector *selector, bool resets,
                                    struct outbuf *to);
void acl_selector_describe_commands(const struct acl_selector *selector, struct outbuf *to);
void acl_selector_describe(const struct acl_selector *selector, struct outbuf *to);

static inline bool acl_selector_has_id(const struct acl_selector *selector, unsigned id)
{
    return selector->allowed[id / 64] >> id % 64 & 1;
}

/* Does the text contain white space or a zero byte, which would not survive in a file? */
bool acl_has_spaces(struct bytes text);
