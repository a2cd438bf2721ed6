/* identity: passwords and names of callers, for AUTH, HELLO and CLIENT. */
#ifndef SERVER_ADMIN_CLIENT_IDENTITY_H
#define SERVER_ADMIN_CLIENT_IDENTITY_H

#include <stdbool.h>

#include "conf/conf.h"
#include "store/mem/blob.h"

/* Checks a user's password; the only user is "default". Takes the same time for every wrong
 * password of a given length. */
bool identity_check(const struct conf *conf, struct bytes user, struct bytes password);
/* Is the name printable and without spaces, as CLIENT SETNAME demands? */
bool identity_name_valid(struct bytes name);
/* Replaces an owned text; an empty one becomes NULL. */
void identity_set_text(struct blob **slot, struct bytes text);

#endif
