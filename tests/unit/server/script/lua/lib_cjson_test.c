/* Tests of lib_cjson: texts, settings, errors, and what lua-cjson alone gets wrong. The results are
 * those of Redis 7.0.15. */
#include "tests/support/lua_cases.h"
#include "tests/support/suite.h"
#include <luajit-2.1/lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>

#include "store/mem/mem.h"

static const struct lua_case encoded[] = {
    { "cjson.encode({1,2,nil,4})", "'[1,2,null,4]'" },
    { "cjson.encode({a={b={c={}}}})", "'{\\034a\\034:{\\034b\\034:{\\034c\\034:{}}}}'" },
    { "cjson.encode('a/b\"\\\\\\n\\1\\127\\200\\0')",
      "'\\034a\\092/b\\092\\034\\092\\092\\092n\\092u0001\\092u007f\\200\\092u0000\\034'" },
    { "cjson.encode({0.1,1/3,1e300,5e-324,123456789012345678,1e14,-1.5})",
      "'[0.1,0.33333333333333,1e+300,4.9406564584125e-324,1.2345678901235e+17,1e+14,-1.5]'" },
    { "cjson.encode({true,false,cjson.null})", "'[true,false,null]'" },
    { "cjson.encode(nil)", "'null'" },
    { "cjson.encode({[1.5]=1})", "'{\\0341.5\\034:1}'" },
    { "cjson.encode({[0]=1})", "'{\\0340\\034:1}'" },
#if defined(__x86_64__) || defined(__i386__) /* others convert 2^31 to the largest int */
    { "cjson.encode({[2^31]=1})", "'{\\0342147483648\\034:1}'" },
#endif
    { "cjson.encode({[1]=1,[10]=2})", "'[1,null,null,null,null,null,null,null,null,2]'" },
    { "cjson.encode(cjson.decode('{\"1\":1}'))", "'{\\0341\\034:1}'" },
    { "cjson.encode(string.rep('x',300000)):sub(-3)", "'xx\\034'" },
    { "local t={} for i=1,999 do t={t} end return #cjson.encode(t)", "2000" },
};

static const struct lua_case decoded[] = {
    { "cjson.decode('[1,null,true,{\"a\":\"b\"},[]]')", "{1 null true {['a']='b'} {}}" },
    { "cjson.decode(' \\t\\r\\n[-1.5e3,0x10,01,+1,nan,-inf]')", "{-1500 16 1 1 nan -inf}" },
    { "cjson.decode('\"\\\\ud83d\\\\ude00\\\\u0000\\\\n\"')", "'\\240\\159\\152\\128\\000\\010'" },
    { "cjson.decode(12)", "12" },
    { "cjson.decode('{\"\":2,\"a\":1,\"a\":3}')", "{['']=2 ['a']=3}" },
    { "#cjson.decode('\"'..string.rep('\\\\\"',300000)..'\"')", "300000" },
    { "#cjson.encode(cjson.decode(string.rep('[',1000)..string.rep(']',1000)))", "2000" },
};

static const struct lua_case errors[] = {
    { "cjson.encode()", "error: user_script:1: bad argument #1 to 'encode' (expected 1 argument)" },
    { "cjson.encode(1,2)",
      "error: user_script:1: bad argument #1 to 'encode' (expected 1 argument)" },
    { "cjson.encode(error)",
      "error: user_script:1: Cannot serialise function: type not supported" },
    { "cjson.encode({error})",
      "error: user_script:1: Cannot serialise function: type not supported" },
    { "cjson.encode({[error]=1})",
      "error: user_script:1: Cannot serialise function: table key must be a number or string" },
    { "cjson.encode({[true]=1})",
      "error: user_script:1: Cannot serialise boolean: table key must be a number or string" },
    { "cjson.encode(0/0)",
      "error: user_script:1: Cannot serialise number: must not be NaN or Inf" },
    { "cjson.encode({[2^31-1]=1})",
      "error: user_script:1: Cannot serialise table: excessively sparse array" },
    { "cjson.encode({[1]=1,[11]=2})",
      "error: user_script:1: Cannot serialise table: excessively sparse array" },
    { "local t={} t[1]=t local r=cjson.encode(t) return r",
      "error: user_script:1: Cannot serialise, excessive nesting (1001)" },
    { "local t={} t.a=t t.b=t local r=cjson.encode(t) return r",
      "error: user_script:1: Cannot serialise, excessive nesting (1001)" },
    { "local t={} for i=1,1000 do t={t} end local r=cjson.encode(t) return r",
      "error: user_script:1: Cannot serialise, excessive nesting (1001)" },
    { "cjson.decode()", "error: user_script:1: bad argument #1 to 'decode' (expected 1 argument)" },
    { "cjson.decode('1','2')",
      "error: user_script:1: bad argument #1 to 'decode' (expected 1 argument)" },
    { "cjson.decode({})",
      "error: user_script:1: bad argument #1 to 'decode' (string expected, got table)" },
    { "cjson.decode('')", "error: user_script:1: Expected value but found T_END at character 1" },
    { "cjson.decode('[1,2')",
      "error: user_script:1: Expected comma or array end but found T_END at character 5" },
    { "cjson.decode('[1,2]x')",
      "error: user_script:1: Expected the end but found invalid token at character 6" },
    { "cjson.decode('{\"a\":}')",
      "error: user_script:1: Expected value but found T_OBJ_END at character 6" },
    { "cjson.decode('{1:2}')",
      "error: user_script:1: Expected object key string but found T_NUMBER at character 2" },
    { "cjson.decode('\\0\\0')",
      "error: user_script:1: JSON parser does not support UTF-16 or UTF-32" },
    { "cjson.decode('\"\\\\ud800\"')",
      "error: user_script:1: Expected value but found invalid unicode escape code at character 2" },
    { "cjson.decode('\"\\\\x\"')",
      "error: user_script:1: Expected value but found invalid escape code at character 2" },
    { "cjson.decode('\"a\\0b\"')",
      "error: user_script:1: Expected value but found unexpected end of string at character 3" },
    { "cjson.decode('\"a')",
      "error: user_script:1: Expected value but found unexpected end of string at character 3" },
    { "cjson.decode('\"a\\\\')",
      "error: user_script:1: Expected value but found invalid escape code at character 3" },
    { "cjson.decode('-')",
      "error: user_script:1: Expected value but found invalid number at character 1" },
    { "cjson.decode(string.rep('[',1001)..string.rep(']',1001))",
      "error: user_script:1: Found too many nested data structures (1001) at character 1001" },
    { "cjson.decode(string.rep('[',1000000))",
      "error: user_script:1: Found too many nested data structures (1001) at character 1001" },
    { "local ok,e=pcall(cjson.encode,error) return e",
      "'Cannot serialise function: type not supported'" },
    { "local ok,e=pcall(cjson.decode,'[') return e",
      "'Expected value but found T_END at character 2'" },
};

static const struct lua_case settings[] = {
    { "cjson.encode_number_precision(),cjson.encode_keep_buffer(),cjson.encode_max_depth(),cjson."
      "decode_max_depth()",
      "14 true 1000 1000" },
    { "cjson.encode_invalid_numbers(),cjson.decode_invalid_numbers(),cjson.encode_sparse_array()",
      "false true false 2 10" },
    { "local n=cjson.new() n.encode_number_precision(3) return n.encode(1/3),cjson.encode(1/3)",
      "'0.333' '0.33333333333333'" },
    { "local n=cjson.new(1) local r={} for k in pairs(n) do r[#r+1]=k end table.sort(r) return "
      "r,n.null",
      "{'_NAME' '_VERSION' 'decode' 'decode_invalid_numbers' 'decode_max_depth' 'encode' "
      "'encode_invalid_numbers' 'encode_keep_buffer' 'encode_max_depth' 'encode_number_precision' "
      "'encode_sparse_array' 'new' 'null'} null" },
    { "local n=cjson.new() return "
      "n.encode_keep_buffer(false),n.encode({1}),n.encode_keep_buffer(),cjson.encode_keep_buffer()",
      "false '[1]' false true" },
    { "local n=cjson.new() return "
      "n.encode_keep_buffer('off'),n.encode_keep_buffer('on'),n.encode_keep_buffer(nil)",
      "false true true" },
    { "local n=cjson.new() n.encode_sparse_array(true) local r=n.encode({[1000000]=1}) return r",
      "'{\\0341000000\\034:1}'" },
    { "local n=cjson.new() n.encode_sparse_array(true,0) return #n.encode({[100000]=1})",
      "499998" },
    { "local n=cjson.new() n.encode_max_depth(3) local r=n.encode({{{}}}) local "
      "r=n.encode({{{{}}}}) return r",
      "error: user_script:1: Cannot serialise, excessive nesting (4)" },
    { "local n=cjson.new() n.encode_max_depth(300) local t={} for i=1,300 do t={t} end local "
      "r=n.encode(t) return r",
      "error: user_script:1: Cannot serialise, excessive nesting (301)" },
    { "local n=cjson.new() n.decode_max_depth(2) local r=n.decode('[[[1]]]') return r",
      "error: user_script:1: Found too many nested data structures (3) at character 3" },
    { "local n=cjson.new() n.decode_max_depth(100000) local r=n.decode(string.rep('[',7999)) "
      "return r",
      "error: user_script:1: Found too many nested data structures (7999) at character 7999" },
    { "local n=cjson.new() n.decode_max_depth(100000) return n.decode(string.rep('{\"a\":',4000))",
      "error: user_script:1: Found too many nested data structures (4000) at character 19996" },
    { "local n=cjson.new() n.encode_max_depth(100000) local t={} for i=1,3998 do t={a=t} end "
      "return #n.encode(t)",
      "23990" },
    { "local n=cjson.new() n.encode_invalid_numbers('null') local r=n.encode({0/0,1/0}) return r",
      "'[null,null]'" },
    { "local n=cjson.new() n.decode_invalid_numbers(false) local r=n.decode('[01]') return r",
      "error: user_script:1: Expected value but found invalid number at character 2" },
    { "cjson.encode_keep_buffer('x')",
      "error: user_script:1: bad argument #1 to 'encode_keep_buffer' (invalid option 'x')" },
    { "cjson.encode_keep_buffer(1)",
      "error: user_script:1: bad argument #1 to 'encode_keep_buffer' (invalid option '1')" },
    { "cjson.encode_keep_buffer({})", "error: user_script:1: bad argument #1 to "
                                      "'encode_keep_buffer' (string expected, got table)" },
    { "cjson.encode_keep_buffer(1,2)",
      "error: user_script:1: bad argument #2 to 'encode_keep_buffer' (found too many arguments)" },
    { "cjson.encode_number_precision(15)",
      "error: user_script:1: bad argument #1 to 'encode_number_precision' (expected integer "
      "between 1 and 14)" },
    { "cjson.encode_max_depth(0)", "error: user_script:1: bad argument #1 to 'encode_max_depth' "
                                   "(expected integer between 1 and 2147483647)" },
};

static void check(const struct lua_case *cases, size_t count)
{
    lua_State *L = lua_cases_open(NULL, NULL);
    lua_cases_check(L, cases, count);
    lua_close(L);
}

START_TEST(values_are_encoded_as_in_redis)
{
    check(encoded, sizeof(encoded) / sizeof(encoded[0]));
}
END_TEST

START_TEST(texts_are_decoded_as_in_redis)
{
    check(decoded, sizeof(decoded) / sizeof(decoded[0]));
}
END_TEST

START_TEST(errors_have_the_words_of_redis)
{
    check(errors, sizeof(errors) / sizeof(errors[0]));
}
END_TEST

START_TEST(settings_are_checked_and_belong_to_a_module)
{
    check(settings, sizeof(settings) / sizeof(settings[0]));
}
END_TEST

START_TEST(endless_output_is_an_error)
{
    static const char too_long[] =
        "error: user_script:1: Cannot serialise, the text would be too long";
    static const struct lua_case cases[] = {
        { "local t={} for i=1,60 do t={t,t} end local r=cjson.encode(t) return r", too_long },
        { "local t={} t.a=t t.b=t local n=cjson.new() n.encode_max_depth(60) local r=n.encode(t) "
          "return r",
          "error: user_script:1: Cannot serialise, excessive nesting (61)" },
        { "local s=string.rep('x',2^20) local t={} for i=1,200 do t[i]=s end "
          "local r=cjson.encode(t) return r",
          too_long },
        { "local n=cjson.new() n.encode_sparse_array(true,0) local r=n.encode({[2^31-1]=1}) return "
          "r",
          too_long },
    };
    check(cases, sizeof(cases) / sizeof(cases[0]));
}
END_TEST

/* An allocator with a limit, which notes whether it refused memory after it had been asked for all
 * of it at once: that is a block that is freed at once. */
struct limited {
    size_t used, limit;
    void *last;
    bool asked, refused;
};

static void *allocate_limited(void *ctx, void *old, size_t old_size, size_t size)
{
    struct limited *memory = ctx;
    if (size > old_size && memory->used + size - old_size > memory->limit) {
        if (memory->asked) memory->refused = true;
        return NULL;
    }
    memory->used += size - (old != NULL ? old_size : 0);
    if (size == 0) {
        if (old != NULL && old == memory->last) memory->asked = true;
        free(old);
        return NULL;
    }
    void *block = realloc(old, size);
    memory->last = old == NULL ? block : NULL;
    return block;
}

static int decode_global_text(lua_State *L)
{
    lua_getglobal(L, "cjson");
    lua_getfield(L, -1, "decode");
    lua_getglobal(L, "text");
    return lua_pcall(L, 1, 0, 0);
}

/* lua-cjson loses its buffer if Lua has no memory while decode runs. */
static void check_every_limit(const char *text)
{
    struct limited memory = { .limit = SIZE_MAX };
    lua_State *L = lua_cases_open(allocate_limited, &memory);
    int status = LUA_ERRRUN, rounds = 0;
    ck_assert_msg(luaL_dostring(L, text) == 0, "%s", lua_tostring(L, -1));
    for (size_t room = 0; status != 0; room += room / 16 + 512, rounds++) {
        lua_settop(L, 0);
        lua_gc(L, LUA_GCCOLLECT, 0);
        memory.limit = memory.used + room;
        memory.asked = memory.refused = false;
        status = decode_global_text(L);
        memory.limit = SIZE_MAX;
        ck_assert_msg(!memory.refused, "%s: refused with %zu bytes", text, room);
    }
    ck_assert_int_gt(rounds, 5);
    ck_assert(memory.asked);
    lua_close(L);
}

START_TEST(decode_fails_before_it_starts_or_not_at_all)
{
    check_every_limit("text = '[' .. string.rep('1,', 66000) .. '1]'");
    check_every_limit("text = '[' .. string.rep('[],', 5000) .. '1]'");
    check_every_limit("text = '[' .. string.rep('{\"a\":{}},', 5000) .. '1]'");
    check_every_limit("text = '[' .. string.rep('[1],', 5000) .. '1]'");
    check_every_limit("text = '[' .. string.rep('[1,2,3,4,5],', 5000) .. '1]'");
    check_every_limit("text = '[' .. string.rep('{\"a\":1,\"b\":2,\"c\":3},', 5000) .. '1]'");
    check_every_limit("text = string.rep('[', 1000) .. string.rep(']', 1000)");
    check_every_limit("text = string.rep('{\"a\":', 999) .. '1' .. string.rep('}', 999)");
    check_every_limit("text = '\"' .. string.rep('\\\\n', 100000) .. '\"'");
    check_every_limit("text = string.rep(' ', 100000) .. '\"new\"'");
    check_every_limit("local t = {} for i = 1, 33000 do t[i] = '\"s' .. i .. '\"' end "
                      "text = '[' .. table.concat(t, ',') .. ']'");
    check_every_limit("local t = {} for i = 1, 8300 do t[i] = '\"k' .. i .. '\":1' end "
                      "text = '{' .. table.concat(t, ',') .. '}'");
    check_every_limit("kept = {} for i = 1, 65000 do kept[i] = 'other' .. i end "
                      "local t = {} for i = 1, 1000 do t[i] = '\"s' .. i .. '\"' end "
                      "text = '[' .. table.concat(t, ',') .. ']'");
}
END_TEST

START_TEST(a_failed_encode_loses_no_memory)
{
    enum { ROUNDS = 30, MOST = 200 * 1024 * 1024 }; /* each would lose 32 MiB */
    struct limited memory = { .limit = SIZE_MAX };
    lua_State *L = lua_cases_open(allocate_limited, &memory);
    static const char text[] = "local s = string.rep('x', 1000000) large = {} "
                               "for i = 1, 20 do large[i] = s end";
    ck_assert_int_eq(luaL_dostring(L, text), 0);
    memory.limit = memory.used + 1000000;
    size_t before = mem_resident();
    for (int i = 0; i < ROUNDS; i++) {
        lua_getglobal(L, "cjson");
        lua_getfield(L, -1, "encode");
        lua_getglobal(L, "large");
        ck_assert_int_ne(lua_pcall(L, 1, 1, 0), 0);
        ck_assert_str_eq(lua_tostring(L, -1), "not enough memory");
        lua_settop(L, 0);
    }
    ck_assert_uint_lt(mem_resident(), before + MOST);
    lua_close(L);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        values_are_encoded_as_in_redis,  texts_are_decoded_as_in_redis,
        errors_have_the_words_of_redis,  settings_are_checked_and_belong_to_a_module,
        endless_output_is_an_error,      decode_fails_before_it_starts_or_not_at_all,
        a_failed_encode_loses_no_memory, NULL,
    };
    return suite_of("lib_cjson", tests);
}
