/* client_penalty: slows down failed logins. A client whose login has failed gets no replies and
 * runs no requests until its penalty ends; others are not delayed. */
#include "server/net/client_state.h"

#include <stddef.h>

/* The delay of the first failed login's reply. Each further failure doubles it, up to 3.2 s. */
enum { PENALTY_FIRST_MSEC = 50, PENALTY_DOUBLINGS = 6 };

void clients_end_penalties(void *ctx)
{
    struct clients *all = ctx;
    msec now = clock_mono_usec() / 1000;
    char *due;
    while ((due = (char *)agenda_pop_due(&all->penalty_ends, now)) != NULL) {
        struct client *client = (struct client *)(due - offsetof(struct client, penalty_end));
        client_list_to_write(client);
        client_continue(client);
    }
    clients_arm_timer(&all->penalty_ends, all->penalty_timer);
}

/* One call may fail several times (EXEC with several AUTHs): the delays add up. */
void clients_login_failed(struct clients *all, struct session *session)
{
    struct client *client = client_of(session);
    if (client == NULL || client_is_doomed(client)) return;
    unsigned doublings =
        client->login_failures < PENALTY_DOUBLINGS ? client->login_failures : PENALTY_DOUBLINGS;
    client->login_failures++;
    msec begin = clock_mono_usec() / 1000 + 1;
    if (deadline_armed(&client->penalty_end))
        begin = agenda_at(&all->penalty_ends, &client->penalty_end);
    agenda_move(&all->penalty_ends, &client->penalty_end,
                begin + ((msec)PENALTY_FIRST_MSEC << doublings));
    if (client->session.state == SESSION_SERVING)
        session_wait(&client->session, WAIT_PENALTY, NULL);
    if (agenda_first(&all->penalty_ends) == &client->penalty_end)
        clients_arm_timer(&all->penalty_ends, all->penalty_timer);
}

void clients_login_done(struct session *session)
{
    struct client *client = client_of(session);
    if (client != NULL) client->login_failures = 0;
}
