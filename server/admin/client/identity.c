/* identity: see identity.h. */
#include "server/admin/client/identity.h"

bool identity_name_valid(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] < '!' || name.data[i] > '~') return false;
    return true;
}

void identity_set_name(struct session *session, struct bytes name)
{
    session_forget_author(session);
    identity_set_text(&session->name, name);
}

void identity_set_text(struct blob **slot, struct bytes text)
{
    blob_free(*slot);
    *slot = text.len > 0 ? blob_new(text) : NULL;
}
