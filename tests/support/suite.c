/* The main of a library's unit tests: runs the suite of one file, which argv[0] names. For
 * build/tests/unit/store/struct/dict_test that is the function tests_unit_store_struct_dict_test:
 * the Makefile renames each test_suite to the path of its file, and the linker exports these
 * functions. tests/run adds up the counts of the last line. */
#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"

static int skipped;

bool suite_skips(const char *name)
{
    const char *at = getenv("TEST_SKIP");
    size_t len = strlen(name);
    while (at != NULL && *at != '\0') {
        size_t word = strcspn(at, " ");
        if (word == len && memcmp(at, name, len) == 0) {
            skipped++;
            return true;
        }
        at += word + (at[word] == ' ');
    }
    return false;
}

typedef Suite *suite_maker(void);

static suite_maker *suite_of_program(const char *program)
{
    char path[PATH_MAX];
    if (realpath(program, path) == NULL) return NULL;

    char *name = NULL;
    for (char *at = strstr(path, "tests/unit/"); at != NULL; at = strstr(at + 1, "tests/unit/"))
        name = at;
    if (name == NULL) return NULL;
    for (char *at = name; *at != '\0'; at++)
        if (*at == '/') *at = '_';

    suite_maker *maker;
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(&maker, &symbol,
           sizeof(maker)); /* ISO C converts no object pointer to a function pointer */
    return maker;
}

int main(int argc, char **argv)
{
    suite_maker *maker = argc > 0 ? suite_of_program(argv[0]) : NULL;
    if (maker == NULL) {
        fputs("no suite has this name; start it as build/tests/unit/FOLDER/FILE_test\n", stderr);
        return EXIT_FAILURE;
    }
    SRunner *runner = srunner_create(maker());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    printf("%d passed, %d failed", srunner_ntests_run(runner) - failed, failed);
    if (skipped > 0) printf(", %d skipped", skipped);
    putchar('\n');
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
