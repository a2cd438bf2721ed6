/* scripts: see scripts.h. */
#include "server/script/scripts.h"

#include <ctype.h>
#include <stdio.h>

#include <luajit-2.1/lauxlib.h>

#include "server/script/shebang.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"

static struct bytes text_of(const void *element)
{
    return blob_view(((const struct script *)element)->text);
}

static struct bytes sha_of(const void *element)
{
    return bytes_of(((const struct script *)element)->sha, SHA1_HEX_LEN);
}

static const struct dict_type by_text = { .key = text_of }, by_sha = { .key = sha_of };

void scripts_init(struct scripts *scripts, lua_State *lua)
{
    *scripts = (struct scripts){ .lua = lua };
    dict_init(&scripts->by_text, &by_text);
    dict_init(&scripts->by_sha, &by_sha);
    TAILQ_INIT(&scripts->recent);
}

static size_t script_bytes(const struct script *script)
{
    return mem_size(script) + mem_size(script->text);
}

static void free_script(struct scripts *scripts, struct script *script)
{
    scripts->bytes -= script_bytes(script);
    luaL_unref(scripts->lua, LUA_REGISTRYINDEX, script->function);
    blob_free(script->text);
    mem_free(script);
}

/* Drops a script: nobody finds it from now on. It is freed at once or, if it runs, afterwards. */
static void drop_script(struct scripts *scripts, struct script *script)
{
    dict_remove(&scripts->by_text, text_of(script));
    dict_remove(&scripts->by_sha, sha_of(script));
    if (scripts->last == script) scripts->last = NULL;
    if (!script->loaded) {
        TAILQ_REMOVE(&scripts->recent, script, recent);
        scripts->recent_count--;
    }
    if (script->runs)
        script->dropped = true;
    else
        free_script(scripts, script);
}

void scripts_flush(struct scripts *scripts)
{
    struct dict_iter iter;
    struct script *script;
    for (;;) {
        dict_iter_begin(&iter, &scripts->by_sha);
        if ((script = dict_iter_next(&iter)) == NULL) break;
        drop_script(scripts, script);
    }
}

void scripts_drop(struct scripts *scripts)
{
    scripts_flush(scripts);
    dict_drop(&scripts->by_text);
    dict_drop(&scripts->by_sha);
}

struct script *scripts_get(struct scripts *scripts, struct bytes text, char *why, size_t size)
{
    struct script *script = scripts->last;
    /* Clients often send the same script again, and comparing costs less than hashing. */
    if (script != NULL && bytes_equal(text_of(script), text)) return script;
    script = scripts->last = dict_find(&scripts->by_text, text);
    if (script != NULL) return script;
    struct shebang shebang;
    if (!shebang_read(text, &shebang, why, size)) return NULL;
    struct bytes code = bytes_of(text.data + shebang.len, text.len - shebang.len);
    if (!sandbox_compile(scripts->lua, code, "@user_script", true)) {
        snprintf(why, size, "ERR Error compiling script (new function): %s",
                 lua_tostring(scripts->lua, -1));
        lua_pop(scripts->lua, 1);
        return NULL;
    }
    script = mem_zalloc(sizeof(*script));
    script->text = blob_new(text);
    script->flags = shebang.flags;
    script->function = luaL_ref(scripts->lua, LUA_REGISTRYINDEX);
    sha1_hex(text, script->sha);
    dict_add(&scripts->by_text, script);
    dict_add(&scripts->by_sha, script);
    TAILQ_INSERT_HEAD(&scripts->recent, script, recent);
    scripts->recent_count++;
    scripts->bytes += script_bytes(script);
    for (; scripts->recent_count > SCRIPTS_KEPT; scripts->evicted++)
        drop_script(scripts, TAILQ_LAST(&scripts->recent, script_list));
    return script;
}

struct script *scripts_find(struct scripts *scripts, struct bytes sha)
{
    char lower[SHA1_HEX_LEN];
    if (sha.len != SHA1_HEX_LEN) return NULL;
    if (scripts->last != NULL && bytes_equal(sha_of(scripts->last), sha)) return scripts->last;
    for (size_t i = 0; i < SHA1_HEX_LEN; i++)
        lower[i] = (char)tolower((unsigned char)sha.data[i]);
    struct script *script = dict_find(&scripts->by_sha, bytes_of(lower, SHA1_HEX_LEN));
    if (script != NULL) scripts->last = script;
    return script;
}

void scripts_keep(struct scripts *scripts, struct script *script)
{
    if (script->loaded) return;
    script->loaded = true;
    TAILQ_REMOVE(&scripts->recent, script, recent);
    scripts->recent_count--;
}

void scripts_begin(struct scripts *scripts, struct script *script)
{
    script->runs = true;
    if (script->loaded || TAILQ_FIRST(&scripts->recent) == script) return;
    TAILQ_REMOVE(&scripts->recent, script, recent);
    TAILQ_INSERT_HEAD(&scripts->recent, script, recent);
}

void scripts_end(struct scripts *scripts, struct script *script)
{
    script->runs = false;
    if (script->dropped) free_script(scripts, script);
}
