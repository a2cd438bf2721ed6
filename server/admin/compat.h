/* compat: the server and version that HELLO, INFO and LOLWUT report, from which clients choose
 * features (option compat-version). */
#ifndef SERVER_ADMIN_COMPAT_H
#define SERVER_ADMIN_COMPAT_H

struct conf;

struct compat {
    const char *server, *version; /* HELLO */
    const char *redis_version;    /* INFO; for Valkey, the Redis version that it reports there */
    const char *title;            /* LOLWUT */
};

const struct compat *compat_of(const struct conf *conf);

#endif
