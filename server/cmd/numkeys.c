/* numkeys: see numkeys.h. */
#include "server/cmd/numkeys.h"

#include <ctype.h>

int numkeys_find(int argc, const struct bytes *argv, int i, int *positions)
{
    if (i >= argc) return -1;
    struct bytes text = argv[i];
    size_t at = 0;
    int64_t count = 0;
    while (at < text.len && isspace((unsigned char)text.data[at]))
        at++;
    at += at < text.len && text.data[at] == '+';
    for (; at < text.len && isdigit((unsigned char)text.data[at]) && count < argc; at++)
        count = 10 * count + (text.data[at] - '0');
    if (count < 1 || count >= argc - i) return -1;
    for (int key = 0; key < (int)count; key++)
        positions[key] = i + 1 + key;
    return (int)count;
}
