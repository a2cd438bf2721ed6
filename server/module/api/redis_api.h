/* redis_api: the part of the module API of Redis and Valkey that this module uses, declared from
 * the API's documentation.
 *
 * The host offers each function under a name, such as RedisModule_OpenKey. When the host loads the
 * module, api_load fetches all functions into `redis`, where the names have no prefix:
 * redis.OpenKey. */
#pragma once

#include "store/base/bytes.h"

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleType RedisModuleType;
typedef struct RedisModuleIO RedisModuleIO;
typedef struct RedisModuleDigest RedisModuleDigest;
typedef struct RedisModuleBlockedClient RedisModuleBlockedClient;
typedef struct RedisModuleScanCursor RedisModuleScanCursor;
typedef struct RedisModuleInfoCtx RedisModuleInfoCtx;
typedef struct RedisModuleServerInfoData RedisModuleServerInfoData;
typedef struct RedisModuleCallReply RedisModuleCallReply;
typedef struct RedisModuleCommand RedisModuleCommand;
typedef struct RedisModuleCommandFilter RedisModuleCommandFilter;
typedef struct RedisModuleCommandFilterCtx RedisModuleCommandFilterCtx;

/* ---- numbers of the interface ---- */

enum { API_OK = 0, API_ERR = 1, API_VERSION = 1 };
enum { KEY_READ = 1 << 0, KEY_WRITE = 1 << 1, KEY_NOTOUCH = 1 << 16 }; /* OpenKey */
enum {
    KEYTYPE_EMPTY = 0,
    KEYTYPE_STRING = 1,
    KEYTYPE_LIST = 2,
    KEYTYPE_HASH = 3,
    KEYTYPE_SET = 4,
    KEYTYPE_ZSET = 5,
    KEYTYPE_MODULE = 6,
    KEYTYPE_STREAM = 7
};
enum { NO_EXPIRE = -1 };
enum { REPLY_IS_STRING = 0, REPLY_IS_ERROR = 1, REPLY_IS_INTEGER = 2 }; /* CallReplyType */
enum { FILTER_NOT_OWN = 1 }; /* RegisterCommandFilter: skip commands that this module calls */

enum { /* SetModuleOptions */
       OPTION_HANDLE_IO_ERRORS = 1 << 0,
       OPTION_NO_IMPLICIT_SIGNAL = 1 << 1,
       OPTION_HANDLE_SLOT_MIGRATION = 1 << 5, /* of Valkey */
};

enum { /* GetContextFlags */
       CTX_LUA = 1 << 0,
       CTX_MULTI = 1 << 1,
       CTX_MASTER = 1 << 2,
       CTX_CLUSTER = 1 << 5,
       CTX_REPLICATED = 1 << 12,
       CTX_LOADING = 1 << 13,
       CTX_DENY_BLOCKING = 1 << 21,
       CTX_RESP3 = 1 << 22,
};

enum { CLUSTER_ID_LEN = 40, CLUSTER_REPLICA = 1 << 2 }; /* GetClusterNodeInfo */

enum { /* classes of keyspace events */
       NOTIFY_GENERIC = 1 << 2,
       NOTIFY_STRING = 1 << 3,
       NOTIFY_LIST = 1 << 4,
       NOTIFY_SET = 1 << 5,
       NOTIFY_HASH = 1 << 6,
       NOTIFY_ZSET = 1 << 7,
       NOTIFY_EXPIRED = 1 << 8,
       NOTIFY_EVICTED = 1 << 9,
       NOTIFY_STREAM = 1 << 10,
       NOTIFY_LOADED = 1 << 12,
       NOTIFY_MODULE = 1 << 13,
       NOTIFY_NEW = 1 << 14,
};

/* Server events, each with the version of its data. */
struct api_event {
    uint64_t id, data_version;
};
enum {
    EVENT_ID_ROLE_CHANGED = 0,
    EVENT_ID_FLUSHDB = 2,
    EVENT_ID_LOADING = 3,
    EVENT_ID_CRON_LOOP = 8,
    EVENT_ID_SWAPDB = 11,
    EVENT_ID_FORK_CHILD = 13,
    EVENT_ID_EVENTLOOP = 15,
    EVENT_ID_SLOT_MIGRATION = 19, /* of Valkey */
};
enum { FLUSHDB_STARTS = 0 };
enum {
    LOADING_RDB_STARTS = 0,
    LOADING_AOF_STARTS = 1,
    LOADING_REPL_STARTS = 2,
    LOADING_ENDED = 3,
    LOADING_FAILED = 4,
};
enum { FORK_CHILD_BORN = 0 };
enum { EVENTLOOP_BEFORE_SLEEP = 0 };
enum {
    MIGRATION_IMPORT_STARTS = 0,
    MIGRATION_IMPORT_ABORTED = 2,
    MIGRATION_IMPORT_COMPLETED = 4,
};

struct api_flush { /* data of EVENT_ID_FLUSHDB */
    uint64_t version;
    int32_t sync;
    int32_t db; /* -1: all */
};
struct api_swap { /* data of EVENT_ID_SWAPDB */
    uint64_t version;
    int32_t first, second;
};
struct api_slot_range {
    int first, last;
};
struct api_slot_migration { /* data of EVENT_ID_SLOT_MIGRATION */
    uint64_t version;
    char name[CLUSTER_ID_LEN + 1];
    struct api_slot_range *ranges;
    uint32_t range_count;
};

typedef struct RedisModuleKeyOptCtx RedisModuleKeyOptCtx;

/* The callbacks of a type, up to those of version 4. NULL if there is none. */
struct api_type {
    uint64_t version;
    void *(*rdb_load)(RedisModuleIO *io, int encoding);
    void (*rdb_save)(RedisModuleIO *io, void *value);
    void (*aof_rewrite)(RedisModuleIO *io, RedisModuleString *key, void *value);
    size_t (*mem_usage)(const void *value);
    void (*digest)(RedisModuleDigest *digest, void *value);
    void (*free)(void *value);
    int (*aux_load)(RedisModuleIO *io, int encoding, int when);
    void (*aux_save)(RedisModuleIO *io, int when);
    int aux_save_triggers;
    size_t (*free_effort)(RedisModuleString *key, const void *value);
    void (*unlink)(RedisModuleString *key, const void *value);
    void *(*copy)(RedisModuleString *from, RedisModuleString *to, const void *value);
    int (*defrag)(void *ctx, RedisModuleString *key, void **value);
    size_t (*mem_usage2)(RedisModuleKeyOptCtx *ctx, const void *value, size_t samples);
    size_t (*free_effort2)(RedisModuleKeyOptCtx *ctx, const void *value);
    void (*unlink2)(RedisModuleKeyOptCtx *ctx, const void *value);
    void *(*copy2)(RedisModuleKeyOptCtx *ctx, const void *value);
};
enum { API_TYPE_VERSION = 4 };

/* Arguments of SetCommandInfo, version 1. The values of an api_key_spec's flags are those of KEY_*
 * in server/cmd/call/command.h. */
struct api_key_spec {
    const char *notes;
    uint64_t flags; /* 0 at the end of the list */
    enum { SEARCH_UNKNOWN = 1, SEARCH_INDEX, SEARCH_KEYWORD } search;
    union {
        struct {
            int at;
        } index;
        struct {
            const char *word;
            int from;
        } keyword;
    } begin;
    enum { FIND_UNKNOWN = 1, FIND_RANGE, FIND_COUNTED } find;
    union {
        struct {
            int last, step, limit;
        } range;
        struct {
            int number, first, step;
        } counted;
    } keys;
};
struct api_history {
    const char *since, *changes;
};
struct api_argument {
    const char *name;
    int type, key_spec;
    const char *token, *summary, *since;
    int flags;
    const char *deprecated_since;
    struct api_argument *parts;
};
struct api_command_layout {
    int version;
    size_t history, key_spec, argument; /* sizes of the structs above */
};
struct api_command_info {
    const struct api_command_layout *layout;
    const char *summary, *complexity, *since;
    struct api_history *history;
    const char *tips;
    int arity;
    struct api_key_spec *key_specs;
    struct api_argument *arguments;
};

/* ---- functions ---- */

typedef int (*api_command)(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
typedef int (*api_on_key_event)(RedisModuleCtx *ctx, int class, const char *event,
                                RedisModuleString *key);
typedef void (*api_on_event)(RedisModuleCtx *ctx, struct api_event event, uint64_t what,
                             void *data);
typedef void (*api_on_timer)(RedisModuleCtx *ctx, void *data);
typedef void (*api_on_scan)(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleKey *key,
                            void *data);
typedef void (*api_on_field)(RedisModuleKey *key, RedisModuleString *field,
                             RedisModuleString *value, void *data);
typedef void (*api_on_info)(RedisModuleInfoCtx *ctx, int for_crash_report);
typedef RedisModuleString *(*api_get_config)(const char *name, void *data);
typedef int (*api_set_config)(const char *name, RedisModuleString *value, void *data,
                              RedisModuleString **error);
typedef int (*api_apply_config)(RedisModuleCtx *ctx, void *data, RedisModuleString **error);
typedef void (*api_free_data)(RedisModuleCtx *ctx, void *data);
typedef void (*api_on_command)(RedisModuleCommandFilterCtx *command);

/* X(result, name, arguments): the module does not load without these functions. */
#define API_NEEDED(X)                                                                              \
    X(int, SetModuleAttribs, (RedisModuleCtx * ctx, const char *name, int version, int api))       \
    X(int, IsModuleNameBusy, (const char *name))                                                   \
    X(void, SetModuleOptions, (RedisModuleCtx * ctx, int options))                                 \
    X(void, Log, (RedisModuleCtx * ctx, const char *level, const char *format, ...))               \
    X(void *, Realloc, (void *old, size_t size))                                                   \
    X(void, Free, (void *p))                                                                       \
    X(size_t, MallocSize, (void *p))                                                               \
    X(long long, Milliseconds, (void))                                                             \
    X(int, GetContextFlags, (RedisModuleCtx * ctx))                                                \
    X(const char *, GetMyClusterID, (void))                                                        \
    X(int, GetClusterNodeInfo,                                                                     \
      (RedisModuleCtx * ctx, const char *id, char *address, char *master, int *port, int *flags))  \
    X(int, CreateCommand,                                                                          \
      (RedisModuleCtx * ctx, const char *name, api_command run, const char *flags, int first,      \
       int last, int step))                                                                        \
    X(RedisModuleCommand *, GetCommand, (RedisModuleCtx * ctx, const char *name))                  \
    X(int, SetCommandInfo, (RedisModuleCommand * command, const struct api_command_info *info))    \
    X(int, RegisterStringConfig,                                                                   \
      (RedisModuleCtx * ctx, const char *name, const char *value, unsigned flags,                  \
       api_get_config get, api_set_config set, api_apply_config apply, void *data))                \
    X(int, LoadConfigs, (RedisModuleCtx * ctx))                                                    \
    X(size_t, ValueLength, (RedisModuleKey * key))                                                 \
    X(int, IsKeysPositionRequest, (RedisModuleCtx * ctx))                                          \
    X(void, KeyAtPosWithFlags, (RedisModuleCtx * ctx, int position, int flags))                    \
    X(int, AvoidReplicaTraffic, (void))                                                            \
    X(int, GetSelectedDb, (RedisModuleCtx * ctx))                                                  \
    X(int, SelectDb, (RedisModuleCtx * ctx, int db))                                               \
    X(RedisModuleKey *, OpenKey, (RedisModuleCtx * ctx, RedisModuleString * name, int mode))       \
    X(void, CloseKey, (RedisModuleKey * key))                                                      \
    X(int, DeleteKey, (RedisModuleKey * key))                                                      \
    X(int, KeyType, (RedisModuleKey * key))                                                        \
    X(int, SetExpire, (RedisModuleKey * key, long long msec))                                      \
    X(long long, GetAbsExpire, (RedisModuleKey * key))                                             \
    X(RedisModuleString *, CreateString, (RedisModuleCtx * ctx, const char *data, size_t len))     \
    X(void, FreeString, (RedisModuleCtx * ctx, RedisModuleString * text))                          \
    X(const char *, StringPtrLen, (const RedisModuleString *text, size_t *len))                    \
    X(int, SubscribeToKeyspaceEvents,                                                              \
      (RedisModuleCtx * ctx, int classes, api_on_key_event on_event))                              \
    X(int, NotifyKeyspaceEvent,                                                                    \
      (RedisModuleCtx * ctx, int class, const char *event, RedisModuleString *key))                \
    X(int, SubscribeToServerEvent,                                                                 \
      (RedisModuleCtx * ctx, struct api_event event, api_on_event on_event))                       \
    X(uint64_t, CreateTimer,                                                                       \
      (RedisModuleCtx * ctx, long long msec, api_on_timer on_timer, void *data))                   \
    X(int, StopTimer, (RedisModuleCtx * ctx, uint64_t timer, void **data))                         \
    X(RedisModuleScanCursor *, ScanCursorCreate, (void))                                           \
    X(void, ScanCursorRestart, (RedisModuleScanCursor * cursor))                                   \
    X(int, Scan,                                                                                   \
      (RedisModuleCtx * ctx, RedisModuleScanCursor * cursor, api_on_scan on_key, void *data))      \
    X(int, ScanKey,                                                                                \
      (RedisModuleKey * key, RedisModuleScanCursor * cursor, api_on_field on_field, void *data))   \
    X(char *, StringDMA, (RedisModuleKey * key, size_t * len, int mode))                           \
    X(RedisModuleServerInfoData *, GetServerInfo, (RedisModuleCtx * ctx, const char *section))     \
    X(unsigned long long, ServerInfoGetFieldUnsigned,                                              \
      (RedisModuleServerInfoData * info, const char *field, int *error))                           \
    X(void, FreeServerInfo, (RedisModuleCtx * ctx, RedisModuleServerInfoData * info))              \
    X(int, RegisterInfoFunc, (RedisModuleCtx * ctx, api_on_info on_info))                          \
    X(int, InfoAddSection, (RedisModuleInfoCtx * ctx, const char *name))                           \
    X(int, InfoAddFieldLongLong, (RedisModuleInfoCtx * ctx, const char *field, long long value))   \
    X(uint64_t, MonotonicMicroseconds, (void))                                                     \
    X(RedisModuleCallReply *, Call,                                                                \
      (RedisModuleCtx * ctx, const char *command, const char *format, ...))                        \
    X(int, CallReplyType, (RedisModuleCallReply * reply))                                          \
    X(long long, CallReplyInteger, (RedisModuleCallReply * reply))                                 \
    X(const char *, CallReplyStringPtr, (RedisModuleCallReply * reply, size_t * len))              \
    X(void, FreeCallReply, (RedisModuleCallReply * reply))                                         \
    X(int, ReplyWithLongLong, (RedisModuleCtx * ctx, long long value))                             \
    X(int, ReplyWithError, (RedisModuleCtx * ctx, const char *error))                              \
    X(int, ReplyWithDouble, (RedisModuleCtx * ctx, double value))                                  \
    X(int, ReplyWithLongDouble, (RedisModuleCtx * ctx, long double value))                         \
    X(int, ReplyWithSet, (RedisModuleCtx * ctx, long count))                                       \
    X(int, ReplyWithNull, (RedisModuleCtx * ctx))                                                  \
    X(int, ReplyWithStringBuffer, (RedisModuleCtx * ctx, const char *data, size_t len))            \
    X(RedisModuleType *, CreateDataType,                                                           \
      (RedisModuleCtx * ctx, const char *name, int encoding, const struct api_type *type))         \
    X(const RedisModuleString *, GetKeyNameFromOptCtx, (RedisModuleKeyOptCtx * ctx))               \
    X(int, GetDbIdFromModuleKey, (RedisModuleKey * key))                                           \
    X(int, GetDbIdFromOptCtx, (RedisModuleKeyOptCtx * ctx))                                        \
    X(RedisModuleType *, ModuleTypeGetType, (RedisModuleKey * key))                                \
    X(void *, ModuleTypeGetValue, (RedisModuleKey * key))                                          \
    X(int, ModuleTypeSetValue, (RedisModuleKey * key, RedisModuleType * type, void *value))        \
    X(void, SaveUnsigned, (RedisModuleIO * io, uint64_t value))                                    \
    X(uint64_t, LoadUnsigned, (RedisModuleIO * io))                                                \
    X(void, SaveDouble, (RedisModuleIO * io, double value))                                        \
    X(double, LoadDouble, (RedisModuleIO * io))                                                    \
    X(void, SaveStringBuffer, (RedisModuleIO * io, const char *data, size_t len))                  \
    X(char *, LoadStringBuffer, (RedisModuleIO * io, size_t * len))                                \
    X(int, IsIOError, (RedisModuleIO * io))                                                        \
    X(void, EmitAOF, (RedisModuleIO * io, const char *command, const char *format, ...))           \
    X(void, DigestAddStringBuffer, (RedisModuleDigest * digest, const char *data, size_t len))     \
    X(void, DigestAddLongLong, (RedisModuleDigest * digest, long long value))                      \
    X(void, DigestEndSequence, (RedisModuleDigest * digest))                                       \
    X(int, Replicate, (RedisModuleCtx * ctx, const char *command, const char *format, ...))        \
    X(int, ReplicateVerbatim, (RedisModuleCtx * ctx))                                              \
    X(int, SignalModifiedKey, (RedisModuleCtx * ctx, RedisModuleString * name))                    \
    X(void, SignalKeyAsReady, (RedisModuleCtx * ctx, RedisModuleString * name))                    \
    X(RedisModuleBlockedClient *, BlockClientOnKeys,                                               \
      (RedisModuleCtx * ctx, api_command reply, api_command timeout, api_free_data free_data,      \
       long long timeout_msec, RedisModuleString **keys, int count, void *data))                   \
    X(void *, GetBlockedClientPrivateData, (RedisModuleCtx * ctx))                                 \
    X(RedisModuleString *, GetBlockedClientReadyKey, (RedisModuleCtx * ctx))                       \
    X(RedisModuleCommandFilter *, RegisterCommandFilter,                                           \
      (RedisModuleCtx * ctx, api_on_command on_command, int flags))                                \
    X(int, CommandFilterArgsCount, (RedisModuleCommandFilterCtx * command))                        \
    X(RedisModuleString *, CommandFilterArgGet, (RedisModuleCommandFilterCtx * command, int i))    \
    X(int, ReplyWithSimpleString, (RedisModuleCtx * ctx, const char *text))                        \
    X(int, ReplyWithArray, (RedisModuleCtx * ctx, long count))                                     \
    X(int, ReplyWithNullArray, (RedisModuleCtx * ctx))                                             \
    X(int, ReplyWithMap, (RedisModuleCtx * ctx, long pairs))                                       \
    X(int, WrongArity, (RedisModuleCtx * ctx))

/* Optional: if one of these is missing, the module does less and logs its name. */
#define API_OPTIONAL(X) X(int, EventLoopAddOneShot, (void (*run)(void *data), void *data))

struct redis_api {
#define API_MEMBER(result, name, arguments) result(*name) arguments;
    API_NEEDED(API_MEMBER)
    API_OPTIONAL(API_MEMBER)
#undef API_MEMBER
};

/* The host's functions; api_load sets them. An optional one may be NULL. */
extern struct redis_api redis;

/* Valid while the string is not changed or freed. */
static inline struct bytes api_bytes(const RedisModuleString *text)
{
    struct bytes bytes;
    bytes.data = redis.StringPtrLen(text, &bytes.len);
    return bytes;
}

/* Fetches the functions and gives the module its name. Returns false, after logging the reason, if
 * the host lacks a needed function or already has a module of this name. */
bool api_load(RedisModuleCtx *ctx, const char *name, int version);

bool api_host_is_valkey(void);

/* Returns the database of a keyspace event, during that event. */
unsigned api_event_db(RedisModuleCtx *ctx, const char *event, RedisModuleString *name);
