/* label: the text by which the log names a client. Depends on sessions. */
#pragma once

#include "server/cmd/call/session.h"

/* A text such as "id=7 addr=127.0.0.1:50312 name=worker". */
struct label {
    char text[256];
};
struct label label_of(const struct session *session);
