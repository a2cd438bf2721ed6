/* Tests of the states of a session. */
#include "server/cmd/call/session.h"

#include "tests/support/caller.h"
#include "tests/support/suite.h"

static struct caller caller;
static unsigned forgotten;

static void forget(struct session *session)
{
    ck_assert(session->state != SESSION_WAITING);
    forgotten++;
}

static struct session *begin(void)
{
    caller_init(&caller);
    forgotten = 0;
    return &caller.session;
}

static void wait_for(enum wait_reason reason)
{
    session_wait(&caller.session, reason, forget);
    ck_assert_int_eq(caller.session.state, SESSION_WAITING);
    ck_assert_int_eq(caller.session.waits_for, reason);
}

START_TEST(waking_a_session_forgets_its_wait_once)
{
    struct session *session = begin();
    wait_for(WAIT_KEY);
    session_wake(session);
    session_end_wait(session);
    ck_assert_uint_eq(forgotten, 1);
    ck_assert_uint_eq(caller.wakes, 1);
    session_check(session);
}
END_TEST

START_TEST(a_message_does_not_end_a_wait)
{
    struct session *session = begin();
    wait_for(WAIT_SETTLING);
    session_notify(session);
    ck_assert_uint_eq(caller.wakes, 1);
    ck_assert_uint_eq(forgotten, 0);
    ck_assert_int_eq(session->waits_for, WAIT_SETTLING);
}
END_TEST

START_TEST(an_ended_wait_does_not_wake)
{
    struct session *session = begin();
    wait_for(WAIT_REPLICAS);
    session_end_wait(session);
    ck_assert_uint_eq(forgotten, 1);
    ck_assert_uint_eq(caller.wakes, 0);
    session_check(session);
}
END_TEST

START_TEST(a_session_does_not_wait_for_two_things)
{
    ck_assert(!session_may_enter(SESSION_WAITING, SESSION_WAITING));
}
END_TEST

START_TEST(a_handshake_that_has_ended_does_not_begin_again)
{
    for (int from = 0; from < SESSION_STATES; from++)
        ck_assert(!session_may_enter((enum session_state)from, SESSION_SHAKING));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        waking_a_session_forgets_its_wait_once,
        a_message_does_not_end_a_wait,
        an_ended_wait_does_not_wake,
        a_session_does_not_wait_for_two_things,
        a_handshake_that_has_ended_does_not_begin_again,
        NULL,
    };
    return suite_of("session", tests);
}
