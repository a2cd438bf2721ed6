/* Tests of byte_ring: records of all lengths, a full ring, and two threads. */
#include "server/net/byte_ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/suite.h"

/* Two threads may take turns with one core, so the second ring is larger: the fewer times it is
 * full, the fewer turns it takes. */
enum { SIZE = 4096, LARGE = 1 << 16, LONGEST = 1000, RECORDS = 100000 };

/* Length and content follow from the number. */
static size_t length_of(uint64_t number)
{
    return (number * 2654435761U) % LONGEST;
}

static bool put(struct byte_ring *ring, uint64_t number)
{
    size_t len = length_of(number);
    unsigned char *to = byte_ring_reserve(ring, LONGEST);
    if (to == NULL) return false;
    memset(to, (int)(number & 0xff), len);
    byte_ring_put(ring, len);
    return true;
}

static void check(const unsigned char *record, size_t len, uint64_t number)
{
    ck_assert_uint_eq(len, length_of(number));
    for (size_t i = 0; i < len; i++)
        ck_assert_uint_eq(record[i], number & 0xff);
}

START_TEST(records_are_seen_once_published_and_room_comes_back_once_released)
{
    struct byte_ring *ring = byte_ring_new(SIZE);
    size_t len;
    uint64_t count = 0, read = 0;
    ck_assert(!byte_ring_publish(ring));
    while (put(ring, count))
        count++;
    ck_assert_uint_ge(count, 4);
    ck_assert(!byte_ring_any(ring));
    ck_assert(byte_ring_publish(ring) && !byte_ring_publish(ring));
    for (void *record; (record = byte_ring_take(ring, &len)) != NULL; read++)
        check(record, len, read);
    ck_assert_uint_eq(read, count);
    ck_assert(!put(ring, count));
    byte_ring_release(ring);
    ck_assert(put(ring, count));
    byte_ring_free(ring);
}
END_TEST

static void *put_all(void *ctx)
{
    for (uint64_t number = 0; number < RECORDS;) {
        bool done = put(ctx, number);
        number += done;
        if (!done || number % 3 == 0 || number == RECORDS) byte_ring_publish(ctx);
        if (!done) sched_yield();
    }
    return NULL;
}

START_TEST(another_thread_takes_all_records_in_order)
{
    struct byte_ring *ring = byte_ring_new(LARGE);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, put_all, ring), 0);
    for (uint64_t number = 0; number < RECORDS;) {
        size_t len;
        void *record = byte_ring_take(ring, &len);
        if (record != NULL) check(record, len, number++);
        if (record == NULL) sched_yield();
        if (record == NULL || number % 5 == 0) byte_ring_release(ring);
    }
    pthread_join(thread, NULL);
    ck_assert(!byte_ring_any(ring));
    byte_ring_free(ring);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        records_are_seen_once_published_and_room_comes_back_once_released,
        another_thread_takes_all_records_in_order,
        NULL,
    };
    return suite_of("byte_ring", tests);
}
