/* compat: see compat.h. */
#include "server/admin/compat.h"

#include "conf/conf.h"
#include "server/base/version.h"

#define REDIS(number)                                                                              \
    {                                                                                              \
        "redis", number, number, "Redis ver. " number                                              \
    }
#define VALKEY(number)                                                                             \
    {                                                                                              \
        "valkey", number, "7.2.4", "Valkey ver. " number                                           \
    }

const struct compat *compat_of(const struct conf *conf)
{
    static const struct compat all[] = {
        [CONF_COMPAT_REDIS_7_0] = REDIS(REDIS_VERSION),
        [CONF_COMPAT_REDIS_8_0] = REDIS("8.0.6"),
        [CONF_COMPAT_VALKEY_9_1] = VALKEY("9.1.2"),
    };
    return &all[conf->compat_version];
}
