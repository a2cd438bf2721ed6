/* schedules: see schedules.h. */
#include "store/type/schedules.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"

#define NO_NUMBER UINT32_MAX

struct kept {
    size_t holders, len;
    uint32_t number;
    char text[];
};

/* A number that is not used links to the next one. */
struct slot {
    struct kept *kept;
    uint32_t next_unused;
};

struct schedules {
    struct dict by_text;
    struct slot *slots;
    size_t count, room; /* slots ever used, and allocated */
    uint32_t unused;    /* the first one, or NO_NUMBER */
    size_t bytes;       /* memory of the texts and this struct */
};

static struct bytes kept_text(const void *element)
{
    const struct kept *kept = element;
    return bytes_of(kept->text, kept->len);
}

static const struct dict_type by_text_type = { .key = kept_text };

struct schedules *schedules_new(void)
{
    struct schedules *schedules = mem_zalloc(sizeof(*schedules));
    dict_init(&schedules->by_text, &by_text_type);
    schedules->unused = NO_NUMBER;
    schedules->bytes = mem_size(schedules);
    return schedules;
}

void schedules_free(struct schedules *schedules)
{
    if (schedules == NULL) return;
    ensure(dict_count(&schedules->by_text) == 0, "%zu texts are held",
           dict_count(&schedules->by_text));
    dict_drop(&schedules->by_text);
    mem_free(schedules->slots);
    mem_free(schedules);
}

uint32_t schedules_hold(struct schedules *schedules, struct bytes text)
{
    struct kept *kept = dict_find(&schedules->by_text, text);
    if (kept == NULL) {
        uint32_t number = schedules->unused;
        if (number != NO_NUMBER) {
            schedules->unused = schedules->slots[number].next_unused;
        } else {
            ensure(schedules->count < NO_NUMBER, "%zu texts", schedules->count);
            schedules->slots =
                mem_grow(schedules->slots, schedules->count, &schedules->room, sizeof(struct slot));
            number = (uint32_t)schedules->count++;
        }
        kept = mem_alloc(sizeof(*kept) + text.len);
        *kept = (struct kept){ .len = text.len, .number = number };
        if (text.len > 0) memcpy(kept->text, text.data, text.len);
        schedules->bytes += mem_size(kept);
        schedules->slots[kept->number].kept = kept;
        dict_add(&schedules->by_text, kept);
    }
    kept->holders++;
    return kept->number;
}

void schedules_release(struct schedules *schedules, uint32_t number)
{
    struct kept *kept = schedules->slots[number].kept;
    ensure(kept != NULL && kept->holders > 0, "number %u is not held", number);
    if (--kept->holders > 0) return;
    dict_remove(&schedules->by_text, kept_text(kept));
    schedules->slots[number] = (struct slot){ .next_unused = schedules->unused };
    schedules->unused = number;
    schedules->bytes -= mem_size(kept);
    mem_free(kept);
}

struct bytes schedules_text(const struct schedules *schedules, uint32_t number)
{
    return kept_text(schedules->slots[number].kept);
}

size_t schedules_count(const struct schedules *schedules)
{
    return schedules == NULL ? 0 : dict_count(&schedules->by_text);
}

size_t schedules_bytes(const struct schedules *schedules)
{
    if (schedules == NULL) return 0;
    return schedules->bytes + dict_bytes(&schedules->by_text) + mem_size(schedules->slots);
}

void schedules_check(const struct schedules *schedules, size_t held)
{
    size_t holders = 0, texts = 0, unused = 0, bytes = mem_size(schedules);
    if (schedules == NULL) {
        ensure(held == 0, "%zu elements hold texts", held);
        return;
    }
    dict_check(&schedules->by_text);
    for (uint32_t i = 0; i < schedules->count; i++) {
        const struct kept *kept = schedules->slots[i].kept;
        if (kept == NULL) continue;
        ensure(kept->number == i && kept->holders > 0, "number %u at %u", kept->number, i);
        holders += kept->holders;
        bytes += mem_size(kept);
        texts++;
    }
    for (uint32_t i = schedules->unused; i != NO_NUMBER; i = schedules->slots[i].next_unused)
        unused++;
    ensure(texts == dict_count(&schedules->by_text) && texts + unused == schedules->count,
           "%zu texts, %zu unused of %zu", texts, unused, schedules->count);
    ensure(holders == held, "%zu holders, %zu elements", holders, held);
    ensure(bytes == schedules->bytes, "%zu bytes, counted %zu", bytes, schedules->bytes);
}
