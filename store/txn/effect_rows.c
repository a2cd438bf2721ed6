/* effect_rows: the table of effect_row.h. The command of an effect is, in this order of preference,
 *
 *     1    a command of Redis 7.0 that has exactly the effect's meaning
 *     2    a command of this server (OWN)
 *     3    a name that begins with X., which only replay accepts
 *
 * Unlike the client's command, ZADD here removes the deadline of a member; ZADDEX is for a member
 * with a deadline.
 *
 * These commands are in files and on replicas. To change one, add a row with a new name, and keep
 * the old row for reading. Never change the meaning of a name. A reader refuses a file with an
 * unknown name, so the versions of the journal and the snapshot stay unchanged.
 *
 * Journals write some effects in a brief form (store/brief.h). A new field of one of these needs a
 * condition in effect_brief_print (server/disk/effect), and one of SET or EXPIRE also where its
 * mutator calls brief_append, or journals lose the field. */
#include "store/tokens.h"
#include "store/txn/apply.h"
#include "store/txn/effect_row.h"
#include "store/type/stream/stream_repeats.h"

#define FIELD(field)                                                                               \
    .size = sizeof(((struct effect *)NULL)->field), .offset = offsetof(struct effect, field)
#define OF_TYPE(type_, ...)                                                                        \
    {                                                                                              \
        .type = WORD_##type_, __VA_ARGS__                                                          \
    }

#define WORD(literal) OF_TYPE(LITERAL, .len = sizeof(literal) - 1, .text = (literal))
#define TEXT(field)   OF_TYPE(TEXT, FIELD(field))
#define SCORE(field)  OF_TYPE(SCORE, FIELD(field))
#define ID(field)     OF_TYPE(ID, FIELD(field))
#define ZERO_OR_ONE(field, zero, one)                                                              \
    OF_TYPE(CHOICE, FIELD(field), .len = sizeof(zero) - 1, .other_len = sizeof(one) - 1,           \
            .text = (zero), .other = (one))

#define NUMBER(field, from, to) OF_TYPE(NUMBER, FIELD(field), .least = (from), .most = (to))
#define ANY(field)              NUMBER(field, INT64_MIN, INT64_MAX)
#define COUNT(field)            NUMBER(field, 0, INT64_MAX)
#define DATABASE(field)         NUMBER(field, 0, INT32_MAX)
#define INSTANT(field)          NUMBER(field, INSTANT_MIN, INSTANT_MAX)
#define IMPLIED(field, number)  OF_TYPE(IMPLIED, FIELD(field), .least = (number))

#define KEY      TEXT(key)
#define A        TEXT(a)
#define B        TEXT(b)
#define RANGE    OF_TYPE(FIRST, FIELD(from)), OF_TYPE(LAST, FIELD(to))
#define PXAT     WORD("PXAT"), INSTANT(at)
#define DEADLINE OF_TYPE(DEADLINE)
#define TEXTS    OF_TYPE(TEXTS)
#define POLICY   OF_TYPE(POLICY)
#define CODE     OF_TYPE(CODE)
#define BLOCK    OF_TYPE(BLOCK)
#define STAGE                                                                                      \
    INSTANT(stage.at), NUMBER(stage.deliveries, 0, UINT32_MAX), OF_TYPE(CLAIM, FIELD(stage))
#define PUSH_OPTIONS INSTANT(from), COUNT(to), COUNT(at), INSTANT(stage.at)
#define READ         WORD("ENTRIESREAD"), NUMBER(position.read, GROUP_READ_UNKNOWN, INT64_MAX)

#define LIST(...) ((const struct word[]){ __VA_ARGS__ })
#define WORDS(...)                                                                                 \
    {                                                                                              \
        LIST(__VA_ARGS__), sizeof(LIST(__VA_ARGS__)) / sizeof(struct word)                         \
    }
#define FORM(command, ...) .form = { .name = LIT(command), __VA_ARGS__ }
#define OTHER(when, command, ...)                                                                  \
    .has_other = (when), .other = { .name = LIT(command), .own = true, __VA_ARGS__ }
#define HEAD(...)  .head = WORDS(__VA_ARGS__)
#define EACH(...)  .element = WORDS(__VA_ARGS__)
#define TAIL(...)  .tail = WORDS(__VA_ARGS__)
#define MANY(name) .many = LIT(name)
#define MEMBERS    .counts = LIT("MEMBERS")
#define FIELDS     .counts = LIT("FIELDS")
#define OWN        .own = true

static bool has_deadline(const struct effect *effect)
{
    return effect->at != NEVER;
}

static bool has_no_deadline(const struct effect *effect)
{
    return effect->at == NEVER;
}

static bool has_no_pivot(const struct effect *effect)
{
    return effect->to < 0;
}

static bool was_delivered(const struct effect *effect)
{
    return effect->stage.claimed || effect->stage.deliveries > 0;
}

static bool is_nobodys(const struct effect *effect)
{
    return effect->b.data == NULL;
}

#define ROW(kind)       [EFFECT_##kind]
#define OPTIONAL(of)    .key = KEY_OPTIONAL, .type = TYPE_##of
#define EXISTS(of)      .key = KEY_EXISTS, .type = TYPE_##of
#define CREATED(of)     .key = KEY_CREATED, .type = TYPE_##of
#define IN_ANY_DATABASE .any_database = true
#define MEMBER          .names_member = true
#define SERVES          .may_serve = true
#define IN_PAYLOAD      .in_payload = true
#define EXPIRED_BY(of)  .expire = EFFECT_##of

const struct effect_row effect_rows[EFFECT_KINDS] = {
    ROW(NONE) = { apply_nothing, .seen = UNSEEN, FORM("SELECT", HEAD(DATABASE(db))) },

    /* strings */
    ROW(SET) = { apply_set, IN_PAYLOAD, FORM("SET", HEAD(KEY, A, DEADLINE)) },
    ROW(SOFT) = { apply_soft, EXISTS(STRING), IN_PAYLOAD,
                  FORM("X.SOFT", HEAD(KEY, INSTANT(at)), OWN) },
    ROW(APPEND) = { apply_append, EXISTS(STRING), FORM("APPEND", HEAD(KEY, A)) },
    ROW(WRITE) = { apply_write, OPTIONAL(STRING), FORM("SETRANGE", HEAD(KEY, ANY(from), A)) },

    /* keys and databases */
    ROW(DROP) = { apply_drop, OPTIONAL(ANY), FORM("DEL", EACH(KEY)) },
    ROW(EXPIRE) = { apply_expire, EXISTS(ANY), FORM("PEXPIREAT", HEAD(KEY, INSTANT(at))) },
    ROW(PERSIST) = { apply_persist, EXISTS(ANY), FORM("PERSIST", HEAD(KEY)) },
    ROW(RENAME) = { apply_rename, EXISTS(ANY), FORM("RENAME", HEAD(KEY, A)) },
    ROW(COPY) = { apply_copy, EXISTS(ANY),
                  FORM("COPY", HEAD(KEY, A, WORD("DB"), DATABASE(to), WORD("REPLACE"))) },
    ROW(MOVE) = { apply_move, EXISTS(ANY), FORM("MOVE", HEAD(KEY, DATABASE(to))) },
    ROW(SWAP) = { apply_swap, IN_ANY_DATABASE, FORM("SWAPDB", HEAD(DATABASE(db), DATABASE(to))) },
    ROW(FLUSH) = { apply_flush, FORM("FLUSHDB") },

    /* lists */
    ROW(PUSH_HEAD) = { apply_push, CREATED(LIST), SERVES, FORM("LPUSH", HEAD(KEY), EACH(A)) },
    ROW(PUSH_TAIL) = { apply_push, CREATED(LIST), SERVES, FORM("RPUSH", HEAD(KEY), EACH(A)) },
    ROW(POP_HEAD) = { apply_pop, EXISTS(LIST), FORM("LPOP", HEAD(KEY, ANY(from))) },
    ROW(POP_TAIL) = { apply_pop, EXISTS(LIST), FORM("RPOP", HEAD(KEY, ANY(from))) },
    ROW(KEEP) = { apply_keep, EXISTS(LIST), FORM("LTRIM", HEAD(KEY, RANGE)) },
    ROW(LIST_PUT) = { apply_list_put, EXISTS(LIST), FORM("LSET", HEAD(KEY, ANY(from), A)) },
    ROW(LIST_INSERT) = { apply_list_insert, EXISTS(LIST), SERVES,
                         FORM("LINSERT", HEAD(KEY, ZERO_OR_ONE(to, "BEFORE", "AFTER"), B, A)),
                         OTHER(has_no_pivot, "X.LINSERT",
                               HEAD(KEY, ANY(from), A, IMPLIED(to, -1))) },
    ROW(LIST_DROP) = { apply_list_drop, EXISTS(LIST), FORM("LREM", HEAD(KEY, ANY(from), A)) },

    /* sets */
    ROW(SET_ADD) = { apply_set_add, CREATED(SET), MEMBER, IN_PAYLOAD, EXPIRED_BY(SET_EXPIRE),
                     FORM("SADD", HEAD(KEY), EACH(A)),
                     OTHER(has_deadline, "SADDEX", HEAD(KEY, PXAT), MEMBERS, EACH(A)) },
    ROW(SET_EXPIRE) = { apply_member_expire, EXISTS(SET), MEMBER,
                        FORM("SPEXPIREAT", HEAD(KEY, INSTANT(at)), MEMBERS, EACH(A), OWN),
                        OTHER(has_no_deadline, "SPERSIST", HEAD(KEY), MEMBERS, EACH(A)) },
    ROW(SET_DROP) = { apply_set_drop, EXISTS(SET), MEMBER, FORM("SREM", HEAD(KEY), EACH(A)) },

    /* hashes */
    ROW(HASH_PUT) = { apply_hash_put, CREATED(HASH), MEMBER, IN_PAYLOAD, EXPIRED_BY(HASH_EXPIRE),
                      FORM("HSET", HEAD(KEY), EACH(A, B)),
                      OTHER(has_deadline, "HSETEX", HEAD(KEY, PXAT), FIELDS, EACH(A, B)) },
    ROW(HASH_EXPIRE) = { apply_member_expire, EXISTS(HASH), MEMBER,
                         FORM("HPEXPIREAT", HEAD(KEY, INSTANT(at)), FIELDS, EACH(A), OWN),
                         OTHER(has_no_deadline, "HPERSIST", HEAD(KEY), FIELDS, EACH(A)) },
    ROW(HASH_DROP) = { apply_hash_drop, EXISTS(HASH), MEMBER, FORM("HDEL", HEAD(KEY), EACH(A)) },

    /* sorted sets */
    ROW(ZSET_PUT) = { apply_zset_put, CREATED(ZSET), SERVES, MEMBER, IN_PAYLOAD,
                      EXPIRED_BY(ZSET_EXPIRE), FORM("ZADD", HEAD(KEY), EACH(SCORE(score), A)),
                      OTHER(has_deadline, "ZADDEX", HEAD(KEY, PXAT), EACH(SCORE(score), A)) },
    ROW(ZSET_EXPIRE) = { apply_member_expire, EXISTS(ZSET), MEMBER,
                         FORM("ZPEXPIREAT", HEAD(KEY, INSTANT(at)), MEMBERS, EACH(A), OWN),
                         OTHER(has_no_deadline, "ZPERSIST", HEAD(KEY), MEMBERS, EACH(A)) },
    ROW(ZSET_DROP) = { apply_zset_drop, EXISTS(ZSET), MEMBER, FORM("ZREM", HEAD(KEY), EACH(A)) },
    ROW(ZSET_CUT) = { apply_zset_cut, EXISTS(ZSET), FORM("ZREMRANGEBYRANK", HEAD(KEY, RANGE)) },

    /* dehydrators */
    ROW(REDE_PUSH) = { apply_rede_push, CREATED(DEHYDRATOR), SERVES, IN_PAYLOAD,
                       FORM("REDE.PUSHAT", MANY("X.REDE.PUSHAT"), HEAD(KEY),
                            EACH(INSTANT(stage.at), B, A), OWN),
                       OTHER(was_delivered, "X.REDE.PUSH", HEAD(KEY, STAGE), EACH(B, A)) },
    ROW(REDE_PUT) = { apply_rede_put, EXISTS(DEHYDRATOR),
                      FORM("REDE.UPDATE", HEAD(KEY, A, B), OWN) },
    ROW(REDE_MOVE) = { apply_rede_move, EXISTS(DEHYDRATOR), SERVES,
                       FORM("X.REDE.MOVE", HEAD(KEY, STAGE), EACH(A), OWN) },
    ROW(REDE_DROP) = { apply_rede_drop, EXISTS(DEHYDRATOR),
                       FORM("REDE.PULL", MANY("X.REDE.PULL"), HEAD(KEY), EACH(A), OWN) },
    ROW(REDE_OPTIONS) = { apply_rede_options, EXISTS(DEHYDRATOR), IN_PAYLOAD,
                          FORM("X.REDE.OPTIONS", HEAD(KEY, PUSH_OPTIONS), EACH(A), OWN) },
    ROW(REDE_FOLLOW) = { apply_rede_follow, EXISTS(DEHYDRATOR), IN_PAYLOAD,
                         FORM("X.REDE.FOLLOW", HEAD(KEY, PUSH_OPTIONS), EACH(B, A), OWN) },
    ROW(REDE_CRON) = { apply_rede_cron, EXISTS(DEHYDRATOR), IN_PAYLOAD,
                       FORM("X.REDE.CRON", HEAD(KEY, NUMBER(from, 0, 1), INSTANT(stage.at), B),
                            EACH(A), OWN) },
    ROW(REDE_UNFOLLOW) = { apply_rede_unfollow, EXISTS(DEHYDRATOR),
                           FORM("X.REDE.UNFOLLOW", HEAD(KEY), EACH(A), OWN) },
    ROW(REDE_REMEMBER) = { apply_rede_remember, CREATED(DEHYDRATOR), IN_PAYLOAD,
                           FORM("X.REDE.REMEMBER", HEAD(KEY, INSTANT(at)), EACH(A), OWN) },
    ROW(REDE_FORGET) = { apply_rede_forget, EXISTS(DEHYDRATOR),
                         FORM("X.REDE.FORGET", HEAD(KEY), EACH(A), OWN) },
    ROW(REDE_RATE) = { apply_rede_rate, CREATED(DEHYDRATOR), IN_PAYLOAD,
                       FORM("X.REDE.RATE", HEAD(KEY, NUMBER(from, 0, INT64_MAX)), OWN) },
    ROW(REDE_PAUSE) = { apply_rede_pause, CREATED(DEHYDRATOR), SERVES, IN_PAYLOAD,
                        FORM("X.REDE.PAUSE", HEAD(KEY, INSTANT(at)), OWN) },

    /* streams */
    ROW(STREAM_ADD) = { apply_stream_add, OPTIONAL(STREAM), SERVES, IN_PAYLOAD,
                        FORM("XADD", HEAD(KEY, ID(id), TEXTS)) },
    ROW(STREAM_BLOCK) = { apply_stream_block, OPTIONAL(STREAM), SERVES,
                          FORM("X.XBLOCK",
                               HEAD(KEY, ID(id), NUMBER(marks.added, 1, STREAM_PACKED_MAX), A,
                                    BLOCK),
                               OWN) },
    ROW(STREAM_DROP) = { apply_stream_drop, EXISTS(STREAM), FORM("XDEL", HEAD(KEY), EACH(ID(id))) },
    ROW(STREAM_TRIM) = { apply_stream_trim, EXISTS(STREAM), IN_PAYLOAD,
                         FORM("XTRIM", HEAD(KEY, WORD("MINID"), WORD("="), ID(id))) },
    ROW(STREAM_MARKS) = { apply_stream_marks, EXISTS(STREAM), IN_PAYLOAD, .seen = UNSEEN,
                          FORM("XSETID",
                               HEAD(KEY, ID(marks.last), WORD("ENTRIESADDED"), COUNT(marks.added),
                                    WORD("MAXDELETEDID"), ID(marks.max_deleted))) },
    ROW(STREAM_RETAIN) = { apply_stream_retain, EXISTS(STREAM), .seen = UNSEEN,
                           FORM("X.XRETAIN", HEAD(KEY, INSTANT(at)), OWN) },
    ROW(GROUP_ADD) = { apply_group_add, OPTIONAL(STREAM), IN_PAYLOAD, .seen = SEEN_IF_NEW,
                       FORM("XGROUP", HEAD(WORD("CREATE"), KEY, A, ID(position.last),
                                           WORD("MKSTREAM"), READ)) },
    ROW(GROUP_SET) = { apply_group_set, EXISTS(STREAM), .seen = UNSEEN,
                       FORM("XGROUP", HEAD(WORD("SETID"), KEY, A, ID(position.last), READ)) },
    ROW(GROUP_DROP) = { apply_group_drop, EXISTS(STREAM), SERVES, .seen = UNSEEN,
                        FORM("XGROUP", HEAD(WORD("DESTROY"), KEY, A)) },
    ROW(CONSUMER_ADD) = { apply_consumer_add, EXISTS(STREAM), IN_PAYLOAD, .seen = UNSEEN,
                          FORM("XGROUP", HEAD(WORD("CREATECONSUMER"), KEY, A, B)) },
    ROW(CONSUMER_DROP) = { apply_consumer_drop, EXISTS(STREAM), .seen = UNSEEN,
                           FORM("XGROUP", HEAD(WORD("DELCONSUMER"), KEY, A, B)) },
    ROW(PENDING_PUT) = { apply_pending_put, EXISTS(STREAM), IN_PAYLOAD, .seen = UNSEEN,
                         FORM("XCLAIM", HEAD(KEY, A, B, WORD("0")), EACH(ID(id)),
                              TAIL(WORD("TIME"), INSTANT(at), WORD("RETRYCOUNT"), COUNT(to),
                                   WORD("FORCE"), WORD("JUSTID"))),
                         OTHER(is_nobodys, "X.XNACK", HEAD(KEY, A, INSTANT(at), COUNT(to)),
                               EACH(ID(id))) },
    ROW(PENDING_DROP) = { apply_pending_drop, EXISTS(STREAM), .seen = UNSEEN,
                          FORM("XACK", HEAD(KEY, A), EACH(ID(id))) },

    ROW(REPEAT_LIMITS) = { apply_repeat_limits, EXISTS(STREAM), IN_PAYLOAD, .seen = UNSEEN,
                           FORM("XCFGSET",
                                HEAD(KEY, WORD("IDMP-DURATION"),
                                     NUMBER(from, 1, REPEAT_SECONDS_MAX), WORD("IDMP-MAXSIZE"),
                                     NUMBER(to, 1, REPEAT_TEXTS_MAX)),
                                OWN) },
    ROW(REPEAT_PUT) = { apply_repeat_put, EXISTS(STREAM), IN_PAYLOAD, .seen = UNSEEN,
                        FORM("XIDMPRECORD", HEAD(KEY, A, B, ID(id)), OWN) },
    ROW(REPEAT_COUNTS) = { apply_repeat_counts, EXISTS(STREAM), IN_PAYLOAD, .seen = UNSEEN,
                           FORM("X.XIDMPCOUNTS", HEAD(KEY, COUNT(from), COUNT(to)), OWN) },

    /* leases */
    ROW(LEASE_TAKE) = { apply_lease_take, CREATED(LEASE), MEMBER, IN_PAYLOAD,
                        FORM("X.LEASE.TAKE",
                             HEAD(KEY, A, NUMBER(from, 1, TOKEN_MAX), INSTANT(at),
                                  NUMBER(to, 1, LEASE_PERMITS_MAX)),
                             OWN) },
    ROW(LEASE_EXTEND) = { apply_member_expire, EXISTS(LEASE), MEMBER,
                          FORM("X.LEASE.EXTEND", HEAD(KEY, A, INSTANT(at)), OWN) },
    ROW(LEASE_DROP) = { apply_lease_drop, EXISTS(LEASE), SERVES, MEMBER,
                        FORM("X.LEASE.DROP", HEAD(KEY), EACH(A), OWN) },

    /* policies, libraries and tokens */
    ROW(POLICY_SET) = { apply_policy_set, .seen = UNSEEN, IN_ANY_DATABASE,
                        FORM("POLICY", HEAD(WORD("SET"), KEY, POLICY), OWN) },
    ROW(POLICY_DROP) = { apply_policy_drop, .seen = UNSEEN, IN_ANY_DATABASE,
                         FORM("POLICY", HEAD(WORD("DEL"), KEY), OWN) },
    ROW(LIBRARY_SET) = { apply_library_set, .seen = UNSEEN, IN_ANY_DATABASE,
                         FORM("FUNCTION", HEAD(WORD("LOAD"), WORD("REPLACE"), CODE)) },
    ROW(LIBRARY_DROP) = { apply_library_drop, .seen = UNSEEN, IN_ANY_DATABASE,
                          FORM("FUNCTION", HEAD(WORD("DELETE"), KEY)) },
    ROW(TOKEN) = { apply_token, .seen = UNSEEN, IN_ANY_DATABASE,
                   FORM("X.TOKEN",
                        HEAD(NUMBER(from, 1, TOKEN_MAX), ZERO_OR_ONE(to, "OPEN", "CLOSED")), OWN) },
};
