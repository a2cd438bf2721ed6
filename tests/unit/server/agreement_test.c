/* agreement: two libraries, neither of which may include the other, define some things alike.
 * Checks that these definitions agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proto/resp/resp_read.h"
#include "server/disk/effect/request.h"
#include "store/event.h"
#include "store/sweep/evict.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { ROUNDS = 20000, TEXT_SIZE = 256, ARGS_MAX = 4 };

static struct rng rng;

static size_t make_text(char *text, size_t most, const char *alphabet)
{
    size_t len = rng_below(&rng, most + 1);
    for (size_t i = 0; i < len; i++)
        text[i] = alphabet[rng_below(&rng, strlen(alphabet))];
    return len;
}

/* Reads a request as the daemon reads it from a client. */
static enum resp_status read_as_client(struct resp_reader *reader, const char *text, size_t len)
{
    const struct resp_limits limits = {
        .max_bulk = 1 << 20, .max_args = 1 << 20, .max_line = 1 << 16, .max_bulk_anon = 1 << 14
    };
    resp_reader_init(reader);
    return resp_read(reader, text, len, &limits);
}

static void ensure_argument(const struct resp_reader *reader, const char *text, int i,
                            const char *wanted, size_t len)
{
    ck_assert_uint_eq(reader->args[i].len, len);
    ck_assert_mem_eq(resp_reader_arg(reader, text, i), wanted, len);
}

/* ---- commands -------------------------------------------------------------------------------- */

static size_t make_command(char *text)
{
    size_t argc = 1 + rng_below(&rng, ARGS_MAX), len;
    len = (size_t)sprintf(text, "*%zu\r\n", argc);
    for (; argc > 0; argc--) {
        char argument[20];
        size_t size = make_text(argument, sizeof(argument), "ab\r\n$*1");
        len += (size_t)sprintf(text + len, "$%zu\r\n%.*s\r\n", size, (int)size, argument);
    }
    return len;
}

START_TEST(command_in_pieces_is_measured_as_at_once)
{
    rng_init(&rng, test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        char text[TEXT_SIZE];
        size_t len = make_command(text), at = 0, whole, size;
        struct request_progress progress = { 0 };
        if (rng_chance(&rng, 50)) text[rng_below(&rng, len)] = "0123*$\r\n"[rng_below(&rng, 8)];
        enum request_status wanted = request_measure(text, len, &whole), found;
        do {
            at += 1 + rng_below(&rng, 8);
            if (at > len) at = len;
            char *piece = malloc(at); /* the data may move */
            memcpy(piece, text, at);
            found = request_measure_on(&progress, piece, at, &size);
            free(piece);
        } while (found == REQUEST_PARTIAL && at < len);
        ck_assert_int_eq(found, wanted);
        if (found != REQUEST_PARTIAL) ck_assert_uint_eq(size, whole);
        ck_assert(found == REQUEST_PARTIAL || (progress.at == 0 && progress.left == 0));
    }
}
END_TEST

START_TEST(command_of_a_file_is_the_same_request_of_a_client)
{
    struct request request;
    struct resp_reader reader;
    unsigned whole = 0;
    rng_init(&rng, test_seed());
    request_init(&request);
    for (int round = 0; round < ROUNDS; round++) {
        char text[TEXT_SIZE];
        size_t len = make_command(text), size;
        if (rng_chance(&rng, 50)) text[rng_below(&rng, len)] = "0123*$\r\n"[rng_below(&rng, 8)];
        if (request_read(&request, text, len, &size) != REQUEST_WHOLE) continue;

        ck_assert_int_eq(read_as_client(&reader, text, len), RESP_REQUEST);

        ck_assert_uint_eq(reader.consumed, size);
        ck_assert_int_eq(reader.argc, request.argc);
        for (int i = 0; i < request.argc; i++)
            ensure_argument(&reader, text, i, request.argv[i].data, request.argv[i].len);
        resp_reader_drop(&reader);
        whole++;
    }
    request_drop(&request);
    ck_assert_uint_gt(whole, ROUNDS / 4);
}
END_TEST

/* ---- lists ----------------------------------------------------------------------------------- */

START_TEST(option_has_the_letter_of_each_event)
{
    for (int event = EVENT_NONE + 1; event < EVENT_COUNT; event++) {
        char letter = event_class((enum event)event);

        ck_assert_msg(letter != '\0' && strchr(CONF_EVENT_LETTERS, letter) != NULL, "%s: '%c'",
                      event_name((enum event)event), letter);
    }
}
END_TEST

START_TEST(option_has_the_number_of_each_eviction_policy)
{
    static const char *const names[] = {
        [EVICT_NONE] = "noeviction",
        [EVICT_ALL_LRU] = "allkeys-lru",
        [EVICT_ALL_LFU] = "allkeys-lfu",
        [EVICT_ALL_RANDOM] = "allkeys-random",
        [EVICT_VOLATILE_LRU] = "volatile-lru",
        [EVICT_VOLATILE_LFU] = "volatile-lfu",
        [EVICT_VOLATILE_RANDOM] = "volatile-random",
        [EVICT_VOLATILE_TTL] = "volatile-ttl",
    };
    enum { POLICIES = sizeof(names) / sizeof(names[0]) };
    const struct conf_choice *choices = conf_find("maxmemory-policy")->choices;
    int count = 0;

    for (; choices[count].name != NULL; count++) {
        ck_assert_int_lt(choices[count].value, POLICIES);
        ck_assert_str_eq(choices[count].name, names[choices[count].value]);
    }
    ck_assert_int_eq(count, POLICIES);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        command_in_pieces_is_measured_as_at_once,
        command_of_a_file_is_the_same_request_of_a_client,
        option_has_the_letter_of_each_event,
        option_has_the_number_of_each_eviction_policy,
        NULL,
    };
    return suite_of("agreement", tests);
}
