/* The main of every unit test: runs the one suite that the test file defines.
 * tests/run adds up the counts of the last line. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/suite.h"

int main(void)
{
    SRunner *runner = srunner_create(test_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    printf("%d passed, %d failed\n", srunner_ntests_run(runner) - failed, failed);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
