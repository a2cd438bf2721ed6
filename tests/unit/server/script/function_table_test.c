/* function_table: names of functions and libraries, what they own, and what clashes. */
#include "server/script/function_table.h"

#include "store/mem/mem.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct function_table table;
static unsigned released; /* a bit for each callback */

static void release(void *ctx, int callback)
{
    (void)ctx;
    ck_assert(!(released & 1u << callback));
    released |= 1u << callback;
}

static void begin(void)
{
    released = 0;
    function_table_init(&table, release, NULL);
}

static void end(void)
{
    function_table_drop(&table);
    ck_assert_uint_eq(table.bytes, 0);
    ck_assert_uint_eq(mem_used(), 0);
}

static bool enroll(struct function_library *library, const char *name, int callback)
{
    struct function_spec spec = { .name = text(name), .callback = callback };
    return function_library_register(library, &spec);
}

/* A library with the function of this name. */
static struct function_library *library_of(const char *name, const char *function, int callback)
{
    struct function_library *library = function_library_new(text(name));
    ck_assert(enroll(library, function, callback));
    return library;
}

START_TEST(functions_are_found_in_any_case_and_libraries_are_not)
{
    begin();
    ck_assert_ptr_null(function_table_find(&table, text("f")));
    struct function_library *library = library_of("Lib", "MyFunction_1", 3);
    function_table_add(&table, library);
    const struct function *function = function_table_find(&table, text("myFUNCTION_1"));
    ck_assert_ptr_nonnull(function);
    ck_assert(bytes_equal(function_name(function), text("MyFunction_1")));
    ck_assert_int_eq(function->callback, 3);
    ck_assert(!function->described);
    ck_assert_ptr_eq(function->library, library);
    ck_assert_ptr_null(function_table_find(&table, text("myfunction")));
    ck_assert_ptr_eq(function_table_library(&table, text("Lib")), library);
    ck_assert_ptr_null(function_table_library(&table, text("lib")));
    end();
    ck_assert_uint_eq(released, 1u << 3);
}
END_TEST

START_TEST(names_longer_than_any_buffer_are_found)
{
    static char name[5000];
    memset(name, 'N', sizeof(name) - 1);
    begin();
    function_table_add(&table, library_of("lib", name, 1));
    ck_assert_ptr_nonnull(function_table_find(&table, text(name)));
    name[300] = 'M';
    ck_assert_ptr_null(function_table_find(&table, text(name)));
    end();
}
END_TEST

START_TEST(a_library_has_each_name_once_in_order_of_registration)
{
    begin();
    struct function_library *library = library_of("lib", "b", 1);
    ck_assert(enroll(library, "a", 2));
    ck_assert(!enroll(library, "B", 3));
    ck_assert_uint_eq(released, 0);
    ck_assert(bytes_equal(function_name(library->first), text("b")));
    ck_assert(bytes_equal(function_name(library->first->next), text("a")));
    ck_assert_ptr_null(library->first->next->next);
    function_library_free(&table, library);
    end();
}
END_TEST

START_TEST(descriptions_may_be_empty_and_have_any_bytes)
{
    begin();
    struct function_library *library = function_library_new(text("lib"));
    struct function_spec spec = { text("f"), LIT("a\0b"), 5, 1 };
    ck_assert(function_library_register(library, &spec));
    spec = (struct function_spec){ text("g"), LIT(""), 0, 2 };
    ck_assert(function_library_register(library, &spec));
    ck_assert(bytes_equal(function_description(library->first), LIT("a\0b")));
    ck_assert_uint_eq(library->first->flags, 5);
    ck_assert(library->last->described);
    ck_assert_uint_eq(function_description(library->last).len, 0);
    function_library_free(&table, library);
    end();
}
END_TEST

START_TEST(a_library_taken_from_one_table_lives_on_in_another)
{
    struct function_table other;
    begin();
    function_table_init(&other, release, NULL);
    struct function_library *library = library_of("one", "f", 1);
    function_table_add(&other, library);
    size_t bytes = other.bytes;
    ck_assert_uint_ge(bytes, sizeof(*library));
    function_table_take(&other, library);
    ck_assert_uint_eq(other.bytes, 0);
    ck_assert_ptr_null(function_table_find(&other, text("f")));
    function_table_drop(&other);
    ck_assert_uint_eq(released, 0);
    function_table_add(&table, library);
    ck_assert_uint_eq(table.bytes, bytes);
    ck_assert_ptr_nonnull(function_table_find(&table, text("f")));
    end();
}
END_TEST

START_TEST(a_removed_library_takes_its_functions_along)
{
    begin();
    struct function_library *one = library_of("one", "f", 1);
    function_table_add(&table, one);
    function_table_add(&table, library_of("two", "g", 2));
    function_table_remove(&table, one);
    ck_assert_uint_eq(released, 1u << 1);
    ck_assert_ptr_null(function_table_find(&table, text("f")));
    ck_assert_ptr_null(function_table_library(&table, text("one")));
    ck_assert_ptr_nonnull(function_table_find(&table, text("g")));
    function_table_clear(&table);
    ck_assert_ptr_null(function_table_find(&table, text("g")));
    ck_assert_uint_eq(released, 3u << 1);
    function_table_add(&table, library_of("two", "g", 3));
    ck_assert_ptr_nonnull(function_table_find(&table, text("g")));
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        functions_are_found_in_any_case_and_libraries_are_not,
        names_longer_than_any_buffer_are_found,
        a_library_has_each_name_once_in_order_of_registration,
        descriptions_may_be_empty_and_have_any_bytes,
        a_library_taken_from_one_table_lives_on_in_another,
        a_removed_library_takes_its_functions_along,
        NULL,
    };
    return suite_of("function_table", tests);
}
