/* identity: see identity.h. Compares with requirepass. */
#include "server/admin/client/identity.h"
#include "store/mem/blob.h"

#include <string.h>

/* Compares every byte, so that the time does not show how many are right. */
static bool same_secret(struct bytes given, const char *secret)
{
    size_t len = strlen(secret);
    unsigned different = given.len != len;
    for (size_t i = 0; i < given.len; i++)
        different |= (unsigned char)(given.data[i] ^ secret[len > 0 ? i % len : 0]);
    return different == 0;
}

bool identity_check(const struct conf *conf, struct bytes user, struct bytes password)
{
    if (!bytes_equal(user, LIT("default"))) return false;
    return conf->requirepass[0] == '\0' || same_secret(password, conf->requirepass);
}

bool identity_name_valid(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] < '!' || name.data[i] > '~') return false;
    return true;
}

void identity_set_text(struct blob **slot, struct bytes text)
{
    blob_free(*slot);
    *slot = text.len > 0 ? blob_new(text) : NULL;
}
