/* Tests of lib_struct: sizes, byte order, alignment, strings, errors. The results are those of
 * Redis 7.0.15. */
#include "tests/support/lua_cases.h"
#include "tests/support/suite.h"

static const struct lua_case integers[] = {
    { "struct.pack('bBhHlLTiI',1,2,3,4,5,6,7,8,9)",
      "'\\001\\002\\003\\000\\004\\000\\005\\000\\000\\000\\000\\000\\000\\000\\006\\000\\000\\000"
      "\\000\\000\\000\\000\\007\\000\\000\\000\\000\\000\\000\\000\\008\\000\\000\\000\\009\\000\\"
      "000\\000'" },
    { "struct.pack('>bBhHlLTiI',-1,255,-2,65535,-3,4,5,-6,4294967295)",
      "'\\255\\255\\255\\254\\255\\255\\255\\255\\255\\255\\255\\255\\255\\253\\000\\000\\000\\000"
      "\\000\\000\\000\\004\\000\\000\\000\\000\\000\\000\\000\\005\\255\\255\\255\\250\\255\\255\\"
      "255\\255'" },
    { "struct.pack('>h<h',1,1)", "'\\000\\001\\001\\000'" },
    { "struct.pack(' > b  b',1,2)", "'\\001\\002'" },
    { "struct.pack('>i3i5i0',-2,1099511627775,9)", "'\\255\\255\\254\\255\\255\\255\\255\\255'" },
    { "struct.pack('>i16',-2)",
      "'\\000\\000\\000\\000\\000\\000\\000\\000\\255\\255\\255\\255\\255\\255\\255\\254'" },
    { "struct.pack('<I10',5)", "'\\005\\000\\000\\000\\000\\000\\000\\000\\000\\000'" },
    { "struct.pack('>i32',1)",
      "'\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000"
      "\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\001'" },
    { "struct.pack('bb',300,-1.9)", "',\\255'" },
    { "struct.pack('b','12')", "'\\012'" },
    { "struct.unpack('bBhH','\\255\\255\\254\\255\\255\\255')", "-1 255 -2 65535 7" },
    { "struct.unpack('>i3I3','\\255\\255\\254\\255\\255\\254')", "-2 16777214 7" },
    { "struct.unpack('>lLT',string.rep('\\255',24))",
      "-1 1.8446744073709552e+19 1.8446744073709552e+19 25" },
    { "struct.unpack('i0','')", "0 1" },
    { "struct.unpack('>i16',string.rep('\\255',16))", "-1 17" },
    { "struct.unpack('>I16','\\1'..string.rep('\\0',14)..'\\2')", "2 17" },
    { "struct.unpack('<i16','\\1'..string.rep('\\0',15))", "1 17" },
};

static const struct lua_case ranges[] = {
    { "struct.pack('>I8I8I8',2^63,2^64,2^65)",
      "'\\128\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000"
      "\\000\\000\\000\\000\\000\\000'" },
    { "struct.pack('>i8i8i8',2^63,-2^63,-2^64)",
      "'\\128\\000\\000\\000\\000\\000\\000\\000\\128\\000\\000\\000\\000\\000\\000\\000\\128\\000"
      "\\000\\000\\000\\000\\000\\000'" },
    { "struct.pack('>I8I8',-1,-2^63-5000)",
      "'\\255\\255\\255\\255\\255\\255\\255\\255\\128\\000\\000\\000\\000\\000\\000\\000'" },
    { "struct.pack('>I8I8I8',0/0,1/0,-1/0)",
      "'\\128\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\128\\000"
      "\\000\\000\\000\\000\\000\\000'" },
    { "struct.pack('>i4i2',2^40+5,1e300)", "'\\000\\000\\000\\005\\000\\000'" },
    { "struct.unpack('>i9','\\0\\0\\0\\0\\0\\0\\0\\0\\200')", "-56 10" },
    { "struct.unpack('>i9','\\0\\0\\0\\0\\0\\0\\0\\1\\100')", "-28 10" },
    { "struct.unpack('>i10','\\0\\0\\0\\0\\0\\0\\0\\1\\200\\100')", "-14236 11" },
    { "struct.unpack('>i17',string.rep('\\0',10)..'\\1\\0\\0\\0\\0\\0\\200')", "-56 18" },
};

static const struct lua_case floats[] = {
    { "struct.pack('>fd',1.5,1.5)", "'?\\192\\000\\000?\\248\\000\\000\\000\\000\\000\\000'" },
    { "struct.pack('<fd',-0.1,-0.1)",
      "'\\205\\204\\204\\189\\154\\153\\153\\153\\153\\153\\185\\191'" },
    { "struct.pack('>f>f>f',1e300,-1e300,1/0)",
      "'\\127\\128\\000\\000\\255\\128\\000\\000\\127\\128\\000\\000'" },
    { "struct.pack('>d',0/0)", "'" LUA_CASES_NAN "\\000\\000\\000\\000\\000\\000'" },
    { "struct.unpack('>fd','\\63\\192\\0\\0\\63\\248\\0\\0\\0\\0\\0\\0')", "1.5 1.5 13" },
    { "struct.unpack('f',struct.pack('f',0.1))", "0.10000000149011612 5" },
    { "struct.unpack('d',struct.pack('d',0.1))", "0.10000000000000001 9" },
};

static const struct lua_case strings[] = {
    { "struct.pack('sc2cc0','abc','def','gh','ij')", "'abc\\000degij'" },
    { "struct.pack('s','a\\0b')", "'a\\000b\\000'" },
    { "struct.pack('bc0',3,'abc')", "'\\003abc'" },
    { "struct.pack('xs',12)", "'\\00012\\000'" },
    { "struct.unpack('ss','abc\\0def\\0')", "'abc' 'def' 9" },
    { "struct.unpack('c2c','abc')", "'ab' 'c' 4" },
    { "struct.unpack('bc0','\\3abcd')", "'abc' 5" },
    { "struct.unpack('bbc0b','\\1\\2abc')", "1 'ab' 99 6" },
    { "struct.unpack('dc0',struct.pack('d',2.9)..'abc')", "'ab' 11" },
    { "struct.unpack('dc0',struct.pack('d',-0.5)..'abc')", "'' 9" },
    { "struct.unpack('dc0',struct.pack('d',1e300)..'abc')", "'' 9" },
    { "struct.unpack('sc0','2\\0abcd')", "'ab' 5" },
    { "struct.unpack('bc0c0','\\0012bc')", "'bc' 5" },
    { "struct.unpack('bc00','\\2ab')", "'ab' 4" },
};

static const struct lua_case alignment[] = {
    { "struct.pack('!bi',1,2)", "'\\001\\000\\000\\000\\002\\000\\000\\000'" },
    { "struct.pack('!8bd',1,2)",
      "'\\001\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000@'" },
    { "struct.pack('!4bd',1,2)", "'\\001\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000@'" },
    { "struct.pack('!2bi',1,2)", "'\\001\\000\\002\\000\\000\\000'" },
    { "struct.pack('!64bi',1,2)", "'\\001\\000\\000\\000\\002\\000\\000\\000'" },
    { "struct.pack('!bi3',1,2)", "'\\001\\000\\000\\002\\000\\000'" },
    { "struct.pack('!bbi5',1,2,3)", "'\\001\\002\\000\\000\\000\\000\\003\\000\\000\\000\\000'" },
    { "struct.pack('!bc3b',1,'abc',2)", "'\\001abc\\002'" },
    { "struct.unpack('!bxi',string.rep('\\1',40))", "1 16843009 9" },
    { "struct.unpack('!8bi16',string.rep('\\1',40))", "1 72340172838076672 25" },
    { "struct.unpack('!8!b!4i!2i',string.rep('\\1\\2\\3',10))", "1 33620738 50462979 13" },
    { "struct.pack('!3bi',1,2)", "error: user_script:1: alignment 3 is not a power of 2" },
    { "struct.pack('!0',1,2)", "error: user_script:1: alignment 0 is not a power of 2" },
    { "struct.size('!2147483647')",
      "error: user_script:1: alignment 2147483647 is not a power of 2" },
};

static const struct lua_case offsets[] = {
    { "struct.unpack('b','abc',2)", "98 3" },
    { "struct.unpack('b','abc','2')", "98 3" },
    { "struct.unpack('b','abc',1.9)", "97 2" },
    { "struct.unpack('b','abc',nil)", "97 2" },
    { "struct.unpack('b','abc',4)",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('b','abc',0)",
      "error: user_script:1: bad argument #3 to 'unpack' (offset must be 1 or greater)" },
    { "struct.unpack('b','abc',-1)",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('b','abc',2^32+1)",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('b','abc','x')",
      "error: user_script:1: bad argument #3 to 'unpack' (number expected, got string)" },
    { "struct.unpack('','abc',9)", "9" },
    { "struct.unpack('','abc',-1)", "-1" },
    { "struct.unpack('','abc',2^63)", "-9.2233720368547758e+18" },
    { "struct.unpack('!i','abcd',-1)",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('s','abc',4)", "error: user_script:1: unfinished string in data" },
    { "struct.unpack('s','abc',5)",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('i0','abc',5)",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
};

static const struct lua_case sizes[] = {
    { "struct.size('bhild')", "23" },
    { "struct.size('!bhild')", "24" },
    { "struct.size('!bT')", "16" },
    { "struct.size('c10xx')", "12" },
    { "struct.size('i i i i',5)", "16" },
    { "struct.size('!64bbi32')", "64" },
    { "struct.size('c2147483647c2147483647')", "4294967294" },
    { "struct.size('q')", "0" },
    { "struct.size('%')",
      "error: user_script:1: bad argument #1 to 'size' (invalid format option '%')" },
    { "struct.size('s')",
      "error: user_script:1: bad argument #1 to 'size' (option 's' has no fixed size)" },
    { "struct.size('c0')",
      "error: user_script:1: bad argument #1 to 'size' (option 'c0' has no fixed size)" },
    { "struct.size()",
      "error: user_script:1: bad argument #1 to 'size' (string expected, got no value)" },
};

static const struct lua_case errors[] = {
    { "struct.pack()",
      "error: user_script:1: bad argument #1 to 'pack' (string expected, got no value)" },
    { "struct.pack({})",
      "error: user_script:1: bad argument #1 to 'pack' (string expected, got table)" },
    { "struct.pack('b')",
      "error: user_script:1: bad argument #2 to 'pack' (number expected, got nil)" },
    { "struct.pack('b','x')",
      "error: user_script:1: bad argument #2 to 'pack' (number expected, got string)" },
    { "struct.pack('bs',1)",
      "error: user_script:1: bad argument #3 to 'pack' (string expected, got nil)" },
    { "struct.pack('s',{})",
      "error: user_script:1: bad argument #2 to 'pack' (string expected, got table)" },
    { "struct.pack('c4','abc')",
      "error: user_script:1: bad argument #3 to 'pack' (string too short)" },
    { "struct.pack('q',1)",
      "error: user_script:1: bad argument #1 to 'pack' (invalid format option 'q')" },
    { "struct.pack('=b',1)",
      "error: user_script:1: bad argument #1 to 'pack' (invalid format option '=')" },
    { "struct.pack('\\1',1)",
      "error: user_script:1: bad argument #1 to 'pack' (invalid format option '')" },
    { "struct.pack('i33',1)", "error: user_script:1: integral size 33 is larger than limit of 32" },
    { "struct.pack('i2147483647',1)",
      "error: user_script:1: integral size 2147483647 is larger than limit of 32" },
    { "struct.pack('i2147483648',1)", "error: user_script:1: integral size overflow" },
    { "struct.pack('c99999999999','x')", "error: user_script:1: integral size overflow" },
    { "struct.pack('c-1','x')",
      "error: user_script:1: bad argument #1 to 'pack' (invalid format option '-')" },
    { "struct.unpack('b')",
      "error: user_script:1: bad argument #2 to 'unpack' (string expected, got no value)" },
    { "struct.unpack('b','')",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('q','abc')",
      "error: user_script:1: bad argument #1 to 'unpack' (invalid format option 'q')" },
    { "struct.unpack('s','abc')", "error: user_script:1: unfinished string in data" },
    { "struct.unpack('c0','abc')", "error: user_script:1: format 'c0' needs a previous size" },
    { "struct.unpack('bc0','\\5abcd')",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('bc0','\\255abcd')",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('dc0',struct.pack('d',0/0)..'abc')",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "struct.unpack('c2147483647','abc')",
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)" },
    { "select('#',struct.unpack(string.rep('b',7997),string.rep('a',7997)))", "7998" },
    { "struct.unpack(string.rep('b',7998),string.rep('a',7998))",
      "error: user_script:1: stack overflow (too many results)" },
    { "local ok,e=pcall(struct.pack,'q',1) return e",
      "'bad argument #1 to \\039?\\039 (invalid format option \\039q\\039)'" },
};

static void check(const struct lua_case *cases, size_t count)
{
    lua_State *L = lua_cases_open(NULL, NULL);
    lua_cases_check(L, cases, count);
    lua_close(L);
}

START_TEST(integers_are_packed_in_either_byte_order)
{
    check(integers, sizeof(integers) / sizeof(integers[0]));
}
END_TEST

START_TEST(numbers_out_of_range_become_what_redis_makes_of_them)
{
    check(ranges, sizeof(ranges) / sizeof(ranges[0]));
}
END_TEST

START_TEST(floats_keep_their_bits)
{
    check(floats, sizeof(floats) / sizeof(floats[0]));
}
END_TEST

START_TEST(strings_have_a_length_or_end_with_zero)
{
    check(strings, sizeof(strings) / sizeof(strings[0]));
}
END_TEST

START_TEST(values_are_aligned_to_powers_of_two)
{
    check(alignment, sizeof(alignment) / sizeof(alignment[0]));
}
END_TEST

START_TEST(unpack_begins_at_the_given_offset)
{
    check(offsets, sizeof(offsets) / sizeof(offsets[0]));
}
END_TEST

START_TEST(size_adds_up_values_and_gaps)
{
    check(sizes, sizeof(sizes) / sizeof(sizes[0]));
}
END_TEST

START_TEST(errors_have_the_words_of_redis)
{
    check(errors, sizeof(errors) / sizeof(errors[0]));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        integers_are_packed_in_either_byte_order,
        numbers_out_of_range_become_what_redis_makes_of_them,
        floats_keep_their_bits,
        strings_have_a_length_or_end_with_zero,
        values_are_aligned_to_powers_of_two,
        unpack_begins_at_the_given_offset,
        size_adds_up_values_and_gaps,
        errors_have_the_words_of_redis,
        NULL,
    };
    return suite_of("lib_struct", tests);
}
