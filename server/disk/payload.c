/* payload: see payload.h. Uses the RDB reader and writer, and the effects' text. */
#include "server/disk/payload.h"

#include "server/disk/effect/effect_pack.h"
#include "server/disk/effect/request.h"
#include "server/disk/import/rdb_object.h"
#include "store/mem/mem.h"
#include "store/tokens.h"
#include "store/txn/effect_row.h"
#include "store/walk.h"

struct payload {
    struct rdb_writer writer;
    struct bytes bytes; /* owned by the writer */
};

/* Packs an effect of the walk, for the key "". Leaves out the retention of a stream: that belongs
 * to the policy of the key, and the key that RESTORE creates may match another. */
static void put_effect(void *ctx, struct effect *effect)
{
    if (effect->kind == EFFECT_STREAM_RETAIN) return;
    effect->key = bytes_of("", 0);
    effect_packer_put(ctx, effect);
}

struct payload *payload_new(const struct object *object)
{
    struct payload *payload = mem_alloc(sizeof(*payload));
    rdb_writer_init(&payload->writer, RDB_VERSION_7);
    bool good;
    if (rdb_object_is_plain(object)) {
        good = rdb_object_write(object, &payload->writer, &payload->bytes);
    } else {
        static const char type = (char)RDB_OWN_PACKED;
        struct buffer *body = rdb_writer_body(&payload->writer);
        good = buffer_try_append(body, &type, 1);
        if (good) {
            struct effect_packer packer;
            effect_packer_init(&packer, body);
            walk_object(object, put_effect, &packer);
            good = effect_packer_end(&packer) && rdb_writer_seal(&payload->writer, &payload->bytes);
        }
    }
    if (good) return payload;
    payload_free(payload);
    return NULL;
}

void payload_free(struct payload *payload)
{
    rdb_writer_drop(&payload->writer);
    mem_free(payload);
}

void payload_pass(const struct object *object, void (*take)(void *ctx, struct bytes payload),
                  void *ctx)
{
    struct payload *payload = payload_new(object);
    if (payload == NULL) return;
    take(ctx, payload_bytes(payload));
    payload_free(payload);
}

struct bytes payload_bytes(const struct payload *payload)
{
    return payload->bytes;
}

static bool begin_value(void *ctx, const struct rdb_key *key)
{
    rdb_object_begin(ctx, key->type);
    return true;
}

static bool read_redis(struct bytes payload, struct object *object)
{
    struct rdb_object value = { .begun = false };
    struct rdb_visitor visitor = { .ctx = &value, .key_begin = begin_value };
    struct rdb_error error;
    rdb_object_listen(&visitor);
    enum rdb_status status = rdb_read_payload(payload, &visitor, &error);
    if (status == RDB_OK && value.begun) {
        *object = rdb_object_take(&value);
        return true;
    }
    rdb_object_drop(&value);
    return false;
}

struct rebuilding {
    struct effect_reader reader;
    struct object object;
    bool begun;
};

static bool rebuild_with_effect(void *ctx, const struct effect *effect)
{
    struct rebuilding *in = ctx;
    const struct effect_row *row = &effect_rows[effect->kind];
    if (!row->in_payload || effect->key.len > 0) return false;
    /* Refuse a token near TOKEN_MAX: all later tokens of the data set must be greater, and would
     * soon run out. Servers grant far smaller tokens (store/tokens.h). */
    int64_t token = effect->kind == EFFECT_LEASE_TAKE ? effect->from : effect->stage.token;
    if (!effect_times_ok(effect) || token > TOKEN_MAX / 2) return false;
    if (!in->begun) in->object = object_new(row->type);
    in->begun = true;
    if (in->object.type != row->type) return false;
    if (row->key != KEY_EXISTS && object_has(&in->object, effect->a)) return false;
    return walk_put(&in->object, effect);
}

static bool rebuild_with(struct rebuilding *in, int argc, const struct bytes *argv)
{
    return effect_text_read(argc, argv, &in->reader, rebuild_with_effect, in) && in->reader.db == 0;
}

static bool read_own(struct bytes body, struct object *object)
{
    struct rebuilding in = { .begun = false };
    struct bytes commands = { body.data + 1, body.len - 1 };
    effect_reader_init(&in.reader);
    bool good = true;
    if ((unsigned char)body.data[0] == RDB_OWN_PACKED) {
        struct effect_unpacker unpacker;
        effect_unpacker_init(&unpacker, commands);
        while (good && effect_unpacker_more(&unpacker))
            good =
                effect_unpacker_next(&unpacker) && rebuild_with(&in, unpacker.argc, unpacker.argv);
        effect_unpacker_drop(&unpacker);
    } else {
        struct request request;
        request_init(&request);
        for (size_t at = 0, size; at < commands.len && good; at += size)
            good = request_read(&request, commands.data + at, commands.len - at, &size) ==
                       REQUEST_WHOLE &&
                   rebuild_with(&in, request.argc, request.argv);
        request_drop(&request);
    }
    if (!in.begun) return false;
    if (good) {
        in.object.has_expiry = !due_at_is_never(object_next_due(&in.object));
        *object = in.object;
    } else {
        object_free(&in.object);
    }
    return good;
}

static bool is_intact(struct bytes payload, struct bytes *body)
{
    int version;
    return rdb_payload_open(payload, body, &version);
}

enum payload_status payload_read(struct bytes payload, struct object *object)
{
    struct bytes body;
    unsigned type = payload.len > RDB_FOOTER ? (unsigned char)payload.data[0] : 0;
    bool is_own = type == RDB_OWN_TEXT || type == RDB_OWN_PACKED;
    bool good =
        is_own ? is_intact(payload, &body) && read_own(body, object) : read_redis(payload, object);
    if (good && !object_is_emptied(object)) return PAYLOAD_WHOLE;
    if (good) object_free(object);
    return is_intact(payload, &body) ? PAYLOAD_DAMAGED : PAYLOAD_FOREIGN;
}
