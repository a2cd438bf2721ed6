/* client_aside: serves other clients while a long request runs. Saves the running client and the
 * window of the interrupted turn, so that turns within the request have their own. See
 * clients_set_aside. Depends on client_run.c. */
#include "server/net/client_state.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct aside {
    struct client *client; /* the running client; NULL: a session without a connection */
    struct window window;
    char *scratch;
    size_t scratch_used;
    int64_t turn_usec;
};

void clients_set_aside(struct clients *all)
{
    ensure(all->aside == NULL, "a request is set aside inside another");
    struct client *client = clients_running(all);
    struct aside *aside = mem_alloc(sizeof(*aside));
    *aside = (struct aside){ .client = client, .turn_usec = all->turn_usec };
    clients_give_back(all, client);
    if (client != NULL) {
        client_place_input(client, INPUT_ASIDE);
        client_place_output(client, OUTPUT_ASIDE);
    }
    aside->window = all->window;
    aside->scratch = all->scratch;
    aside->scratch_used = all->scratch_used;
    window_init(&all->window);
    all->scratch = mem_alloc(CLIENT_SCRATCH);
    all->scratch_used = 0;
    all->aside = aside;
}

void clients_take_back(struct clients *all)
{
    struct aside *aside = all->aside;
    ensure(aside != NULL && TAILQ_EMPTY(&all->input[INPUT_ARRIVED]), "no request is set aside");
    window_drop(&all->window);
    mem_free(all->scratch);
    all->window = aside->window;
    all->scratch = aside->scratch;
    all->scratch_used = aside->scratch_used;
    all->turn_usec = aside->turn_usec; /* so that the clock is read again after the request */
    if (aside->client != NULL) {
        client_place_input(aside->client, INPUT_ARRIVED);
        client_place_output(aside->client, OUTPUT_TO_WRITE);
    }
    all->aside = NULL;
    mem_free(aside);
}
