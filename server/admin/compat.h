/* compat: the server and version that HELLO, INFO and LOLWUT name, by which clients enable features
 * (compat-version). */
#ifndef SERVER_ADMIN_COMPAT_H
#define SERVER_ADMIN_COMPAT_H

struct conf;

struct compat {
    const char *server, *version; /* HELLO */
    const char *redis_version;    /* INFO; of a Valkey, the last Redis that it replaces */
    const char *title;            /* LOLWUT */
};

const struct compat *compat_of(const struct conf *conf);

#endif
