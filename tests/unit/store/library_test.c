/* library: the libraries of a store, and their mutators, effects and walk. */
#include "store/library.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "store/txn/effect_row.h"
#include "store/walk.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;

static void load(const char *name, const char *code)
{
    txn_library_set(world_begin(&world), text(name), text(code));
    world_commit(&world);
}

static bool drop(const char *name)
{
    bool dropped = txn_library_drop(world_begin(&world), text(name));
    world_commit(&world);
    return dropped;
}

static void assert_code(const struct store *store, const char *name, const char *code)
{
    const struct library *library = libraries_find(&store->libraries, text(name));
    ck_assert_msg(library != NULL, "there is no library %s", name);
    ck_assert(bytes_equal(library_name(library), text(name)));
    ck_assert(bytes_equal(library_code(library), text(code)));
}

static bool same_digest(const struct store *a, const struct store *b)
{
    struct digest x = store_digest(a, 0), y = store_digest(b, 0);
    return x.high == y.high && x.low == y.low;
}

START_TEST(names_are_letters_digits_and_underscores)
{
    static const char *const good[] = { "a", "Z9", "_", "0_a", NULL };
    static const char *const bad[] = { "", "a-b", "a b", "\xc3\xa4", "a\n", "a*", NULL };
    for (int i = 0; good[i] != NULL; i++)
        ck_assert_msg(library_name_ok(text(good[i])), "%s", good[i]);
    for (int i = 0; bad[i] != NULL; i++)
        ck_assert_msg(!library_name_ok(text(bad[i])), "%s", bad[i]);
    ck_assert(!library_name_ok(LIT("a\0b")));
}
END_TEST

START_TEST(a_library_is_found_until_it_is_dropped)
{
    world_init(&world);
    ck_assert(!drop("lib"));
    load("lib", "one");
    load("Lib", "other");
    load("lib", "two");
    assert_code(world.store, "lib", "two");
    assert_code(world.store, "Lib", "other");
    ck_assert_uint_eq(libraries_count(&world.store->libraries), 2);
    ck_assert(drop("lib"));
    ck_assert(!drop("lib"));
    ck_assert_ptr_null(libraries_find(&world.store->libraries, text("lib")));
    ck_assert_uint_eq(libraries_count(&world.store->libraries), 1);
    world_drop(&world);
}
END_TEST

START_TEST(every_change_has_an_effect_and_a_new_version)
{
    world_init(&world);
    uint64_t version = world.store->libraries.version;
    load("lib", "code");
    ck_assert_uint_ne(world.store->libraries.version, version);
    version = world.store->libraries.version;
    drop("none");
    ck_assert_uint_eq(world.store->libraries.version, version);
    drop("lib");
    ck_assert_uint_ne(world.store->libraries.version, version);
    ck_assert_uint_eq(world.effect_count, 2);
    ck_assert_int_eq(world.effects[0].effect.kind, EFFECT_LIBRARY_SET);
    ck_assert(bytes_equal(world.effects[0].effect.a, text("code")));
    ck_assert_int_eq(world.effects[1].effect.kind, EFFECT_LIBRARY_DROP);
    ck_assert(bytes_equal(world.effects[1].effect.key, text("lib")));
    ck_assert(!effect_is_seen(&world.effects[0].effect));
    ck_assert_uint_eq(world.store->changes, 2);
    world_drop(&world);
}
END_TEST

START_TEST(setting_the_same_code_gives_a_new_stamp)
{
    struct libraries libraries;
    libraries_init(&libraries);
    uint64_t first = library_stamp(libraries_set(&libraries, text("a"), text("code")));
    uint64_t other = library_stamp(libraries_set(&libraries, text("b"), text("code")));
    uint64_t second = library_stamp(libraries_set(&libraries, text("a"), text("code")));
    ck_assert(first != other && second != other && first != second);
    ck_assert_uint_eq(library_stamp(libraries_find(&libraries, text("b"))), other);
    libraries_drop(&libraries);
}
END_TEST

START_TEST(arguments_may_point_into_the_library_itself)
{
    world_init(&world);
    load("lib", "code");
    const struct library *library = libraries_find(&world.store->libraries, text("lib"));
    txn_library_set(world_begin(&world), library_name(library), library_code(library));
    world_commit(&world);
    assert_code(world.store, "lib", "code");
    library = libraries_find(&world.store->libraries, text("lib"));
    ck_assert(txn_library_drop(world_begin(&world), library_name(library)));
    world_commit(&world);
    ck_assert(bytes_equal(world.effects[2].effect.key, text("lib")));
    world_drop(&world);
}
END_TEST

START_TEST(effects_rebuild_the_libraries)
{
    world_init(&world);
    load("a", "one");
    load("b", "two");
    load("a", "");
    load("c", "three");
    drop("b");
    struct store *copy = world_replay(&world);
    ck_assert_uint_eq(libraries_count(&copy->libraries), 2);
    assert_code(copy, "a", "");
    assert_code(copy, "c", "three");
    ck_assert(same_digest(world.store, copy));
    load("c", "other");
    ck_assert(!same_digest(world.store, copy));
    store_free(copy);
    world_drop(&world);
}
END_TEST

struct visit {
    unsigned libraries, others;
};

static void count_effect(void *ctx, const struct effect *effect)
{
    struct visit *visit = ctx;
    if (effect->kind != EFFECT_LIBRARY_SET)
        visit->others++;
    else
        visit->libraries++;
    ck_assert_msg(effect->kind != EFFECT_LIBRARY_SET || visit->others == 0,
                  "a library comes after other data");
}

static bool key_done(void *ctx)
{
    (void)ctx;
    return true;
}

START_TEST(a_walk_visits_libraries_before_anything_else)
{
    world_init(&world);
    struct visit visit = { 0 };
    world_set(&world, "k", "v", NEVER);
    txn_policy_set(world_begin(&world), text("p*"), &(struct policy){ .ttl = 5 });
    world_commit(&world);
    load("a", "one");
    load("b", "two");
    walk_store(world.store, &(struct store_visitor){ count_effect, key_done, &visit, NULL, false });
    ck_assert_uint_eq(visit.libraries, 2);
    ck_assert_uint_eq(visit.others, 2);
    world_drop(&world);
}
END_TEST

START_TEST(flushing_all_databases_keeps_libraries)
{
    world_init(&world);
    load("lib", "code");
    txn_flush_all(world_begin(&world));
    world_commit(&world);
    assert_code(world.store, "lib", "code");
    world_drop(&world);
}
END_TEST

START_TEST(replacing_the_data_replaces_libraries_and_their_version)
{
    world_init(&world);
    struct store *other = store_new(16);
    load("old", "code");
    uint64_t version = world.store->libraries.version;
    uint64_t stamp = library_stamp(libraries_find(&world.store->libraries, text("old")));
    libraries_set(&other->libraries, text("new"), text("code"));
    store_replace(world.store, other);
    const struct library *library = libraries_find(&world.store->libraries, text("new"));
    ck_assert_uint_ne(library_stamp(library), stamp);
    assert_code(world.store, "new", "code");
    ck_assert_uint_eq(libraries_count(&world.store->libraries), 1);
    ck_assert_uint_ne(world.store->libraries.version, version);
    world_drop(&world);
}
END_TEST

START_TEST(memory_is_counted_and_comes_back)
{
    size_t before = mem_used();
    struct libraries libraries;
    libraries_init(&libraries);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 200; i++) {
            char name[16];
            int len = snprintf(name, sizeof(name), "lib%d", i);
            libraries_set(&libraries, bytes_of(name, (size_t)len), text("some code"));
        }
    libraries_check(&libraries);
    ck_assert_uint_ge(libraries.bytes, 200 * (strlen("lib0") + strlen("some code")));
    ck_assert_uint_eq(mem_used() - before, libraries.bytes + dict_bytes(&libraries.dict));
    libraries_drop(&libraries);
    ck_assert_uint_eq(libraries.bytes, 0);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        names_are_letters_digits_and_underscores,
        a_library_is_found_until_it_is_dropped,
        every_change_has_an_effect_and_a_new_version,
        setting_the_same_code_gives_a_new_stamp,
        arguments_may_point_into_the_library_itself,
        effects_rebuild_the_libraries,
        a_walk_visits_libraries_before_anything_else,
        flushing_all_databases_keeps_libraries,
        replacing_the_data_replaces_libraries_and_their_version,
        memory_is_counted_and_comes_back,
        NULL,
    };
    return suite_of("library", tests);
}
