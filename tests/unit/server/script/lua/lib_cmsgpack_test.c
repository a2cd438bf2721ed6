/* Tests of lib_cmsgpack: bytes of every type, errors, limits. The results are those of
 * Redis 7.0.15. */
#include "tests/support/lua_cases.h"
#include "tests/support/suite.h"

static const struct lua_case numbers[] = {
    { "cmsgpack.pack(0,127,128,255,256,65535,65536,4294967295,4294967296)",
      "'\\000\\127\\204\\128\\204\\255\\205\\001\\000\\205\\255\\255\\206\\000\\001\\000\\000\\206"
      "\\255\\255\\255\\255\\207\\000\\000\\000\\001\\000\\000\\000\\000'" },
    { "cmsgpack.pack(2^53,2^63-1024)",
      "'\\207\\000 \\000\\000\\000\\000\\000\\000\\207\\127\\255\\255\\255\\255\\255\\252\\000'" },
    { "cmsgpack.pack(-1,-32,-33,-128,-129,-32768,-32769,-2147483648,-2147483649,-2^63)",
      "'\\255\\224\\208\\223\\208\\128\\209\\255\\127\\209\\128\\000\\210\\255\\255\\127\\255\\210"
      "\\128\\000\\000\\000\\211\\255\\255\\255\\255\\127\\255\\255\\255\\211\\128\\000\\000\\000\\"
      "000\\000\\000\\000'" },
    { "cmsgpack.pack(2^63,2^64,-2^63-2048,1e20)",
      "'\\202_\\000\\000\\000\\202_"
      "\\128\\000\\000\\203\\195\\224\\000\\000\\000\\000\\000\\001\\203D\\021\\175\\029x\\181\\140"
      "@'" },
    { "cmsgpack.pack(0.5,0.1,-0.5,1e300,1e-40,16777217.5)",
      "'\\202?\\000\\000\\000\\203?"
      "\\185\\153\\153\\153\\153\\153\\154\\202\\191\\000\\000\\000\\203~7\\228<"
      "\\136\\000u\\156\\2037\\161l&\\039wW\\156\\203Ap\\000\\000\\024\\000\\000\\000'" },
    { "cmsgpack.pack(tonumber('-0'))", "'\\000'" },
    { "cmsgpack.pack(0/0)", "'\\203" LUA_CASES_NAN "\\000\\000\\000\\000\\000\\000'" },
    { "cmsgpack.pack(1/0,-1/0)", "'\\202\\127\\128\\000\\000\\202\\255\\128\\000\\000'" },
};

static const struct lua_case texts[] = {
    { "cmsgpack.pack(nil,true,false,'','a')", "'\\192\\195\\194\\160\\161a'" },
    { "cmsgpack.pack(string.rep('a',31)):sub(1,2)", "'\\191a'" },
    { "cmsgpack.pack(string.rep('a',32)):sub(1,3)", "'\\217 a'" },
    { "cmsgpack.pack(string.rep('a',256)):sub(1,4)", "'\\218\\001\\000a'" },
    { "cmsgpack.pack(string.rep('a',65536)):sub(1,6)", "'\\219\\000\\001\\000\\000a'" },
    { "#cmsgpack.pack(string.rep('a',1000),{string.rep('b',70000)},string.rep('c',1000))",
      "72012" },
    { "cmsgpack.pack(cjson.null,function() end,coroutine.create(function() end))",
      "'\\192\\192\\192'" },
    { "cmsgpack.pack(string.rep('a',600)..'b'):sub(-3)", "'aab'" },
};

static const struct lua_case tables[] = {
    { "cmsgpack.pack({},{1,2,3},{{},{{}}})", "'\\144\\147\\001\\002\\003\\146\\144\\145\\144'" },
    { "cmsgpack.pack({1,nil,3})", "'\\130\\001\\001\\003\\003'" },
    { "cmsgpack.pack({nil,2})", "'\\129\\002\\002'" },
    { "cmsgpack.pack({[0]=1})", "'\\129\\000\\001'" },
    { "cmsgpack.pack({[1.5]=1},{a=1},{[-1]=1},{['1']=1},{[true]=1})",
      "'\\129\\202?"
      "\\192\\000\\000\\001\\129\\161a\\001\\129\\255\\001\\129\\1611\\001\\129\\195\\001'" },
    { "cmsgpack.pack({[2^31]=1},{[2^40]=1},{[{}]=1},{[error]=1}):sub(1,26)",
      "'\\129\\206\\128\\000\\000\\000\\001\\129\\207\\000\\000\\001\\000\\000\\000\\000\\000\\001"
      "\\129\\144\\001\\129\\192\\001'" },
    { "local t={} for i=1,15 do t[i]=i end return cmsgpack.pack(t)",
      "'\\159\\001\\002\\003\\004\\005\\006\\007\\008\\009\\010\\011\\012\\013\\014\\015'" },
    { "local t={} for i=1,16 do t[i]=i end return cmsgpack.pack(t):sub(1,5)",
      "'\\220\\000\\016\\001\\002'" },
    { "local t={} for i=1,65536 do t[i]=1 end return cmsgpack.pack(t):sub(1,6)",
      "'\\221\\000\\001\\000\\000\\001'" },
    { "local t={} for i=1,16 do t['k'..i]=1 end return cmsgpack.pack(t):sub(1,3)",
      "'\\222\\000\\016'" },
    { "local t={} for i=1,65536 do t['k'..i]=1 end return cmsgpack.pack(t):sub(1,5)",
      "'\\223\\000\\001\\000\\000'" },
    { "cmsgpack.pack(setmetatable({1,2},{__index=error}))", "'\\146\\001\\002'" },
};

static const struct lua_case nesting[] = {
    { "local t=1 for i=1,16 do t={t} end return cmsgpack.pack(t)",
      "'\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\001'" },
    { "local t=1 for i=1,17 do t={t} end return cmsgpack.pack(t)",
      "'\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\192'" },
    { "local t=1 for i=1,17 do t={a=t} end return cmsgpack.pack(t)",
      "'\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\1"
      "29\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\192"
      "'" },
    { "local t={} t[1]=t return cmsgpack.pack(t)",
      "'\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\145\\192'" },
    { "local t={} t.a=t return cmsgpack.pack(t)",
      "'\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\1"
      "29\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\129\\161a\\192"
      "'" },
};

static const struct lua_case forms[] = {
    { "cmsgpack.unpack('\\1\\127\\224\\255\\192\\194\\195')", "1 127 -32 -1 nil false true" },
    { "cmsgpack.unpack('\\202\\63\\128\\0\\0\\203\\63\\240\\0\\0\\0\\0\\0\\0')", "1 1" },
    { "cmsgpack.unpack('\\204\\255\\205\\255\\255\\206\\255\\255\\255\\255')",
      "255 65535 4294967295" },
    { "cmsgpack.unpack('\\207\\127\\255\\255\\255\\255\\255\\255\\255')",
      "9.2233720368547758e+18" },
    { "cmsgpack.unpack('\\207\\255\\255\\255\\255\\255\\255\\255\\255')", "-1" },
    { "cmsgpack.unpack('"
      "\\208\\255\\209\\255\\254\\210\\255\\255\\255\\253\\211\\255\\255\\255\\255\\255\\255\\255\\"
      "252')",
      "-1 -2 -3 -4" },
    { "cmsgpack.unpack('\\160\\161a\\217\\1b\\218\\0\\1c\\219\\0\\0\\0\\1d')",
      "'' 'a' 'b' 'c' 'd'" },
    { "cmsgpack.unpack('\\144\\145a\\220\\0\\1b\\221\\0\\0\\0\\1c')", "{} {97} {98} {99}" },
    { "cmsgpack.unpack('\\128\\129\\161ab\\222\\0\\1\\161cd\\223\\0\\0\\0\\1\\161ef')",
      "{} {['a']=98} {['c']=100} {['e']=102}" },
    { "cmsgpack.unpack('\\130\\1\\2\\1\\3')", "{3}" },
    { "cmsgpack.unpack('\\129\\1\\192')", "{}" },
    { "cmsgpack.unpack('\\129\\195\\145\\129\\194\\1')", "{[true]={{[false]=1}}}" },
    { "cmsgpack.unpack('')", "" },
    { "cmsgpack.unpack(12)", "49 50" },
    { "cmsgpack.unpack(cmsgpack.pack({1,{a='b',[7]=0.25}},'x',-5))",
      "{1 {['a']='b' [7]=0.25}} 'x' -5" },
};

static const struct lua_case offsets[] = {
    { "cmsgpack.unpack('\\1\\2\\3',1)", "1 2 3" },
    { "cmsgpack.unpack_one('\\1\\2\\3')", "1 1" },
    { "cmsgpack.unpack_one('\\1\\2\\3',1)", "2 2" },
    { "cmsgpack.unpack_one('\\1\\2\\3',2)", "-1 3" },
    { "cmsgpack.unpack_one('\\1\\2\\3',3)", "-1" },
    { "cmsgpack.unpack_one('\\1\\2\\3',4)",
      "error: user_script:1: Start offset 4 greater than input length 3." },
    { "cmsgpack.unpack_one('\\1\\2\\3',-1)",
      "error: user_script:1: Invalid request to unpack with offset of -1 and limit of 3." },
    { "cmsgpack.unpack_one('\\1\\2\\3',2^31)",
      "error: user_script:1: Start offset -2147483648 greater than input length 3." },
    { "cmsgpack.unpack_one('\\1\\2\\3',2^32)",
      "error: user_script:1: Start offset 0 greater than input length 3." },
    { "cmsgpack.unpack_one('\\1\\2\\3','x')",
      "error: user_script:1: bad argument #2 to 'unpack_one' (number expected, got string)" },
    { "cmsgpack.unpack_one('\\145\\1\\2')", "2 {1}" },
    { "cmsgpack.unpack_one('\\1\\161')", "1 1" },
    { "cmsgpack.unpack_limit('\\1\\2\\3',0)", "1 2 3" },
    { "cmsgpack.unpack_limit('\\1\\2\\3',2)", "2 1 2" },
    { "cmsgpack.unpack_limit('\\1\\2\\3',3)", "-1 1 2 3" },
    { "cmsgpack.unpack_limit('\\1\\2\\3',2,1)", "-1 2 3" },
    { "cmsgpack.unpack_limit('\\1\\2\\3',0,2)", "2" },
    { "cmsgpack.unpack_limit('\\1\\2\\3',-1)",
      "error: user_script:1: Invalid request to unpack with offset of 0 and limit of 3." },
    { "cmsgpack.unpack_limit('\\1\\2\\3',1,-2)",
      "error: user_script:1: Invalid request to unpack with offset of -2 and limit of 3." },
    { "cmsgpack.unpack_limit('\\1\\2\\3',2^40)", "-1 1 2 3" },
    { "cmsgpack.unpack_limit('',1)", "-1" },
    { "cmsgpack.unpack_limit('',0)", "" },
    { "cmsgpack.unpack_limit()",
      "error: user_script:1: bad argument #2 to 'unpack_limit' (number expected, got no value)" },
    { "cmsgpack.unpack_limit('',1,'x')",
      "error: user_script:1: bad argument #3 to 'unpack_limit' (number expected, got string)" },
};

static const struct lua_case errors[] = {
    { "cmsgpack.pack()",
      "error: user_script:1: bad argument #0 to 'pack' (MessagePack pack needs input.)" },
    { "cmsgpack.unpack()",
      "error: user_script:1: bad argument #1 to 'unpack' (string expected, got no value)" },
    { "cmsgpack.unpack({})",
      "error: user_script:1: bad argument #1 to 'unpack' (string expected, got table)" },
    { "cmsgpack.unpack('\\193')", "error: user_script:1: Bad data format in input." },
    { "cmsgpack.unpack('\\196\\1a')", "error: user_script:1: Bad data format in input." },
    { "cmsgpack.unpack('\\201\\1\\1a')", "error: user_script:1: Bad data format in input." },
    { "cmsgpack.unpack('\\212\\1a')", "error: user_script:1: Bad data format in input." },
    { "cmsgpack.unpack('\\161')", "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\202\\1')", "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\203\\1')", "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\204')", "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\145')", "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\129\\1')", "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\221\\255\\255\\255\\255')",
      "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\223\\255\\255\\255\\255')",
      "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\219\\255\\255\\255\\255a')",
      "error: user_script:1: Missing bytes in input." },
    { "cmsgpack.unpack('\\129\\192\\1')", "error: table index is nil" },
    { "cmsgpack.unpack('\\129\\202\\127\\192\\0\\0\\1')", "error: table index is NaN" },
    { "local ok,e=pcall(cmsgpack.unpack,'\\161') return e", "'Missing bytes in input.'" },
};

static const struct lua_case limits[] = {
    { "select('#',cmsgpack.unpack(string.rep('\\1',7999)))", "7999" },
    { "cmsgpack.unpack(string.rep('\\1',8000))",
      "error: user_script:1: stack overflow (too many return values at once; use unpack_one or "
      "unpack_limit instead.)" },
    { "select('#',cmsgpack.unpack_limit(string.rep('\\1',7998),7998))", "7999" },
    { "cmsgpack.unpack_limit(string.rep('\\1',7999),7999)",
      "error: user_script:1: stack overflow (in function mp_unpack_full)" },
    { "select('#',cmsgpack.unpack(string.rep('\\145',3999)..'\\1'))", "1" },
    { "cmsgpack.unpack(string.rep('\\145',3999)..'\\144')",
      "error: user_script:1: stack overflow (in function mp_decode_to_lua_array)" },
    { "cmsgpack.unpack(string.rep('\\145',1000000)..'\\1')",
      "error: user_script:1: stack overflow (in function mp_decode_to_lua_array)" },
    { "select('#',cmsgpack.unpack(string.rep('\\129\\1',3999)..'\\128'))", "1" },
    { "cmsgpack.unpack(string.rep('\\129\\1',4000)..'\\1')",
      "error: user_script:1: stack overflow (too many return values at once; use unpack_one or "
      "unpack_limit instead.)" },
    { "local t={} for i=1,4000 do t[i]=1 end return #cmsgpack.pack(unpack(t))", "4000" },
    { "local t={} for i=1,4001 do t[i]=1 end return #cmsgpack.pack(unpack(t))",
      "error: user_script:1: bad argument #0 to 'pack' (Too many arguments for MessagePack "
      "pack.)" },
};

static void check(const struct lua_case *cases, size_t count)
{
    lua_State *L = lua_cases_open(NULL, NULL);
    lua_cases_check(L, cases, count);
    lua_close(L);
}

START_TEST(numbers_take_their_shortest_form)
{
    check(numbers, sizeof(numbers) / sizeof(numbers[0]));
}
END_TEST

START_TEST(other_values_and_texts_are_packed)
{
    check(texts, sizeof(texts) / sizeof(texts[0]));
}
END_TEST

START_TEST(tables_with_keys_1_to_n_are_arrays)
{
    check(tables, sizeof(tables) / sizeof(tables[0]));
}
END_TEST

START_TEST(tables_below_level_16_become_nil)
{
    check(nesting, sizeof(nesting) / sizeof(nesting[0]));
}
END_TEST

START_TEST(values_of_every_form_are_unpacked)
{
    check(forms, sizeof(forms) / sizeof(forms[0]));
}
END_TEST

START_TEST(unpack_one_and_unpack_limit_return_where_they_stopped)
{
    check(offsets, sizeof(offsets) / sizeof(offsets[0]));
}
END_TEST

START_TEST(bad_input_is_an_error)
{
    check(errors, sizeof(errors) / sizeof(errors[0]));
}
END_TEST

START_TEST(as_many_values_fit_as_in_redis)
{
    check(limits, sizeof(limits) / sizeof(limits[0]));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        numbers_take_their_shortest_form,
        other_values_and_texts_are_packed,
        tables_with_keys_1_to_n_are_arrays,
        tables_below_level_16_become_nil,
        values_of_every_form_are_unpacked,
        unpack_one_and_unpack_limit_return_where_they_stopped,
        bad_input_is_an_error,
        as_many_values_fit_as_in_redis,
        NULL,
    };
    return suite_of("lib_cmsgpack", tests);
}
