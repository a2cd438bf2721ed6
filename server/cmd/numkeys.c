/* numkeys: see numkeys.h. */
#include "server/cmd/numkeys.h"

#include "server/cmd/call/command.h"

int numkeys_find(int argc, const struct bytes *argv, int i, int *positions)
{
    if (i >= argc) return -1;
    int count = command_count_keys(argv[i], argc);
    if (count < 1 || count >= argc - i) return -1;
    for (int key = 0; key < count; key++)
        positions[key] = i + 1 + key;
    return count;
}
