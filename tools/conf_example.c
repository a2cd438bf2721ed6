/* conf_example: prints expired.conf.example from the option table. */
#include "conf/conf.h"

int main(void)
{
    conf_write_example(stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
