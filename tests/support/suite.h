/* suite: the interface of a unit test file to tests/support/suite.c. */
#pragma once

#include <check.h>
#include <stdbool.h>

/* Check writes the place of every assertion that holds to a file, to name the last one if the test
 * crashes. In random tests these were a million calls of write and half of the time, so a place is
 * written once: a crash names the last place that was reached for the first time. */
#define _mark_point(file, line)                                                                    \
    ({                                                                                             \
        static bool place_written;                                                                 \
        if (!place_written) _mark_point(file, line);                                               \
        place_written = true;                                                                      \
    })

/* Steps of a test that all run without sanitizers. Under ASan and TSan a step may cost ten times as
 * much, and the same code runs in a tenth of them, which TEST_SEED chooses if they are random. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED_TENTH(steps) ((steps) / 10)
enum { SANITIZED_STEP = 10 }; /* of a loop over all places */
#else
#define SANITIZED_TENTH(steps) (steps)
enum { SANITIZED_STEP = 1 };
#endif

/* Each test file defines one, under a name of its own (suite.c). */
Suite *test_suite(void);

/* Is the test named in TEST_SKIP, a list of words? Counts it then. */
bool suite_skips(const char *name);

/* Returns a suite with one test case. NULL ends the list of tests. */
static inline Suite *suite_of(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 120);
    for (; *tests != NULL; tests++)
        if (!suite_skips((*tests)->name)) tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);
    return suite;
}
