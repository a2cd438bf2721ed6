/* Tests of scripts: finding, forgetting, keeping and flushing compiled scripts. */
#include "server/script/scripts.h"

#include <stdio.h>
#include <string.h>

#include "server/script/host.h"
#include "server/script/lua/interpreter.h"
#include "tests/support/suite.h"

static struct interpreter *interpreter;
static struct scripts scripts;
static char why[256];

static void begin(void)
{
    interpreter = interpreter_new();
    sandbox_open(interpreter->lua);
    lua_settop(interpreter->lua, 0);
    scripts_init(&scripts, interpreter->lua);
}

static void end(void)
{
    ck_assert_int_eq(lua_gettop(interpreter->lua), 0);
    scripts_drop(&scripts);
    ck_assert_uint_eq(scripts.bytes, 0);
    interpreter_free(interpreter);
}

static struct script *get(const char *text)
{
    return scripts_get(&scripts, bytes_of(text, strlen(text)), why, sizeof(why));
}

static struct script *get_numbered(int i)
{
    char text[32];
    snprintf(text, sizeof(text), "return %d", i);
    return get(text);
}

static void run(struct script *script)
{
    scripts_begin(&scripts, script);
    scripts_end(&scripts, script);
}

START_TEST(script_is_found_by_text_and_by_sha_in_any_case)
{
    begin();
    struct script *script = get("return 1");
    ck_assert_ptr_nonnull(script);
    ck_assert_str_eq(script->sha, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    ck_assert_ptr_eq(get("return 1"), script);
    ck_assert_ptr_eq(scripts_find(&scripts, LIT("E0E1F9FABFC9D4800C877A703B823AC0578FF8DB")),
                     script);
    ck_assert_ptr_null(scripts_find(&scripts, LIT("e0e1")));
    ck_assert_ptr_null(scripts_find(&scripts, LIT("ffffffffffffffffffffffffffffffffffffffff")));
    end();
}
END_TEST

START_TEST(bad_script_is_not_kept_and_reports_why)
{
    begin();
    ck_assert_ptr_null(get("return ="));
    ck_assert(strncmp(why, "ERR Error compiling script (new function): user_script:1:", 56) == 0);
    ck_assert_ptr_null(get("#!lua flags=x\nreturn 1"));
    ck_assert_str_eq(why, "ERR Unexpected flag in script shebang: x");
    ck_assert_uint_eq(dict_count(&scripts.by_sha), 0);
    ck_assert_uint_eq(get("#!lua flags=no-writes\nreturn 1")->flags, SCRIPT_NO_WRITES);
    end();
}
END_TEST

START_TEST(least_recently_used_script_of_eval_is_forgotten)
{
    begin();
    for (int i = 0; i < SCRIPTS_KEPT; i++)
        run(get_numbered(i));
    char first[SHA1_HEX_LEN + 1], second[SHA1_HEX_LEN + 1];
    strcpy(second, get_numbered(1)->sha);
    strcpy(first, get_numbered(0)->sha);
    run(get_numbered(0));
    run(get_numbered(SCRIPTS_KEPT));
    ck_assert_ptr_nonnull(scripts_find(&scripts, bytes_of(first, SHA1_HEX_LEN)));
    ck_assert_ptr_null(scripts_find(&scripts, bytes_of(second, SHA1_HEX_LEN)));
    ck_assert_uint_eq(dict_count(&scripts.by_text), SCRIPTS_KEPT);
    end();
}
END_TEST

START_TEST(loaded_script_stays_until_flush)
{
    begin();
    struct script *kept = get("return 'kept'");
    scripts_keep(&scripts, kept);
    scripts_keep(&scripts, kept);
    for (int i = 0; i <= SCRIPTS_KEPT; i++)
        run(get_numbered(i));
    ck_assert_ptr_eq(get("return 'kept'"), kept);
    ck_assert_uint_eq(dict_count(&scripts.by_sha), SCRIPTS_KEPT + 1);
    scripts_flush(&scripts);
    ck_assert_uint_eq(dict_count(&scripts.by_sha), 0);
    end();
}
END_TEST

START_TEST(script_that_is_flushed_while_it_runs_is_freed_at_its_end)
{
    begin();
    struct script *script = get("return 1");
    scripts_begin(&scripts, script);
    scripts_flush(&scripts);
    ck_assert_uint_eq(dict_count(&scripts.by_sha), 0);
    ck_assert_uint_gt(scripts.bytes, 0);
    scripts_end(&scripts, script);
    ck_assert_uint_eq(scripts.bytes, 0);
    ck_assert_ptr_nonnull(get("return 1"));
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        script_is_found_by_text_and_by_sha_in_any_case,
        bad_script_is_not_kept_and_reports_why,
        least_recently_used_script_of_eval_is_forgotten,
        loaded_script_stays_until_flush,
        script_that_is_flushed_while_it_runs_is_freed_at_its_end,
        NULL,
    };
    return suite_of("scripts", tests);
}
