/* login: decides who may read the metrics port, by HTTP's Basic authentication (RFC 7617) with the
 * users of the client port. The port shows what INFO, EXPIRY FORECAST and SLOWLOG GET show, so a
 * user needs permission for these commands and to read all keys. */
#pragma once

#include "server/engine/acl/acl.h"
#include "store/base/bytes.h"

enum login {
    LOGIN_GRANTED,
    LOGIN_MISSING, /* a login is needed, but the request contains none */
    LOGIN_WRONG,   /* a wrong name or password, a user that is off or lacks these permissions, or a
                    * header that can't be read */
};

/* Checks the value of the header Authorization, which is empty if the request has none. If no name
 * precedes the colon, the user is "default". If the default user needs no password and has these
 * permissions, every request is granted. */
enum login login_check(const struct acl *acl, struct bytes authorization);

/* Decodes padded base64 (RFC 4648). Returns the length, or -1 if the text is not base64 or decodes
 * to more than `size` bytes. */
int login_decode(struct bytes text, char *to, int size);
