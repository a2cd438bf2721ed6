/* Tests of finding the keys and channels of calls that nobody has checked yet: for every command,
 * any number of arguments, right or wrong. */
#include "server/cmd/call/command.h"
#include "server/engine/acl/acl.h"
#include "server/engine/acl/acl_user.h"

#include <string.h>

#include "tests/support/program.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { ARGS_MAX = 12, BEHIND = 8, CALLS = 200, UNTOUCHED = -7 };

static struct server_world world;
static struct program_rows rows;
static const struct acl_user *limited;

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    program_rows(&rows, world.engine.commands, program_is_any);
    struct bytes reply =
        server_world_send(&world, 0, "ACL SETUSER limited on nopass +@all ~a* &a*");
    ck_assert_msg(bytes_equal(reply, LIT("+OK\r\n")), "%.*s", (int)reply.len, reply.data);
    limited = acl_find(world.engine.acl, LIT("limited"));
    ck_assert_ptr_nonnull(limited);
}

static void end(void)
{
    server_world_drop(&world);
}

/* Reading an argument behind the last one ends the test. */
static int draw_call(struct rng *rng, struct bytes *argv, struct command_ref ref)
{
    static const char *const words[] = { "a",
                                         "b",
                                         "0",
                                         "1",
                                         "2",
                                         "3",
                                         "-1",
                                         "9",
                                         "",
                                         "STORE",
                                         "KEYS",
                                         "STREAMS",
                                         "GET",
                                         "BY",
                                         "LIMIT",
                                         "GROUP",
                                         "99999999999999",
                                         "COUNT",
                                         "FROM",
                                         "STOREDIST" };
    static const struct bytes outside = { (const char *)8, 100 };
    int first = ref.parent != NULL ? 2 : 1;
    int argc = first + (int)rng_below(rng, (uint64_t)(ARGS_MAX - first + 1));
    argv[0] = LIT("name");
    for (int i = 1; i < argc; i++) {
        const char *word = words[rng_below(rng, sizeof(words) / sizeof(words[0]))];
        argv[i] = bytes_of(word, strlen(word));
    }
    for (int i = argc; i < ARGS_MAX + BEHIND; i++)
        argv[i] = outside;
    return argc;
}

static void check_keys(struct command_ref ref, int argc, const struct bytes *argv)
{
    int positions[ARGS_MAX + BEHIND];
    unsigned flags[ARGS_MAX + BEHIND];
    for (int i = 0; i < ARGS_MAX + BEHIND; i++)
        positions[i] = UNTOUCHED;
    int count = command_keys(ref.row, argc, argv, positions);
    command_key_flags(ref.row, argc, argv, positions, count, flags);
    ck_assert_msg(count >= -1 && count <= argc, "%s: %d keys in %d", ref.row->name, count, argc);
    for (int i = 0; i < count; i++)
        ck_assert_msg(positions[i] > 0 && positions[i] < argc, "%s: key at %d of %d", ref.row->name,
                      positions[i], argc);
    for (int i = argc; i < ARGS_MAX + BEHIND; i++)
        ck_assert_msg(positions[i] == UNTOUCHED, "%s: more positions than arguments",
                      ref.row->name);
    if (!command_fits_arity(ref.row, argc))
        ck_assert_msg(count <= 0, "%s: keys in %d arguments", ref.row->name, argc);
}

START_TEST(keys_and_channels_are_arguments_of_the_call)
{
    struct bytes argv[ARGS_MAX + BEHIND];
    struct rng rng;
    rng_init(&rng, test_seed());
    begin();
    for (unsigned i = 0; i < rows.count; i++) {
        for (int call = 0; call < CALLS; call++) {
            int argc = draw_call(&rng, argv, rows.refs[i]), at;
            check_keys(rows.refs[i], argc, argv);
            acl_user_check(limited, rows.refs[i], argc, argv, &at);
            ck_assert_int_lt(at, argc);
            acl_user_reads_all(limited, rows.refs[i], argc, argv);
        }
    }
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { keys_and_channels_are_arguments_of_the_call, NULL };
    return suite_of("find_keys", tests);
}
