/* client_suspend: serves other clients while a long request runs. Saves the running client and the
 * window of the suspended turn, so that turns within the request have their own. See
 * clients_suspend_turn. Depends on client_run.c. */
#include "server/net/client_state.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct suspended_turn {
    struct client *client; /* the running client; NULL: a session without a connection */
    struct window window;
    char *scratch;
    size_t scratch_used;
    int64_t turn_usec;
};

void clients_suspend_turn(struct clients *all)
{
    ensure(all->suspended == NULL, "a turn is suspended inside a suspended one");
    struct client *client = clients_running(all);
    struct suspended_turn *turn = mem_alloc(sizeof(*turn));
    *turn = (struct suspended_turn){ .client = client, .turn_usec = all->turn_usec };
    clients_give_back(all, client);
    if (client != NULL) {
        client_place_input(client, INPUT_SUSPENDED);
        client_place_output(client, OUTPUT_SUSPENDED);
        client_ignore_room(client);
    }
    turn->window = all->window;
    turn->scratch = all->scratch;
    turn->scratch_used = all->scratch_used;
    window_init(&all->window);
    all->scratch = mem_alloc(CLIENT_SCRATCH);
    all->scratch_used = 0;
    all->suspended = turn;
}

void clients_resume_turn(struct clients *all)
{
    struct suspended_turn *turn = all->suspended;
    ensure(turn != NULL && TAILQ_EMPTY(&all->input[INPUT_ARRIVED]), "no turn is suspended");
    window_drop(&all->window);
    mem_free(all->scratch);
    all->window = turn->window;
    all->scratch = turn->scratch;
    all->scratch_used = turn->scratch_used;
    all->turn_usec = turn->turn_usec; /* so that the clock is read again after the request */
    if (turn->client != NULL) {
        client_place_input(turn->client, INPUT_ARRIVED);
        client_place_output(turn->client, OUTPUT_TO_WRITE);
    }
    all->suspended = NULL;
    mem_free(turn);
}
