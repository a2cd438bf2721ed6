/* Tests of outbuf: order, growth, ownership of memory. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/mem/mem.h"
#include "store/mem/outbuf.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { KIB = 1024, MANY_IOVECS = 4096 };

static struct iovec iov[MANY_IOVECS];

static int chunks_of(const struct outbuf *out)
{
    return outbuf_peek(out, iov, MANY_IOVECS);
}

static void fill(char *to, size_t len, struct rng *rng)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (char)rng_next(rng);
}

static void assert_holds(const struct outbuf *out, const char *text, size_t len)
{
    outbuf_check(out);
    ck_assert_uint_eq(out->len, len);
    char *copy = malloc(len + 1);
    outbuf_copy(out, copy);
    ck_assert(len == 0 || memcmp(copy, text, len) == 0);
    free(copy);
}

START_TEST(an_empty_outbuf_owns_no_memory)
{
    struct outbuf out;
    outbuf_init(&out);
    ck_assert_uint_eq(out.bytes, 0);
    outbuf_append(&out, "", 0);
    ck_assert_uint_eq(out.bytes, 0);
    outbuf_append(&out, "abc", 3);
    ck_assert_uint_gt(out.bytes, 0);
    outbuf_consume(&out, 3);
    ck_assert_uint_eq(out.bytes, 0);
    ck_assert_ptr_null(out.first);
    outbuf_check(&out);
}
END_TEST

START_TEST(bytes_come_out_in_the_order_they_went_in)
{
    struct outbuf out;
    outbuf_init(&out);
    outbuf_append(&out, "one ", 4);
    memcpy(outbuf_reserve(&out, 100), "two ", 4);
    outbuf_commit(&out, 4);
    outbuf_append(&out, "three", 5);
    assert_holds(&out, "one two three", 13);
    ck_assert_int_eq(chunks_of(&out), 1);
    outbuf_drop(&out);
    ck_assert_uint_eq(out.len, 0);
    ck_assert_uint_eq(out.bytes, 0);
}
END_TEST

START_TEST(small_appends_cost_little_more_than_their_bytes)
{
    struct outbuf out;
    outbuf_init(&out);
    for (int i = 0; i < 1000 * KIB; i++)
        outbuf_append(&out, "x", 1);
    outbuf_check(&out);
    ck_assert_int_le(chunks_of(&out), 6 + 1000 / 64 + 1);
    ck_assert_uint_lt(out.bytes, 1000 * KIB + 65 * KIB);
    outbuf_drop(&out);
}
END_TEST

START_TEST(the_first_chunk_is_1_kib_and_the_biggest_64_kib)
{
    struct outbuf out;
    outbuf_init(&out);
    outbuf_append(&out, "x", 1);
    ck_assert_uint_eq(out.bytes, 1 * KIB);
    size_t before = out.bytes, biggest = 0;
    for (int i = 0; i < 500 * KIB; i++) {
        outbuf_append(&out, "x", 1);
        if (out.bytes - before > biggest) biggest = out.bytes - before;
        before = out.bytes;
    }
    ck_assert_uint_eq(biggest, 64 * KIB);
    outbuf_drop(&out);
}
END_TEST

START_TEST(a_big_append_gets_a_chunk_of_its_own_size)
{
    static char big[3000 * KIB];
    struct outbuf out;
    outbuf_init(&out);
    outbuf_append(&out, "small", 5);
    outbuf_append(&out, big, sizeof(big));
    outbuf_append(&out, "\r\n", 2);
    ck_assert_int_eq(chunks_of(&out), 2);
    ck_assert_uint_lt(out.bytes, sizeof(big) + sizeof(big) / 8); /* allocators round up */
    outbuf_check(&out);
    outbuf_drop(&out);
}
END_TEST

START_TEST(growth_does_not_move_existing_bytes)
{
    struct outbuf out;
    outbuf_init(&out);
    outbuf_append(&out, "here", 4);
    chunks_of(&out);
    const void *data = iov[0].iov_base;
    for (int i = 0; i < 100 * KIB; i++)
        outbuf_append(&out, "more", 4);
    chunks_of(&out);
    ck_assert_ptr_eq(iov[0].iov_base, data);
    ck_assert_mem_eq(data, "here", 4);
    outbuf_drop(&out);
}
END_TEST

START_TEST(a_reserve_that_is_not_used_leaves_nothing)
{
    struct outbuf out;
    outbuf_init(&out);
    outbuf_reserve(&out, 4096);
    outbuf_commit(&out, 0);
    ck_assert_uint_eq(out.bytes, 0);
    outbuf_append(&out, "a", 1);
    outbuf_reserve(&out, 4096);
    outbuf_commit(&out, 0);
    outbuf_append(&out, "b", 1);
    assert_holds(&out, "ab", 2);
    outbuf_drop(&out);
}
END_TEST

START_TEST(a_reserve_is_contiguous_even_where_the_tail_is_short)
{
    struct outbuf out;
    char text[1000];
    memset(text, 'a', sizeof(text));
    outbuf_init(&out);
    outbuf_append(&out, text, 900);
    for (int i = 0; i < 20; i++) {
        memset(outbuf_reserve(&out, 4096), 'b', 4096);
        outbuf_commit(&out, 4096);
        outbuf_check(&out);
    }
    ck_assert_uint_eq(out.len, 900 + 20 * 4096);
    outbuf_drop(&out);
}
END_TEST

START_TEST(bytes_of_the_last_commit_are_taken_back)
{
    struct outbuf out;
    outbuf_init(&out);
    for (int before = 0; before < 2; before++) {
        if (before > 0) outbuf_append(&out, "before", 6);
        memcpy(outbuf_reserve(&out, 4096), "behind", 6);
        outbuf_commit(&out, 6);
        outbuf_retract(&out, 6);
        assert_holds(&out, "before", before > 0 ? 6 : 0);
    }
    outbuf_append(&out, "!", 1);
    assert_holds(&out, "before!", 7);
    outbuf_drop(&out);
}
END_TEST

START_TEST(a_splice_moves_everything_and_empties_its_source)
{
    struct outbuf out, from;
    outbuf_init(&out);
    outbuf_init(&from);
    outbuf_append(&out, "head ", 5);
    outbuf_append(&from, "tail", 4);
    outbuf_splice(&out, &from);
    ck_assert_uint_eq(from.len, 0);
    ck_assert_uint_eq(from.bytes, 0);
    assert_holds(&out, "head tail", 9);
    ck_assert_int_eq(chunks_of(&out), 1);
    outbuf_splice(&out, &from);
    assert_holds(&out, "head tail", 9);
    outbuf_splice(&from, &out);
    assert_holds(&from, "head tail", 9);
    ck_assert_uint_eq(out.bytes, 0);
    outbuf_drop(&from);
}
END_TEST

START_TEST(a_big_splice_copies_nothing)
{
    static char big[100 * KIB];
    struct outbuf out, from;
    outbuf_init(&out);
    outbuf_init(&from);
    outbuf_append(&out, "head ", 5);
    outbuf_append(&from, big, sizeof(big));
    chunks_of(&from);
    const void *data = iov[0].iov_base;
    outbuf_splice(&out, &from);
    ck_assert_int_eq(chunks_of(&out), 2);
    ck_assert_ptr_eq(iov[1].iov_base, data);
    outbuf_check(&out);
    outbuf_drop(&out);
}
END_TEST

START_TEST(peek_fills_no_more_iovecs_than_it_may)
{
    static char big[40 * KIB];
    struct outbuf out;
    outbuf_init(&out);
    ck_assert_int_eq(outbuf_peek(&out, iov, 3), 0);
    for (int i = 0; i < 5; i++)
        outbuf_append(&out, big, sizeof(big));
    ck_assert_int_eq(outbuf_peek(&out, iov, 3), 3);
    ck_assert_int_gt(chunks_of(&out), 3);
    outbuf_drop(&out);
}
END_TEST

START_TEST(mark_gives_bytes_appended_since)
{
    struct outbuf out, other;
    struct iovec piece;
    outbuf_init(&out);
    outbuf_init(&other);
    char *text = malloc(200 * KIB), *got = malloc(200 * KIB);
    for (size_t i = 0; i < 200 * KIB; i++)
        text[i] = (char)(i * 7 + i / 251);
    struct outbuf_cursor cursor = outbuf_cursor(&out);
    ck_assert(!outbuf_next(&out, &cursor, &piece));
    size_t end = 0, at = 0;
    for (size_t step = 1; end + 2 * step <= 200 * KIB; step = step * 3 / 2 + 1) {
        outbuf_append(&out, text + end, step);
        outbuf_append(&other, text + end + step, step);
        outbuf_splice(&out, &other);
        end += 2 * step;
        while (outbuf_next(&out, &cursor, &piece)) {
            memcpy(got + at, piece.iov_base, piece.iov_len);
            at += piece.iov_len;
        }
        ck_assert_uint_eq(at, end);
        cursor = outbuf_cursor(&out);
    }
    ck_assert_mem_eq(got, text, end);
    /* And from a head that is in the middle of a chunk. */
    outbuf_consume(&out, 100);
    cursor = (struct outbuf_cursor){ 0 };
    ck_assert(outbuf_next(&out, &cursor, &piece));
    ck_assert_mem_eq(piece.iov_base, text + 100, piece.iov_len);
    outbuf_drop(&out);
    free(text);
    free(got);
}
END_TEST

START_TEST(consume_frees_the_chunks_it_empties)
{
    static char big[40 * KIB];
    struct outbuf out;
    outbuf_init(&out);
    for (int i = 0; i < 5; i++)
        outbuf_append(&out, big, sizeof(big));
    size_t before = out.bytes;
    outbuf_consume(&out, 3 * sizeof(big) + 1);
    ck_assert_uint_le(out.bytes, before - 2 * sizeof(big));
    ck_assert_uint_eq(out.len, 2 * sizeof(big) - 1);
    outbuf_check(&out);
    outbuf_drop(&out);
}
END_TEST

START_TEST(memory_goes_back_when_bytes_are_consumed)
{
    size_t before = mem_used();
    struct outbuf out;
    outbuf_init(&out);
    outbuf_append(&out, "x", 1);
    ck_assert_uint_gt(mem_used(), before);
    for (int i = 0; i < 100; i++)
        outbuf_commit(&out, outbuf_reserve(&out, 4000) == NULL ? 0 : 4000);
    ck_assert_uint_ge(mem_used(), before + 100 * 4000);
    outbuf_consume(&out, out.len);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

START_TEST(check_ends_the_process_when_the_counters_are_wrong)
{
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        struct outbuf out;
        outbuf_init(&out);
        outbuf_append(&out, "abc", 3);
        out.len = 4;
        outbuf_check(&out);
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
END_TEST

/* A model: the same bytes in one array. */
struct model {
    char *text;
    size_t start, end;
};

enum { MODEL_ROOM = 8 * 1024 * 1024, STEPS = 20000 };

static size_t random_size(struct rng *rng)
{
    static const uint64_t limits[] = { 4, 40, 400, 4000, 4000, 400, 40, 40000 };
    return rng_below(rng, limits[rng_below(rng, 8)]);
}

static void random_step(struct outbuf *out, struct model *model, struct rng *rng)
{
    size_t size = random_size(rng);
    char *at = model->text + model->end;
    struct outbuf aside;
    switch (rng_below(rng, 4)) {
    case 0:
        fill(at, size, rng);
        outbuf_append(out, at, size);
        model->end += size;
        break;
    case 1:
        size %= 4097;
        fill(at, size, rng);
        memcpy(outbuf_reserve(out, size + rng_below(rng, 4097 - size)), at, size);
        outbuf_commit(out, size);
        model->end += size;
        break;
    case 2:
        outbuf_init(&aside);
        fill(at, size, rng);
        outbuf_append(&aside, at, size / 2);
        outbuf_append(&aside, at + size / 2, size - size / 2);
        if (rng_chance(rng, 50)) outbuf_consume(&aside, 0);
        outbuf_splice(out, &aside);
        model->end += size;
        break;
    default:
        size *= 3;
        if (size > out->len) size = out->len;
        outbuf_consume(out, size);
        model->start += size;
    }
}

static void assert_same(const struct outbuf *out, const struct model *model)
{
    outbuf_check(out);
    ck_assert_uint_eq(out->len, model->end - model->start);
    const char *at = model->text + model->start;
    int count = chunks_of(out);
    for (int i = 0; i < count; i++) {
        ck_assert_uint_gt(iov[i].iov_len, 0);
        ck_assert(memcmp(iov[i].iov_base, at, iov[i].iov_len) == 0);
        at += iov[i].iov_len;
    }
    ck_assert_ptr_eq(at, model->text + model->end);
}

START_TEST(random_steps_keep_the_bytes_and_the_counters)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct model model = { .text = malloc(MODEL_ROOM) };
    struct outbuf out;
    outbuf_init(&out);
    for (int step = 0; step < STEPS; step++) {
        random_step(&out, &model, &rng);
        outbuf_check(&out);
        if (step % 50 == 0) assert_same(&out, &model);
        if (model.end < MODEL_ROOM / 2 && out.len < 200 * KIB) continue;
        assert_same(&out, &model);
        outbuf_consume(&out, out.len);
        model.start = model.end = 0;
    }
    assert_same(&out, &model);
    outbuf_drop(&out);
    free(model.text);
}
END_TEST

/* ---- without memory -------------------------------------------------------------------------- */

static void write_some(struct outbuf *out)
{
    static const char text[100000];
    outbuf_append(out, text, 100);
    char *room = outbuf_reserve(out, 4096);
    memset(room, 'r', 4096);
    outbuf_commit(out, 4096);
    outbuf_append(out, text, sizeof(text));
    struct outbuf aside;
    outbuf_init(&aside);
    outbuf_append(&aside, text, 3000);
    outbuf_splice(out, &aside);
    outbuf_check(&aside);
    ck_assert_uint_eq(aside.len, 0);
}

START_TEST(optional_output_is_lost_without_memory)
{
    for (unsigned chunks = 0; chunks < 4; chunks++) {
        struct outbuf out;
        outbuf_init(&out);
        out.optional = true;
        mem_fail_try(chunks + 1);
        write_some(&out);
        outbuf_check(&out);
        ck_assert_int_eq(out.lost, chunks < 3);
        mem_fail_try(0);
        write_some(&out);
        ck_assert_int_eq(out.lost, chunks < 3);
        outbuf_drop(&out);
        ck_assert(out.optional && !out.lost);
        write_some(&out);
        ck_assert(!out.lost);
        ck_assert_uint_eq(out.len, 100 + 4096 + 100000 + 3000);
        outbuf_drop(&out);
    }
}
END_TEST

START_TEST(splice_passes_on_lost_output)
{
    struct outbuf out, aside;
    outbuf_init(&out);
    outbuf_init(&aside);
    aside.optional = true;
    mem_fail_try(1);
    outbuf_append(&out, "text", 4);
    outbuf_append(&aside, "text", 4);
    outbuf_splice(&out, &aside);
    ck_assert(out.lost && !aside.lost);
    outbuf_drop(&out);
}
END_TEST

static void count_release(void *released)
{
    ++*(int *)released;
}

START_TEST(shared_bytes_are_not_copied_and_released_once)
{
    static const char text[] = "bytes of another owner";
    int released = 0;
    struct outbuf out, other;
    outbuf_init(&out);
    outbuf_init(&other);
    outbuf_append(&out, "<", 1);
    outbuf_append_shared(&out, text, strlen(text), count_release, &released);
    outbuf_append(&out, ">", 1);
    assert_holds(&out, "<bytes of another owner>", strlen(text) + 2);
    ck_assert_int_eq(chunks_of(&out), 3);
    ck_assert_ptr_eq(iov[1].iov_base, text);
    ck_assert_uint_eq(out.shared, strlen(text));
    outbuf_append(&other, "!", 1);
    outbuf_splice(&other, &out);
    outbuf_consume(&other, 2 + strlen(text));
    ck_assert_int_eq(released, 1);
    assert_holds(&other, ">", 1);
    ck_assert_uint_eq(other.shared, 0);
    outbuf_append_shared(&other, text, 5, count_release, &released);
    outbuf_consume(&other, 3);
    outbuf_check(&other);
    ck_assert_int_eq(released, 1);
    outbuf_drop(&other);
    ck_assert_int_eq(released, 2);
    outbuf_append_shared(&other, text, 0, count_release, &released);
    ck_assert_int_eq(released, 3);
    ck_assert_uint_eq(other.bytes, 0);
}
END_TEST

START_TEST(shared_bytes_are_released_when_output_is_lost)
{
    int released = 0;
    struct outbuf out;
    outbuf_init(&out);
    out.optional = true;
    mem_fail_try(1);
    outbuf_append_shared(&out, "text", 4, count_release, &released);
    ck_assert(out.lost);
    ck_assert_int_eq(released, 1);
    outbuf_append_shared(&out, "text", 4, count_release, &released);
    ck_assert_int_eq(released, 2);
    outbuf_drop(&out);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        an_empty_outbuf_owns_no_memory,
        bytes_come_out_in_the_order_they_went_in,
        small_appends_cost_little_more_than_their_bytes,
        the_first_chunk_is_1_kib_and_the_biggest_64_kib,
        a_big_append_gets_a_chunk_of_its_own_size,
        growth_does_not_move_existing_bytes,
        a_reserve_that_is_not_used_leaves_nothing,
        a_reserve_is_contiguous_even_where_the_tail_is_short,
        bytes_of_the_last_commit_are_taken_back,
        a_splice_moves_everything_and_empties_its_source,
        a_big_splice_copies_nothing,
        peek_fills_no_more_iovecs_than_it_may,
        mark_gives_bytes_appended_since,
        consume_frees_the_chunks_it_empties,
        memory_goes_back_when_bytes_are_consumed,
        check_ends_the_process_when_the_counters_are_wrong,
        random_steps_keep_the_bytes_and_the_counters,
        optional_output_is_lost_without_memory,
        splice_passes_on_lost_output,
        shared_bytes_are_not_copied_and_released_once,
        shared_bytes_are_released_when_output_is_lost,
        NULL,
    };
    return suite_of("outbuf", tests);
}
