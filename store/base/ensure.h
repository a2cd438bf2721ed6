/* ensure: assertions that print values, and are enabled in every build. Example:
 *
 *     ensure(d->slot < ag->count, "slot %u of %u", d->slot, ag->count); */
#pragma once

#define ensure(condition, ...)                                                                     \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            ensure_failed(__FILE__, __LINE__, #condition, __VA_ARGS__);                            \
    } while (0)

__attribute__((noreturn, format(printf, 4, 5))) void
ensure_failed(const char *file, int line, const char *condition, const char *format, ...);
