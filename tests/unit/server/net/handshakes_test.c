/* Tests of handshakes: that no connection is forgotten when a turn has no time for it. */
#include "server/net/handshakes.h"

#include "server/net/client_state.h"
#include "tests/support/suite.h"

enum { CLIENTS = 3 };

static struct loop *loop;
static struct handshakes *handshakes;
static struct client clients[CLIENTS];
static unsigned turns, most, served;

/* Serves nobody in the first turn, at most `most` clients in each later one. */
static void serve(void *ctx)
{
    (void)ctx;
    ck_assert_uint_lt(turns, 100);
    for (unsigned i = 0; turns > 0 && i < most; i++)
        served += handshakes_next(handshakes) != NULL;
    turns++;
    if (served == CLIENTS) loop_stop(loop);
}

static void check_all_served(const char *const *peers)
{
    loop = loop_new();
    handshakes = handshakes_new(loop, serve, NULL);
    turns = served = 0;
    most = 1;
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){ .peer = (char *)(uintptr_t)peers[i] };
        handshakes_wait(handshakes, &clients[i]);
    }
    loop_run(loop);
    ck_assert_uint_eq(served, CLIENTS);
    handshakes_free(handshakes);
    loop_free(loop);
}

START_TEST(clients_of_one_address_wait_for_a_turn_with_time)
{
    check_all_served((const char *const[]){ "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3" });
}
END_TEST

START_TEST(clients_of_several_addresses_wait_for_a_turn_with_time)
{
    check_all_served((const char *const[]){ "127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1" });
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        clients_of_one_address_wait_for_a_turn_with_time,
        clients_of_several_addresses_wait_for_a_turn_with_time,
        NULL,
    };
    return suite_of("handshakes", tests);
}
