/* dict_bucket: see dict_bucket.h. */
#include "store/struct/dict_bucket.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

/* Overflow sizes are multiples of a step, so that few changes reallocate. */
enum { STEP = 16, STEP_LONG = 1024, LONG = 1024 };

_Static_assert(sizeof(struct dict_bucket) == 64, "a bucket is a cache line");

static size_t overflow_size(unsigned count)
{
    size_t slots = count < OVERFLOW_LONG ? count : (size_t)count + 1;
    size_t size = sizeof(struct overflow) + slots * sizeof(struct overflow_slot);
    size_t step = size < LONG ? STEP : STEP_LONG;
    return count == 0 ? 0 : (size + step - 1) / step * step;
}

size_t bucket_overflow_bytes(const struct dict_bucket *bucket)
{
    return bucket->more == 0 ? 0 : overflow_size(overflow_count(overflow_of(bucket)));
}

/* Reallocates the overflow for another number of elements, which the caller then sets. Copies the
 * bytes itself, which is faster than realloc for so few. */
static struct overflow *overflow_resize(struct overflow *overflow, unsigned from, unsigned to,
                                        size_t *bytes)
{
    size_t before = overflow_size(from), after = overflow_size(to);
    if (before == after) return overflow;
    *bytes += after - before;
    struct overflow *resized = after == 0 ? NULL : mem_alloc(after);
    if (before > 0 && after > 0) memcpy(resized, overflow, before < after ? before : after);
    mem_free(overflow);
    return resized;
}

static void overflow_set_count(struct overflow *overflow, unsigned count)
{
    overflow->count = (uint16_t)(count < OVERFLOW_LONG ? count : OVERFLOW_LONG);
    if (overflow->count == OVERFLOW_LONG) memcpy(overflow->slots, &count, sizeof(count));
}

static void overflow_link(struct dict_bucket *bucket, struct overflow *overflow)
{
    bucket->more = (uint64_t)(uintptr_t)overflow;
    unsigned count = overflow != NULL ? overflow_count(overflow) : 0;
    for (unsigned i = 0; i < count; i++)
        bucket->more |= filter_bit(overflow_slot(overflow, i)->tag);
}

static void line_put(struct dict_bucket *bucket, unsigned position, struct slot slot)
{
    unsigned shift = 8 * position;
    bucket->tags = (bucket->tags & ~(UINT64_C(0xff) << shift)) | (uint64_t)slot.tag << shift;
    pointer48_store(&bucket->elements[position], slot.element);
}

static void overflow_put(struct overflow *overflow, unsigned i, struct slot slot)
{
    struct overflow_slot *at = overflow_slot(overflow, i);
    at->tag = slot.tag;
    pointer48_store(&at->element, slot.element);
}

void bucket_put(struct dict_bucket *bucket, unsigned position, struct slot slot)
{
    if (position < LINE_SLOTS) {
        line_put(bucket, position, slot);
        return;
    }
    struct overflow *overflow = overflow_of(bucket);
    overflow_put(overflow, position - LINE_SLOTS, slot);
    overflow_link(bucket, overflow);
}

void bucket_append(struct dict_bucket *bucket, struct slot slot, size_t *bytes)
{
    unsigned in_line = line_count(bucket->tags);
    if (in_line < LINE_SLOTS) {
        line_put(bucket, in_line, slot);
        return;
    }
    struct overflow *overflow = overflow_of(bucket);
    unsigned count = overflow == NULL ? 0 : overflow_count(overflow);
    overflow = overflow_resize(overflow, count, count + 1, bytes);
    ensure(pointer48_fits(overflow), "pointer %p does not fit 48 bits", (void *)overflow);
    if (count + 1 == OVERFLOW_LONG)
        memmove(&overflow->slots[1], overflow->slots, count * sizeof(*overflow->slots));
    overflow_set_count(overflow, count + 1);
    overflow_put(overflow, count, slot);
    uint64_t filter = bucket->more >> POINTER48_BITS << POINTER48_BITS;
    bucket->more = (uint64_t)(uintptr_t)overflow | filter | filter_bit(slot.tag);
}

struct slot bucket_pop(struct dict_bucket *bucket, size_t *bytes)
{
    unsigned last = bucket_count(bucket) - 1;
    struct slot slot = bucket_get(bucket, last);
    if (last < LINE_SLOTS) {
        line_put(bucket, last, (struct slot){ 0, NULL });
        return slot;
    }
    struct overflow *overflow = overflow_of(bucket);
    unsigned left = overflow_count(overflow) - 1;
    if (left + 1 == OVERFLOW_LONG)
        memmove(overflow->slots, &overflow->slots[1], left * sizeof(*overflow->slots));
    overflow_set_count(overflow, left);
    overflow_link(bucket, overflow_resize(overflow, left + 1, left, bytes));
    return slot;
}

void bucket_clear(struct dict_bucket *bucket, size_t *bytes)
{
    *bytes -= bucket_overflow_bytes(bucket);
    mem_free(overflow_of(bucket));
    memset(bucket, 0, sizeof(*bucket));
}

void bucket_relocate(struct dict_bucket *bucket, struct relocation *relocation)
{
    if (bucket->more == 0) return;
    struct overflow *overflow = overflow_of(bucket);
    overflow = relocation_block(relocation, overflow);
    ensure(pointer48_fits(overflow), "pointer %p does not fit 48 bits", (void *)overflow);
    uint64_t filter = bucket->more >> POINTER48_BITS << POINTER48_BITS;
    bucket->more = (uint64_t)(uintptr_t)overflow | filter;
}

void bucket_check(const struct dict_bucket *bucket)
{
    struct dict_bucket copy = *bucket;
    unsigned count = line_count(bucket->tags);
    ensure(count == LINE_SLOTS || bucket->more == 0, "overflow, but only %u in the line", count);
    for (unsigned i = 0; i < LINE_SLOTS; i++) {
        bool is_filled = (uint8_t)(bucket->tags >> 8 * i) != 0;
        ensure(is_filled == (i < count), "hole: position %u of %u", i, count);
        ensure(is_filled == (line_element(bucket, i) != NULL), "tag and pointer differ at %u", i);
    }
    if (bucket->more == 0) return;
    ensure(overflow_count(overflow_of(bucket)) > 0, "empty overflow after %u elements", count);
    overflow_link(&copy, overflow_of(bucket));
    ensure(copy.more == bucket->more, "overflow and filter are %llx, not %llx",
           (unsigned long long)bucket->more, (unsigned long long)copy.more);
}
