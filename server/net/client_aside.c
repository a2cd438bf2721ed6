/* client_aside: serves other clients from within a request that takes long: sets aside what the
 * turn has read, and the client whose request runs. See clients_set_aside. Depends on client_run.c.
 */
#include "server/net/client_state.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct aside {
    struct client *client; /* whose request runs; NULL: a session without a connection */
    struct window window;
    char *scratch;
    size_t scratch_used;
    int64_t turn_usec;
    bool listed_to_run;
};

/* It stays marked as listed, so that nothing lists it again. */
static void unlist(struct clients *all, struct client *client)
{
    if (client->listed_to_write)
        TAILQ_REMOVE(client->held ? &all->held : &all->to_write, client, to_write);
    if (client->listed_to_run) TAILQ_REMOVE(&all->to_run, client, to_run);
    TAILQ_REMOVE(&all->arrived, client, arrived);
    client->listed_to_write = client->listed_to_run = true;
    client->held = false;
}

static void list_again(struct clients *all, struct client *client, bool to_run)
{
    client->listed_to_write = client->listed_to_run = false;
    TAILQ_INSERT_HEAD(&all->arrived, client, arrived);
    client_list_to_write(client);
    if (to_run) client_list_to_run(client);
}

void clients_set_aside(struct clients *all)
{
    ensure(all->aside == NULL, "a request is set aside inside another");
    struct client *client = clients_running(all);
    struct aside *aside = mem_alloc(sizeof(*aside));
    *aside = (struct aside){ .client = client,
                             .turn_usec = all->turn_usec,
                             .listed_to_run = client != NULL && client->listed_to_run };
    clients_give_back(all, client);
    if (client != NULL) unlist(all, client);
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
    ensure(aside != NULL && TAILQ_EMPTY(&all->arrived), "no request is set aside");
    window_drop(&all->window);
    mem_free(all->scratch);
    all->window = aside->window;
    all->scratch = aside->scratch;
    all->scratch_used = aside->scratch_used;
    all->turn_usec = aside->turn_usec; /* so that the wall clock is read after the request */
    if (aside->client != NULL) list_again(all, aside->client, aside->listed_to_run);
    all->aside = NULL;
    mem_free(aside);
}
