/* effect_text: converts effects to commands and back, for the journal, snapshots and DUMP. Depends
 * on struct effect and RESP; record.h and snapshot_file.h define the files.
 *
 * On disk a command is a RESP array of bulk strings; times are absolute. Up to EFFECT_RUN_MAX
 * consecutive effects of the same kind, key, database and deadline become one command, in their
 * order, if they differ only in the part in [..], which is repeated. Numbers are decimal, and
 * scores are read back exactly. If Redis 7.0 has a command with exactly the meaning of the effect,
 * that is used; else a command of this server; else a name that begins with X., which only replay
 * accepts.
 *
 *     (another database follows)      SELECT db
 *     EFFECT_SET                      SET key a                     or  SET key a PXAT at
 *     EFFECT_APPEND                   APPEND key a
 *     EFFECT_WRITE                    SETRANGE key from a
 *     EFFECT_DROP                     DEL [key]
 *     EFFECT_EXPIRE                   PEXPIREAT key at
 *     EFFECT_PERSIST                  PERSIST key
 *     EFFECT_RENAME                   RENAME key a
 *     EFFECT_COPY                     COPY key a DB to REPLACE
 *     EFFECT_MOVE                     MOVE key to
 *     EFFECT_SWAP                     SWAPDB db to
 *     EFFECT_FLUSH                    FLUSHDB
 *     EFFECT_PUSH_HEAD                LPUSH key [a]
 *     EFFECT_PUSH_TAIL                RPUSH key [a]
 *     EFFECT_POP_HEAD                 LPOP key from
 *     EFFECT_POP_TAIL                 RPOP key from
 *     EFFECT_KEEP                     LTRIM key from to-1           or, of nothing, LTRIM key 1 0
 *     EFFECT_LIST_PUT                 LSET key from a
 *     EFFECT_LIST_INSERT              LINSERT key BEFORE|AFTER b a
 *       without a pivot               X.LINSERT key from a
 *     EFFECT_LIST_DROP                LREM key from a
 *     EFFECT_SET_ADD                  SADD key [a]
 *       with a deadline               SADDEX key PXAT at MEMBERS n [a]
 *     EFFECT_SET_EXPIRE               SPEXPIREAT key at MEMBERS n [a]
 *       NEVER                         SPERSIST key MEMBERS n [a]
 *     EFFECT_SET_DROP                 SREM key [a]
 *     EFFECT_HASH_PUT                 HSET key [a b]
 *       with a deadline               HSETEX key PXAT at FIELDS n [a b]
 *     EFFECT_HASH_EXPIRE              HPEXPIREAT key at FIELDS n [a]
 *       NEVER                         HPERSIST key FIELDS n [a]
 *     EFFECT_HASH_DROP                HDEL key [a]
 *     EFFECT_ZSET_PUT                 ZADD key [score a]
 *       with a deadline               ZADDEX key PXAT at [score a]
 *     EFFECT_ZSET_EXPIRE              ZPEXPIREAT key at MEMBERS n [a]
 *       NEVER                         ZPERSIST key MEMBERS n [a]
 *     EFFECT_ZSET_DROP                ZREM key [a]
 *     EFFECT_ZSET_CUT                 ZREMRANGEBYRANK key from to-1
 *     EFFECT_REDE_PUSH                REDE.PUSHAT key at b a        or  X.REDE.PUSHAT key [at b a]
 *       claimed or delivered before   X.REDE.PUSH key at deliveries WAITING|CLAIMED [b a]
 *     EFFECT_REDE_PUT                 REDE.UPDATE key a b
 *     EFFECT_REDE_MOVE                X.REDE.MOVE key at deliveries WAITING|CLAIMED [a]
 *     EFFECT_REDE_DROP                REDE.PULL key a               or  X.REDE.PULL key [a]
 *     EFFECT_STREAM_ADD               XADD key id [name value]
 *     EFFECT_STREAM_DROP              XDEL key [id]
 *     EFFECT_STREAM_TRIM              XTRIM key MINID = id
 *     EFFECT_STREAM_MARKS             XSETID key last ENTRIESADDED added MAXDELETEDID max_deleted
 *     EFFECT_STREAM_RETAIN            X.XRETAIN key at
 *     EFFECT_GROUP_ADD                XGROUP CREATE key a last MKSTREAM ENTRIESREAD read
 *     EFFECT_GROUP_SET                XGROUP SETID key a last ENTRIESREAD read
 *     EFFECT_GROUP_DROP               XGROUP DESTROY key a
 *     EFFECT_CONSUMER_ADD             XGROUP CREATECONSUMER key a b
 *     EFFECT_CONSUMER_DROP            XGROUP DELCONSUMER key a b
 *     EFFECT_PENDING_PUT              XCLAIM key a b 0 [id] TIME at RETRYCOUNT to FORCE JUSTID
 *       for nobody                    X.XNACK key a at to [id]
 *     EFFECT_PENDING_DROP             XACK key a [id]
 *     EFFECT_POLICY_SET               POLICY SET key [option value] (PENDING 1: not yet applied to
 *                                     all existing keys)
 *     EFFECT_POLICY_DROP              POLICY DEL key
 *     EFFECT_LIBRARY_SET              FUNCTION LOAD REPLACE a       (a's first line has the name)
 *     EFFECT_LIBRARY_DROP             FUNCTION DELETE key
 *
 * Unlike the client's command, ZADD removes the deadline of a member. ZADDEX is written for a
 * member that has one.
 *
 * To change the commands: add a row with a new name (effect_form.c), and keep the old row for
 * reading. Never change the meaning of a name. A reader refuses a file with an unknown name, so the
 * versions of the journal and the snapshot stay as they are. */
#ifndef SERVER_DISK_EFFECT_EFFECT_TEXT_H
#define SERVER_DISK_EFFECT_EFFECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/effect.h"
#include "store/mem/outbuf.h"

enum {
    EFFECT_RUN_MAX = 64,          /* effects in one command */
    EFFECT_RUN_BYTES = 16 * 1024, /* their bytes; a larger element gets its own command */
    EFFECT_PRINT_MAX = 4096,      /* room for a command of effect_writer_print */
    EFFECT_READER_SLOTS = 128,
};

struct effect_form;

/* Writes into `out`, which it does not own. Collects a run of elements until another effect comes,
 * or the record ends. */
struct effect_writer {
    struct outbuf *out;
    int64_t db;        /* the database that a reader has selected at this point; -1: unknown */
    uint64_t commands; /* written so far */

    /* private: the run */
    const struct effect_form *form;    /* NULL: no run */
    unsigned count;                    /* elements */
    uint32_t head, len;                /* bytes of `text` before the first element, and in all */
    struct bytes key, group, consumer; /* in `text` */
    int64_t to;
    struct stage stage;
    msec at;
    char text[EFFECT_RUN_BYTES];
};

void effect_writer_init(struct effect_writer *writer, struct outbuf *out);
/* Ignores EFFECT_NONE. Copies everything. */
void effect_writer_put(struct effect_writer *writer, const struct effect *effect);
/* Call at the end of a record: writes the rest into `out`. */
void effect_writer_end(struct effect_writer *writer);
/* Writes the command of an effect to `to` instead, and returns its length. 0: it may be longer than
 * `room` or EFFECT_PRINT_MAX, has to select its database, or could be part of a run. */
size_t effect_writer_print(const struct effect_writer *writer, const struct effect *effect,
                           char *to, size_t room);
/* Does Redis 7.0 know the command of this effect, in the same meaning? */
bool effect_text_is_redis(const struct effect *effect);
/* Call when the next command begins another file (after effect_writer_end): it selects its database
 * again. */
void effect_writer_restart(struct effect_writer *writer);

struct effect_reader {
    unsigned db;   /* the current database; 0 at the start of a file */
    unsigned last; /* private: the last command, and a hash table of names */
    uint8_t slots[EFFECT_READER_SLOTS];
};

void effect_reader_init(struct effect_reader *reader);

/* Reads one command and passes its effects to the visitor (none for SELECT); they borrow from argv.
 * False: the writer would not write such a command (some effects may have been visited), or the
 * visitor returned false. */
bool effect_text_read(int argc, const struct bytes *argv, struct effect_reader *reader,
                      bool (*visit)(void *ctx, const struct effect *effect), void *ctx);

#endif
