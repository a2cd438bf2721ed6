/* slot: see slot.h. The slot is CRC-16/XMODEM of the key, modulo the number of slots. */
#include "server/cmd/call/slot.h"

#include "store/mem/mem.h"

enum { KEYS_ON_STACK = 16 };

static uint16_t crc_step(uint16_t crc, unsigned nibble)
{
    /* The remainders of x^16 times each nibble, by the polynomial 0x1021. */
    static const uint16_t table[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };
    return (uint16_t)((crc << 4) ^ table[(crc >> 12) ^ nibble]);
}

/* Returns the tag in braces, which determines the slot; empty if there is none. */
static struct bytes tag_of(struct bytes key)
{
    const char *open = key.len > 0 ? memchr(key.data, '{', key.len) : NULL;
    const char *end = key.data + key.len;
    const char *close = open != NULL ? memchr(open + 1, '}', (size_t)(end - open - 1)) : NULL;
    return close != NULL ? bytes_of(open + 1, (size_t)(close - open - 1)) : bytes_of(NULL, 0);
}

int slot_of(struct bytes key)
{
    struct bytes tag = tag_of(key);
    if (tag.len == 0) tag = key;
    uint16_t crc = 0;
    for (size_t i = 0; i < tag.len; i++) {
        unsigned byte = (unsigned char)tag.data[i];
        crc = crc_step(crc, byte >> 4);
        crc = crc_step(crc, byte & 15);
    }
    return crc % SLOTS;
}

bool slot_is_one(const struct call *call, int *slot)
{
    int on_stack[KEYS_ON_STACK], *positions = on_stack;
    if (call->argc > KEYS_ON_STACK) positions = mem_alloc((size_t)call->argc * sizeof(*positions));
    int count = command_keys(call->command.row, call->argc, call->argv, positions);
    bool one = true;
    int prefix = call->command.row->prefix;
    if (prefix > 0) {
        one = tag_of(call->argv[prefix]).len > 0;
        positions[count++] = prefix;
    }
    for (int i = 0; i < count && one; i++) {
        int found = slot_of(call->argv[positions[i]]);
        one = *slot == SLOT_NONE || *slot == found;
        *slot = found;
    }
    if (positions != on_stack) mem_free(positions);
    return one;
}
