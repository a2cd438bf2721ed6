/* identity: names of callers, for HELLO and CLIENT. */
#pragma once

#include "server/cmd/call/session.h"
#include "store/mem/blob.h"

/* Is the name printable and without spaces, as CLIENT SETNAME requires? */
bool identity_name_valid(struct bytes name);
/* Sets the client's name, which the trail records from now on. */
void identity_set_name(struct session *session, struct bytes name);
/* Replaces an owned text; an empty one becomes NULL. */
void identity_set_text(struct blob **slot, struct bytes text);
