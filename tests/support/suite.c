/* The main of every unit test: runs the one suite that the test file defines.
 * tests/run adds up the counts of the last line. */
#include <check.h>
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

int main(void)
{
    SRunner *runner = srunner_create(test_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    printf("%d passed, %d failed", srunner_ntests_run(runner) - failed, failed);
    if (skipped > 0) printf(", %d skipped", skipped);
    putchar('\n');
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
