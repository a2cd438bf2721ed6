/* lua_reply: see lua_reply.h. */
#include "server/script/lua_reply.h"

#include <string.h>

#include "proto/resp/resp_reply.h"
#include "server/script/lua/lua_number.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

/* ---- replies as values ---- */

enum {
    FIELDS_MAX = 1 << 26,     /* fields of one table: LuaJIT raises an error for more */
    TABLE_HINT_MAX = 1 << 16, /* slots reserved before the elements arrive */
    FORMAT_CHARS = 3,
    ROOM_FROM = 1 << 16, /* bytes of a text; smaller ones may come from mem's reserve */
};

static void push_field(lua_State *lua, const char *field, const char *text, size_t len)
{
    lua_createtable(lua, 0, 2);
    lua_pushlstring(lua, text, len);
    lua_setfield(lua, -2, field);
}

static void push_scalar(struct lua_reply *reply, const struct resp_node *node)
{
    lua_State *lua = reply->lua;
    switch (node->type) {
    case REPLY_STATUS: push_field(lua, "ok", node->text, node->len); break;
    case REPLY_ERROR:
        push_field(lua, "err", node->text, node->len);
        lua_pushboolean(lua, true);
        lua_setfield(lua, -2, "ignore_error_stats_update");
        break;
    case REPLY_INTEGER: lua_pushnumber(lua, (lua_Number)node->number); break;
    case REPLY_BOOL: lua_pushboolean(lua, node->number != 0); break;
    case REPLY_DOUBLE:
        lua_createtable(lua, 0, 1);
        lua_pushnumber(lua, node->real);
        lua_setfield(lua, -2, "double");
        break;
    case REPLY_BIGNUM: push_field(lua, "big_number", node->text, node->len); break;
    case REPLY_VERBATIM: /* "txt:" comes before the text */
        lua_createtable(lua, 0, 1);
        lua_createtable(lua, 0, 2);
        lua_pushlstring(lua, node->text + FORMAT_CHARS + 1, node->len - FORMAT_CHARS - 1);
        lua_setfield(lua, -2, "string");
        lua_pushlstring(lua, node->text, FORMAT_CHARS);
        lua_setfield(lua, -2, "format");
        lua_setfield(lua, -2, "verbatim_string");
        break;
    case REPLY_NULL:
        if (reply->version < 3)
            lua_pushboolean(lua, false);
        else
            lua_pushnil(lua);
        break;
    default: lua_pushlstring(lua, node->text, node->len); break;
    }
}

/* Opens the table of an aggregate. That of a map or a set is in a field of another table. */
static void open_table(struct lua_reply *reply, const struct resp_node *node)
{
    ensure(reply->depth < LUA_REPLY_DEPTH, "a reply nested deeper than %d", reply->depth);
    int hint = node->number < TABLE_HINT_MAX ? (int)node->number : TABLE_HINT_MAX;
    bool hashed = node->type == REPLY_MAP || node->type == REPLY_SET;
    if (hashed) lua_createtable(reply->lua, 0, 1);
    lua_createtable(reply->lua, hashed ? 0 : hint, hashed ? hint : 0);
    reply->open[reply->depth++] =
        (struct open_table){ .kind = (int)node->type, .left = node->number, .index = 1 };
}

/* Call when the innermost table is complete. */
static void close_table(struct lua_reply *reply)
{
    const struct open_table *table = &reply->open[--reply->depth];
    if (table->kind == REPLY_MAP || table->kind == REPLY_SET)
        lua_setfield(reply->lua, -2, table->kind == REPLY_MAP ? "map" : "set");
}

static void put_node(struct resp_sink *sink, const struct resp_node *node)
{
    struct lua_reply *reply = (struct lua_reply *)sink;
    bool fits = !reply->interpreter->exceeded && node->len <= (size_t)INT32_MAX / 2 &&
                (node->len <= ROOM_FROM || mem_has_room(node->len)) &&
                (reply->depth == 0 || reply->open[reply->depth - 1].index < FIELDS_MAX);
    if (!fits) {
        reply->interpreter->exceeded = true;
        return;
    }
    if (node->type == REPLY_ARRAY || node->type == REPLY_MAP || node->type == REPLY_SET ||
        node->type == REPLY_PUSH) {
        open_table(reply, node);
        if (node->number > 0) return;
        close_table(reply);
    } else {
        push_scalar(reply, node);
    }
    /* Put the value at the top into the innermost table. If that completes the table, put it into
     * the next one, and so on. A map's key stays on the stack until its value arrives. */
    while (reply->depth > 0) {
        struct open_table *table = &reply->open[reply->depth - 1];
        table->left--;
        if (table->kind == REPLY_MAP) {
            if (table->left % 2 == 0) lua_rawset(reply->lua, -3);
        } else if (table->kind == REPLY_SET) {
            lua_pushboolean(reply->lua, true);
            lua_rawset(reply->lua, -3);
        } else {
            lua_rawseti(reply->lua, -2, (int)table->index++);
        }
        if (table->left > 0) break;
        close_table(reply);
    }
}

struct resp_writer lua_reply_begin(struct lua_reply *reply, struct interpreter *interpreter,
                                   lua_State *lua, int version)
{
    reply->sink.put = put_node;
    reply->interpreter = interpreter;
    reply->lua = lua;
    reply->version = version;
    reply->depth = 0;
    interpreter->may_fail = false;
    return (struct resp_writer){ .sink = &reply->sink, .version = version };
}

void lua_reply_end(struct lua_reply *reply)
{
    reply->interpreter->may_fail = true;
}

void lua_push_error(lua_State *lua, const char *text)
{
    const char *space = text[0] == '-' ? strchr(text, ' ') : NULL;
    if (text[0] == '-') text++;
    lua_createtable(lua, 0, 1);
    if (space != NULL)
        lua_pushstring(lua, text);
    else
        lua_pushfstring(lua, "ERR %s", text);
    lua_setfield(lua, -2, "err");
}

/* ---- values as replies ---- */

struct writing {
    lua_State *lua;
    struct resp_writer *out;
    int version; /* RESP inside the script */
    size_t tables;
};

/* An empty table takes this much of Lua's memory. So a reply that contains more than limit /
 * TABLE_BYTES tables must contain some of them many times. */
enum { TABLE_BYTES = 64 };

static void write_value(struct writing *writing);

/* Is the reply too long already, so that writing must stop? A table that contains itself would
 * otherwise be written for ever. */
static bool is_full(const struct writing *writing)
{
    const struct resp_writer *out = writing->out;
    return out->out->lost || (out->limit != 0 && (out->out->len > out->limit ||
                                                  writing->tables > out->limit / TABLE_BYTES));
}

/* Pushes the field without metamethods, and returns its type. */
static int push_raw(lua_State *lua, const char *field)
{
    lua_pushstring(lua, field);
    lua_rawget(lua, -2);
    return lua_type(lua, -1);
}

/* Writes the table at the top as a map, or its keys as a set. */
static void write_fields(struct writing *writing, bool as_map)
{
    lua_State *lua = writing->lua;
    size_t count = 0;
    for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1))
        count++;
    (as_map ? resp_map : resp_set)(writing->out, count);
    lua_pushnil(lua);
    while (lua_next(lua, -2)) {
        if (!as_map) lua_pop(lua, 1);
        lua_pushvalue(lua, as_map ? -2 : -1);
        write_value(writing);
        if (as_map) write_value(writing);
        if (is_full(writing)) break;
    }
}

/* Writes the table at the top if one of its fields makes it an error, a status or another special
 * reply; otherwise returns false. The fields are checked in Redis' order. */
static bool write_special(struct writing *writing)
{
    lua_State *lua = writing->lua;
    int base = lua_gettop(lua);
    size_t len;
    const char *text;
    bool done = true;
    if (push_raw(lua, "err") == LUA_TSTRING) {
        text = lua_tolstring(lua, -1, &len);
        resp_error(writing->out, text, len);
    } else if (lua_settop(lua, base), push_raw(lua, "ok") == LUA_TSTRING) {
        text = lua_tolstring(lua, -1, &len);
        resp_status_bytes(writing->out, text, len);
    } else if (lua_settop(lua, base), push_raw(lua, "double") == LUA_TNUMBER) {
        resp_double(writing->out, lua_tonumber(lua, -1));
    } else if (lua_settop(lua, base), push_raw(lua, "big_number") == LUA_TSTRING) {
        text = lua_tolstring(lua, -1, &len);
        resp_big_number(writing->out, text, len);
    } else if (lua_settop(lua, base), push_raw(lua, "verbatim_string") == LUA_TTABLE) {
        done = push_raw(lua, "format") == LUA_TSTRING;
        const char *format = done ? lua_tostring(lua, -1) : NULL;
        lua_insert(lua, -2);
        done = done && push_raw(lua, "string") == LUA_TSTRING;
        text = done ? lua_tolstring(lua, -1, &len) : NULL;
        if (done) resp_verbatim(writing->out, format, text, len);
    } else if (lua_settop(lua, base), push_raw(lua, "map") == LUA_TTABLE) {
        write_fields(writing, true);
    } else if (lua_settop(lua, base), push_raw(lua, "set") == LUA_TTABLE) {
        write_fields(writing, false);
    } else {
        done = false;
    }
    lua_settop(lua, base);
    return done;
}

/* Writes the value at the top, and pops it. */
static void write_value(struct writing *writing)
{
    static const char too_deep[] = "ERR reached lua stack limit";
    enum { PLACES = 4 };
    lua_State *lua = writing->lua;
    size_t len;
    const char *text;
    if (!lua_checkstack(lua, PLACES) || !interpreter_has_stack(lua)) {
        resp_error(writing->out, too_deep, sizeof(too_deep) - 1);
        lua_pop(lua, 1);
        return;
    }
    switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
        text = lua_tolstring(lua, -1, &len);
        resp_bulk(writing->out, text, len);
        break;
    case LUA_TNUMBER: resp_integer(writing->out, lua_number_to_int64(lua_tonumber(lua, -1))); break;
    case LUA_TBOOLEAN:
        if (writing->version >= 3)
            resp_bool(writing->out, lua_toboolean(lua, -1));
        else if (lua_toboolean(lua, -1))
            resp_integer(writing->out, 1);
        else
            resp_null(writing->out);
        break;
    case LUA_TTABLE:
        if (is_full(writing)) break;
        writing->tables++;
        if (write_special(writing)) break;

        /* An array, up to the first nil. */
        int count = 0;
        for (;; lua_pop(lua, 1)) {
            lua_rawgeti(lua, -1, count + 1);
            if (lua_isnil(lua, -1)) break;
            count++;
        }
        lua_pop(lua, 1);
        resp_array(writing->out, (size_t)count);
        for (int i = 1; i <= count && !is_full(writing); i++) {
            lua_rawgeti(lua, -1, i);
            write_value(writing);
        }
        break;
    default: resp_null(writing->out); break;
    }
    lua_pop(lua, 1);
}

bool lua_write_reply(lua_State *lua, struct resp_writer *out, int version, size_t limit)
{
    enum { COPIED_MAX = 4096 };
    struct writing writing = { .lua = lua, .out = out, .version = version };
    if (!lua_istable(lua, -1)) {
        write_value(&writing);
        return false;
    }
    if (push_raw(lua, "err") == LUA_TSTRING) {
        lua_remove(lua, -2);
        return true;
    }
    lua_pop(lua, 1);

    /* Collect the reply, so that nothing is written if it is too long. */
    struct outbuf reply;
    outbuf_init(&reply);
    reply.optional = true;
    struct resp_writer writer = { .out = &reply, .version = out->version, .limit = limit };
    writing.out = &writer;
    write_value(&writing);
    bool fits = !is_full(&writing);
    if (fits && !out->mute && reply.len > COPIED_MAX) {
        outbuf_splice(out->out, &reply);
        return false;
    }
    if (fits && !out->mute) { /* a short reply is copied: its chunk would stay mostly empty */
        size_t len = reply.len;
        outbuf_copy(&reply, outbuf_reserve(out->out, len));
        outbuf_commit(out->out, len);
    }
    outbuf_drop(&reply);
    if (fits) return false;
    lua_pushliteral(lua, "ERR not enough memory: the reply exceeds script-memory-limit");
    return true;
}
