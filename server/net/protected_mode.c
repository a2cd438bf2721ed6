/* protected_mode: see protected_mode.h. */
#include "server/net/protected_mode.h"

static const char PROTECTED[] =
    "-DENIED Redis is running in protected mode because protected mode is enabled and no password "
    "is set for the default user. In this mode connections are only accepted from the loopback "
    "interface. If you want to connect from external computers to Redis you may adopt one of the "
    "following solutions: 1) Just disable protected mode sending the command 'CONFIG SET "
    "protected-mode no' from the loopback interface by connecting to Redis from the same host the "
    "server is running, however MAKE SURE Redis is not publicly accessible from internet if you do "
    "so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable "
    "the protected mode by editing the Redis configuration file, and setting the protected mode "
    "option to 'no', and then restarting the server. 3) If you started the server manually just "
    "for testing, restart it with the '--protected-mode no' option. 4) Setup a an authentication "
    "password for the default user. NOTE: You only need to do one of the above things in order for "
    "the server to start accepting connections from the outside.\r\n";

bool peer_is_loopback(const char *peer)
{
    return strncmp(peer, "127.", 4) == 0 || strncmp(peer, "[::1]:", 6) == 0;
}

const char *protected_mode_refusal(const struct conf *conf, const struct acl *acl, const char *peer,
                                   bool unix_socket)
{
    bool is_open = acl == NULL || acl->main_user->nopass;
    bool refuses = conf->protected_mode && is_open && !unix_socket && !peer_is_loopback(peer);
    return refuses ? PROTECTED : NULL;
}
