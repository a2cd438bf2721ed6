/* wiring: makes the parts of the daemon, connects them, and loads the data. Depends on the
 * constructors of all parts. */
#pragma once

#include <stdbool.h>

struct parts;

/* Makes all parts except the configuration, opens the ports and loads the data. Clients that
 * connect during the load receive LOADING errors. Returns false after reporting the reason. */
bool wiring_make(struct parts *parts);
/* Frees all parts, even if wiring_make has failed. Leaves a large store to the kernel. */
void wiring_free(struct parts *parts);
