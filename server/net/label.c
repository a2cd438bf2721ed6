/* label: see label.h. */
#include "server/net/label.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/mem/blob.h"

enum { NAME_MOST = 64 }; /* bytes of a name in the log */

struct label label_of(const struct session *session)
{
    struct label label;
    const struct blob *name = session->name;
    int name_len = name == NULL ? 0 : name->len < NAME_MOST ? (int)name->len : NAME_MOST;
    snprintf(label.text, sizeof(label.text), "id=%" PRIu64 " addr=%s name=%.*s", session->id,
             session->peer, name_len, name == NULL ? "" : name->data);
    return label;
}
