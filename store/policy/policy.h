/* policy: one policy: the TTL, length limit and other rules for all keys with a prefix.
 * txn/txn_policy.c applies policies to keys.
 *
 * Folder store/policy: rules by prefix. Start here.
 *
 *     policy            one policy
 *     policies          the table that finds the policy of a key
 *     policy_rows       a row for each option
 *     policy_words      the words of POLICY SET, and those of files
 *     policy_options    computes deadlines and rates from the options
 *
 * store/policy_progress.h records how far a new policy has been applied to existing keys.
 *
 * May use: store/base store/mem. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/base/random.h"

/* The options, each with the words that follow its name, in the order of replies and of files. To
 * add an option, write a line here, fields of struct policy, a row of policy_rows.c, and the code
 * that obeys the fields. Never move or rename an option, because files of older versions must stay
 * readable. */
#define POLICY_OPTION_LIST(X)                                                                      \
    X(TTL, " duration")                                                                            \
    X(MAXTTL, " duration")                                                                         \
    X(JITTER, " percent")                                                                          \
    X(REFRESH, " <NEVER | WRITE | ACCESS>")                                                        \
    X(MEMBERTTL, " duration")                                                                      \
    X(MAXLEN, " count")                                                                            \
    X(KEEP, " <HIGH | LOW>")                                                                       \
    X(RETAIN, " duration")                                                                         \
    X(MAXDELIVERIES, " count TO dead-key")                                                         \
    X(BACKOFF, " first-delay max-delay [JITTER percent]")                                          \
    X(RATE, " count PER duration")                                                                 \
    X(CLAIMED, " count")                                                                           \
    X(FAIR, "")                                                                                    \
    X(EXPIRED, " TO log-key [VALUE [MAX bytes]]")

#define POLICY_OPTION_NUMBER(name, syntax) POLICY_##name,
enum policy_option { POLICY_OPTION_LIST(POLICY_OPTION_NUMBER) POLICY_OPTIONS };

enum policy_refresh { REFRESH_NEVER, REFRESH_WRITE, REFRESH_ACCESS };

/* A policy. A span of 0 means that the policy lacks that rule. The names of targets (dead_to,
 * expired_to) are owned by the table that the policy is in; any other struct policy borrows
 * them. */
struct policy {
    msec ttl, max_ttl, member_ttl;
    msec retain;      /* how long a stream keeps its entries */
    uint64_t max_len; /* members, elements or entries, or 0 for no limit */
    /* An entry of a stream (for each group) or an element of a dehydrator moves to dead_to after
     * this many deliveries; 0 for no limit. */
    uint64_t max_deliveries;
    struct bytes dead_to;      /* the target: a stream, or for elements also a dehydrator */
    msec backoff, backoff_max; /* delay after an element's first failure, and the longest delay */
    unsigned backoff_jitter;   /* percent, 0 to 100 */
    uint64_t rate;             /* at most this many deliveries of a dehydrator ... */
    msec rate_span;            /* ... in any such span, or 0 for no limit */
    uint64_t max_claimed;      /* elements of a dehydrator at once, or 0 for no limit */
    bool fair;                 /* keep the index of the prefix (store/fair.h) */
    struct bytes expired_to;   /* the log of expired keys, a stream or dehydrator; an empty name for
                                * none */
    uint64_t value_max;        /* a longer value is not logged */
    bool log_value;            /* write the value to the log too */
    enum policy_refresh refresh;
    unsigned jitter; /* percent, 0 to 100 */
    bool keep_low;   /* max_len on a sorted set removes the highest scores, not the lowest */
    bool pending;    /* not yet applied to all keys that existed when it was set (policy_walk.h) */
    struct policy_stats *stats; /* counts of a policy in a table; otherwise NULL */
};

enum {
    POLICY_NAME_MAX = 16384,      /* bytes in a name, or in that of a target */
    POLICY_VALUE_MAX = 64 * 1024, /* value_max by default */
    POLICY_RATE_MAX = 1000000,    /* deliveries in a span */
};
/* The longest spans: now + span, and the microseconds of a rate's span, do not overflow. */
#define POLICY_SPAN_MAX      (INT64_MAX / 2)
#define POLICY_RATE_SPAN_MAX (366LL * 86400000)

/* Is it non-empty, at most POLICY_NAME_MAX bytes, with '*' only as its last byte? */
bool policy_name_ok(struct bytes name);
/* Are the options equal? Ignores `pending`. */
bool policy_equal(const struct policy *a, const struct policy *b);
/* Must existing keys be changed when `policy` replaces `old`, or is new (`old` is NULL)? */
bool policy_changes_keys(const struct policy *policy, const struct policy *old);
/* Returns now + span, varied at random by the policy's jitter; always in the future. */
msec policy_spread(const struct policy *policy, msec span, msec now, struct random *random);
/* How a call has used a key whose policy is applied. */
struct policy_use {
    msec now, at;    /* the time, and the key's deadline or NEVER */
    bool created;    /* the call created the key or replaced its value */
    bool expiry_set; /* the command set or removed the deadline, so TTL does not apply */
    bool refreshed;  /* the call is an access for which REFRESH resets the TTL */
};
/* Returns the deadline of a key to which the rule TTL applies:
 *
 *     the command set or removed the deadline       that deadline
 *     created by this call, without a deadline      now + TTL
 *     created by this call, with a deadline         that deadline, for example of the key that was
 *                                                   copied or renamed
 *     existing, with a deadline, REFRESH applies    now + TTL, if that is later
 *     otherwise                                     unchanged */
msec policy_ttl_deadline(const struct policy *policy, const struct policy_use *use,
                         struct random *random);
/* Returns the earlier of the deadline and now + MAXTTL; without MAXTTL the deadline. */
msec policy_limit(const struct policy *policy, msec at, msec now);
/* Returns the delay before an element that failed this often is due again: backoff * 2^(failures -
 * 1), varied at random by the jitter, at most backoff_max. 0 if it never failed, or without
 * BACKOFF. */
msec policy_backoff(const struct policy *policy, uint64_t failures, struct random *random);

/* Returns how many deliveries a policy with RATE allows in the millisecond `now`. *next is the
 * earliest microsecond of the next delivery (0 before the first one), and becomes that of the first
 * delivery allowed.
 *
 * The rate is enforced by the generic cell rate algorithm (GCRA, ITU-T I.371) without bursts:
 * deliveries are at least rate_span / rate apart, rounded up to microseconds. A delivery scheduled
 * for any microsecond of a millisecond may take place anywhere in that millisecond. No span of
 * rate_span milliseconds thus contains more than `rate` deliveries.
 *
 * If *next is further ahead than one delivery can put it, the clock was set back or the rate was
 * raised. The next delivery may then take place now. */
uint64_t policy_rate_allows(const struct policy *policy, int64_t *next, msec now);
/* Returns what *next is after this many deliveries. */
int64_t policy_rate_after(const struct policy *policy, int64_t next, uint64_t deliveries);
