/* ensure: prints the failed assertion and aborts. */
#include "store/base/ensure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void ensure_failed(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ensure(%s): ", file, line, condition);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
