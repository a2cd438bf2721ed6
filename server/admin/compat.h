/* compat: the server and the version that HELLO, INFO and LOLWUT report (option compat-version).
 * Clients decide by these which features they use. */
#pragma once

struct conf;

struct compat {
    const char *server, *version; /* HELLO */
    const char *redis_version;    /* INFO; for Valkey, the Redis version that it reports there */
    const char *title;            /* LOLWUT */
};

const struct compat *compat_of(const struct conf *conf);
