/* Tests of handshakes: that no connection is forgotten when its owner has no time for it, and that
 * lanes take turns. */
#include "server/net/handshakes.h"

#include "tests/support/suite.h"

enum { CONNECTIONS = 3 };

static struct handshake connections[CONNECTIONS];

static struct handshakes *with_waiting(const char *const *peers)
{
    struct handshakes *handshakes = handshakes_new(2);
    for (int i = 0; i < CONNECTIONS; i++) {
        handshake_init(&connections[i], peers[i]);
        handshakes_wait(handshakes, &connections[i]);
        handshakes_wait(handshakes, &connections[i]);
    }
    return handshakes;
}

static void check_all_served(const char *const *peers)
{
    struct handshakes *handshakes = with_waiting(peers);
    bool served[CONNECTIONS] = { false };
    for (int i = 0; i < CONNECTIONS; i++) {
        ck_assert(handshakes_any(handshakes));
        struct handshake *next = handshakes_next(handshakes);
        ck_assert(!next->waits);
        served[next - connections] = true;
    }
    ck_assert(served[0] && served[1] && served[2]);
    ck_assert(!handshakes_any(handshakes));
    ck_assert_ptr_null(handshakes_next(handshakes));
    handshakes_free(handshakes);
}

START_TEST(connections_of_one_address_are_all_served)
{
    check_all_served((const char *const[]){ "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3" });
}
END_TEST

START_TEST(connections_of_several_addresses_are_all_served)
{
    check_all_served((const char *const[]){ "127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1" });
}
END_TEST

START_TEST(a_second_address_need_not_wait_for_all_of_the_first)
{
    struct handshakes *handshakes =
        with_waiting((const char *const[]){ "10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1" });
    ck_assert_ptr_eq(handshakes_next(handshakes), &connections[0]);
    ck_assert_ptr_eq(handshakes_next(handshakes), &connections[2]);
    handshakes_end(handshakes, &connections[1]);
    ck_assert(!handshakes_any(handshakes));
    handshakes_free(handshakes);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        connections_of_one_address_are_all_served,
        connections_of_several_addresses_are_all_served,
        a_second_address_need_not_wait_for_all_of_the_first,
        NULL,
    };
    return suite_of("handshakes", tests);
}
