/* Tests of persist_move: the folder of the data files changes only while nothing is written there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/loop.h"
#include "server/disk/persist.h"
#include "store/store.h"
#include "tests/support/suite.h"

static struct {
    char first[64], second[64];
    struct conf conf;
    struct clock clock;
    struct persist *persist;
    struct persist_wiring wiring;
} world;

static const struct stream_position *no_position(void *ctx)
{
    (void)ctx;
    return NULL;
}

static void make_folder(char *path)
{
    strcpy(path, "/tmp/move-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

static void begin(void)
{
    make_folder(world.first);
    make_folder(world.second);
    ck_assert_int_eq(chdir(world.first), 0);
    conf_init(&world.conf);
    clock_init(&world.clock);
    world.wiring = (struct persist_wiring){ .loop = loop_new(),
                                            .clock = &world.clock,
                                            .conf = &world.conf,
                                            .store = store_new(1),
                                            .stream_position = no_position };
    world.persist = persist_new(&world.wiring);
    ck_assert_ptr_nonnull(world.persist);
}

static void end(void)
{
    char command[200];
    persist_free(world.persist);
    store_free(world.wiring.store);
    loop_free(world.wiring.loop);
    conf_drop(&world.conf);
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(command, sizeof(command), "rm -r %s %s", world.first, world.second);
    ck_assert_int_eq(system(command), 0);
}

static void assert_is_in(const char *folder)
{
    char *here = getcwd(NULL, 0);
    ck_assert_str_eq(here, folder);
    free(here);
}

START_TEST(snapshots_are_written_where_it_has_moved)
{
    begin();
    ck_assert_int_eq(persist_move(world.persist, world.second), 0);
    assert_is_in(world.second);
    ck_assert_int_eq(persist_save(world.persist), PERSIST_DONE);
    ck_assert_int_eq(access("dump.exp", F_OK), 0);
    ck_assert_int_eq(persist_move(world.persist, world.first), 0);
    ck_assert_int_ne(access("dump.exp", F_OK), 0);
    end();
}
END_TEST

START_TEST(a_folder_that_is_missing_changes_nothing)
{
    begin();
    ck_assert_int_eq(persist_move(world.persist, "/nowhere/at/all"), ENOENT);
    assert_is_in(world.first);
    end();
}
END_TEST

START_TEST(it_stays_while_a_snapshot_is_due)
{
    begin();
    ck_assert_int_eq(persist_begin_save(world.persist, false), PERSIST_DONE);
    ck_assert_int_eq(persist_move(world.persist, world.second), EBUSY);
    assert_is_in(world.first);
    end();
}
END_TEST

START_TEST(it_stays_while_there_is_a_journal)
{
    begin();
    world.conf.appendonly = true;
    ck_assert(persist_configure(world.persist));
    ck_assert_int_eq(persist_move(world.persist, world.second), EBUSY);
    assert_is_in(world.first);
    world.conf.appendonly = false;
    ck_assert(persist_configure(world.persist));
    ck_assert_int_eq(persist_move(world.persist, world.second), 0);
    world.conf.appendonly = true;
    ck_assert(persist_configure(world.persist));
    ck_assert_int_eq(access("appendonlydir", F_OK), 0);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        snapshots_are_written_where_it_has_moved,
        a_folder_that_is_missing_changes_nothing,
        it_stays_while_a_snapshot_is_due,
        it_stays_while_there_is_a_journal,
        NULL,
    };
    return suite_of("move", tests);
}
