/* event: the keyspace events, each with its name and with the class letter by which
 * notify-keyspace-events enables it. */
#pragma once

/* id, name, class letter */
#define EVENT_LIST(EVENT)                                                                          \
    EVENT(NONE, "", 0)                                                                             \
    EVENT(DEL, "del", 'g')                                                                         \
    EVENT(EXPIRE, "expire", 'g')                                                                   \
    EVENT(PERSIST, "persist", 'g')                                                                 \
    EVENT(RENAME_FROM, "rename_from", 'g')                                                         \
    EVENT(RENAME_TO, "rename_to", 'g')                                                             \
    EVENT(COPY_TO, "copy_to", 'g')                                                                 \
    EVENT(RESTORE, "restore", 'g')                                                                 \
    EVENT(MOVE_FROM, "move_from", 'g')                                                             \
    EVENT(MOVE_TO, "move_to", 'g')                                                                 \
    EVENT(SET, "set", '$')                                                                         \
    EVENT(APPEND, "append", '$')                                                                   \
    EVENT(INCRBY, "incrby", '$')                                                                   \
    EVENT(INCRBYFLOAT, "incrbyfloat", '$')                                                         \
    EVENT(SETRANGE, "setrange", '$')                                                               \
    EVENT(SETBIT, "setbit", '$')                                                                   \
    EVENT(PFADD, "pfadd", '$')                                                                     \
    EVENT(LPUSH, "lpush", 'l')                                                                     \
    EVENT(RPUSH, "rpush", 'l')                                                                     \
    EVENT(LPOP, "lpop", 'l')                                                                       \
    EVENT(RPOP, "rpop", 'l')                                                                       \
    EVENT(LTRIM, "ltrim", 'l')                                                                     \
    EVENT(LREM, "lrem", 'l')                                                                       \
    EVENT(LSET, "lset", 'l')                                                                       \
    EVENT(LINSERT, "linsert", 'l')                                                                 \
    EVENT(SORTSTORE, "sortstore", 'l')                                                             \
    EVENT(SADD, "sadd", 's')                                                                       \
    EVENT(SREM, "srem", 's')                                                                       \
    EVENT(SPOP, "spop", 's')                                                                       \
    EVENT(SEXPIRE, "sexpire", 's')                                                                 \
    EVENT(SPERSIST, "spersist", 's')                                                               \
    EVENT(SEXPIRED, "sexpired", 's')                                                               \
    EVENT(SINTERSTORE, "sinterstore", 's')                                                         \
    EVENT(SUNIONSTORE, "sunionstore", 's')                                                         \
    EVENT(SDIFFSTORE, "sdiffstore", 's')                                                           \
    EVENT(HSET, "hset", 'h')                                                                       \
    EVENT(HDEL, "hdel", 'h')                                                                       \
    EVENT(HINCRBY, "hincrby", 'h')                                                                 \
    EVENT(HINCRBYFLOAT, "hincrbyfloat", 'h')                                                       \
    EVENT(HEXPIRE, "hexpire", 'h')                                                                 \
    EVENT(HPERSIST, "hpersist", 'h')                                                               \
    EVENT(HEXPIRED, "hexpired", 'h')                                                               \
    EVENT(ZADD, "zadd", 'z')                                                                       \
    EVENT(ZINCR, "zincr", 'z')                                                                     \
    EVENT(ZREM, "zrem", 'z')                                                                       \
    EVENT(ZEXPIRE, "zexpire", 'z')                                                                 \
    EVENT(ZPERSIST, "zpersist", 'z')                                                               \
    EVENT(ZEXPIRED, "zexpired", 'z')                                                               \
    EVENT(ZREMRANGEBYSCORE, "zremrangebyscore", 'z')                                               \
    EVENT(ZREMRANGEBYRANK, "zremrangebyrank", 'z')                                                 \
    EVENT(ZREMRANGEBYLEX, "zremrangebylex", 'z')                                                   \
    EVENT(ZPOPMIN, "zpopmin", 'z')                                                                 \
    EVENT(ZPOPMAX, "zpopmax", 'z')                                                                 \
    EVENT(ZUNIONSTORE, "zunionstore", 'z')                                                         \
    EVENT(ZINTERSTORE, "zinterstore", 'z')                                                         \
    EVENT(ZDIFFSTORE, "zdiffstore", 'z')                                                           \
    EVENT(ZRANGESTORE, "zrangestore", 'z')                                                         \
    EVENT(GEOSEARCHSTORE, "geosearchstore", 'z')                                                   \
    EVENT(GEORADIUSSTORE, "georadiusstore", 'z')                                                   \
    EVENT(REDE_PUSH, "rede.push", 'd')                                                             \
    EVENT(REDE_DUE, "rede.due", 'd')                                                               \
    EVENT(REDE_CLAIM, "rede.claim", 'd')                                                           \
    EVENT(REDE_NACK, "rede.nack", 'd')                                                             \
    EVENT(REDE_RESCHEDULE, "rede.reschedule", 'd')                                                 \
    EVENT(REDE_PULL, "rede.pull", 'd')                                                             \
    EVENT(REDE_POLL, "rede.poll", 'd')                                                             \
    EVENT(REDE_ACK, "rede.ack", 'd')                                                               \
    EVENT(REDE_DEAD, "rede.dead", 'd')                                                             \
    EVENT(REDE_UPDATE, "rede.update", 'd')                                                         \
    EVENT(REDE_PAUSE, "rede.pause", 'd')                                                           \
    EVENT(REDE_RESUME, "rede.resume", 'd')                                                         \
    EVENT(XADD, "xadd", 't')                                                                       \
    EVENT(XDEL, "xdel", 't')                                                                       \
    EVENT(XTRIM, "xtrim", 't')                                                                     \
    EVENT(XSETID, "xsetid", 't')                                                                   \
    EVENT(XGROUP_CREATE, "xgroup-create", 't')                                                     \
    EVENT(XGROUP_SETID, "xgroup-setid", 't')                                                       \
    EVENT(XGROUP_DESTROY, "xgroup-destroy", 't')                                                   \
    EVENT(XGROUP_CREATECONSUMER, "xgroup-createconsumer", 't')                                     \
    EVENT(XGROUP_DELCONSUMER, "xgroup-delconsumer", 't')                                           \
    EVENT(LEASE_TAKE, "lease.take", 'g')                                                           \
    EVENT(LEASE_END, "lease.end", 'g')                                                             \
    EVENT(LEASE_DROP, "lease.drop", 'g')                                                           \
    EVENT(STALE, "stale", 'g')                                                                     \
    EVENT(EXPIRED, "expired", 'x')                                                                 \
    EVENT(EVICTED, "evicted", 'e')                                                                 \
    EVENT(KEYMISS, "keymiss", 'm')                                                                 \
    EVENT(NEW, "new", 'n')

enum event {
#define EVENT(id, name, letter) EVENT_##id,
    EVENT_LIST(EVENT)
#undef EVENT
        EVENT_COUNT
};

/* Return the name and the class letter, as in EVENT_LIST. */
const char *event_name(enum event event);
char event_class(enum event event);
