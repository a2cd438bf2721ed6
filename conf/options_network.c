/* options_network: rows of options about connections: ports, users, TLS, the metrics port. */
#include "conf/option_table.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

static const struct conf_choice channel_defaults[] = { { "allchannels", 1 },
                                                       { "resetchannels", 0 },
                                                       { NULL, 0 } };
static const struct conf_choice tls_auths[] = { { "no", CONF_TLS_AUTH_NO },
                                                { "yes", CONF_TLS_AUTH_YES },
                                                { "optional", CONF_TLS_AUTH_OPTIONAL },
                                                { NULL, 0 } };
static const struct conf_choice tls_users[] = { { "off", CONF_TLS_USER_OFF },
                                                { "CN", CONF_TLS_USER_CN },
                                                { NULL, 0 } };

/* DIFFERS: Redis refuses an unknown version when TLS starts, without naming it. (doc/differs.md) */
static const char *check_protocols(const char *value)
{
    static const char *const known[] = { "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3" };
    for (value += strspn(value, " "); *value != '\0'; value += strspn(value, " ")) {
        size_t len = strcspn(value, " ");
        bool found = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            found = found || (strlen(known[i]) == len && strncasecmp(known[i], value, len) == 0);
        if (!found) return "each word must be one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3";
        value += len;
    }
    return NULL;
}

static const char *check_bind(const char *value)
{
    int words = 0;
    for (const char *at = value; *at != '\0'; at++)
        if (*at != ' ' && (at == value || at[-1] == ' ')) words++;
    return words > CONF_BIND_MAX ? "Too many bind addresses specified." : NULL;
}

static const struct conf_choice compat_versions[] = { { "7.0", CONF_COMPAT_REDIS_7_0 },
                                                      { "8.0", CONF_COMPAT_REDIS_8_0 },
                                                      { "valkey-9.1", CONF_COMPAT_VALKEY_9_1 },
                                                      { NULL, 0 } };

static const struct conf_option options[] = {
    OPTION("bind",
           "Addresses to listen on. An address with a \"-\" before it may be missing on this "
           "machine. \"*\" means every IPv4 address, \"::*\" every IPv6 address, \"\" none.",
           .section = "network", FIELD(TEXT, bind), .preset = "127.0.0.1 -::1", .many = true,
           .check = check_bind, .tidy = conf_tidy_spaces, LIVE),
    OPTION("port",
           "TCP port for connections without TLS. With 0, accept these on the Unix socket only.",
           FIELD(INT, port), .max = 65535, .preset = "6379", LIVE),
    OPTION("tcp-backlog", "Length of the kernel's queue of connections not yet accepted.",
           FIELD(INT, tcp_backlog), .max = INT_MAX, .preset = "511"),
    OPTION("io-threads",
           "Number of threads that serve connections. Only the main thread runs commands; the "
           "others read, encrypt and send for it. With 1, the main thread does everything. More "
           "threads pay off with TLS, or with many clients that do not use pipelines.",
           FIELD(INT, io_threads), .min = 1, .max = 128, .preset = "1"),
    OPTION("unixsocket", "Path of a Unix socket to listen on. \"\" means none.",
           FIELD(TEXT, unixsocket), .preset = ""),
    OPTION("unixsocketperm", "File mode of the Unix socket, in octal. With 0, the umask decides.",
           FIELD(OCTAL, unixsocketperm), .max = 0777, .preset = "0"),
    OPTION("unixsocketgroup", "Group that owns the Unix socket. \"\" means that of the process.",
           FIELD(TEXT, unixsocketgroup), .preset = ""),
    OPTION("timeout", "Close a client that has been idle for this many seconds. 0 means never.",
           FIELD(INT, timeout), .max = INT_MAX, .preset = "0", LIVE),
    OPTION("tcp-keepalive", "Seconds between TCP keep-alive probes. 0 means no probes.",
           FIELD(INT, tcp_keepalive), .max = INT_MAX, .preset = "300", LIVE),
    OPTION("compat-version",
           "Server that HELLO, INFO and LOLWUT name: 7.0, 8.0 (Redis) or valkey-9.1. Clients "
           "enable features by it. The commands stay the same.",
           FIELD(ENUM, compat_version), .choices = compat_versions, .preset = "7.0", LIVE),
    OPTION("protected-mode", "Accept clients on this machine only, as long as no password is set.",
           FIELD(BOOL, protected_mode), .preset = "yes", LIVE),
    OPTION("requirepass",
           "Password that AUTH requires. \"\" means none. A client that never authenticates uses "
           "at most 64 KiB, but counts towards maxclients until `timeout` closes its connection.",
           .section = "users", FIELD(TEXT, requirepass), .preset = "", LIVE),
    OPTION("user",
           "<name> <rule> ...: a user, with rules as for ACL SETUSER. One line per user; CONFIG "
           "REWRITE saves them with hashed passwords. Cannot be combined with aclfile. Example:\n"
           "user anna on >secret ~anna:* &anna:* +@all -@dangerous",
           FIELD(LINES, user), .preset = "", .many = true, .by_name = true, .unlisted = true,
           .changes = true,
           .twice = "Duplicate user found. A user can only be defined once in config files"),
    OPTION("aclfile",
           "File of users, which ACL LOAD reads and ACL SAVE writes. Its lines are those of the "
           "option user. \"\" means none.",
           FIELD(TEXT, aclfile), .preset = ""),
    OPTION("acllog-max-len", "Maximum number of entries in ACL LOG.", FIELD(INT, acllog_max_len),
           .max = INT64_MAX, .preset = "128", LIVE),
    OPTION(
        "acl-pubsub-default",
        "Channels that a new user may use by default: none (resetchannels) or all (allchannels).",
        FIELD(ENUM, acl_pubsub_default), .choices = channel_defaults, .preset = "resetchannels",
        LIVE),
    OPTION("tls-port",
           "TCP port for TLS connections, on the addresses of bind. 0 turns TLS off. Set port to 0 "
           "to accept TLS connections only.",
           .section = "tls", FIELD(INT, tls_port), .max = 65535, .preset = "0", LIVE),
    OPTION("tls-cert-file",
           "The server's certificate in PEM format, followed by any intermediate certificates. "
           "Required with tls-port. Setting this or any other tls option, even to the same value, "
           "rereads all files; new connections use them.",
           FIELD(TEXT, tls_cert_file), .preset = "", LIVE),
    OPTION("tls-key-file", "The private key of the certificate, in PEM format.",
           FIELD(TEXT, tls_key_file), .preset = "", LIVE),
    OPTION("tls-key-file-pass",
           "Password of tls-key-file. \"\" means that the key is not encrypted.",
           FIELD(TEXT, tls_key_file_pass), .preset = "", LIVE),
    OPTION("tls-client-cert-file",
           "Certificate that this server shows to its master. \"\" means tls-cert-file.",
           FIELD(TEXT, tls_client_cert_file), .preset = "", LIVE),
    OPTION("tls-client-key-file", "The private key of tls-client-cert-file.",
           FIELD(TEXT, tls_client_key_file), .preset = "", LIVE),
    OPTION("tls-client-key-file-pass", "Password of tls-client-key-file.",
           FIELD(TEXT, tls_client_key_file_pass), .preset = "", LIVE),
    OPTION("tls-ca-cert-file",
           "CA certificates, which verify the certificates of clients and of the master.",
           FIELD(TEXT, tls_ca_cert_file), .preset = "", LIVE),
    OPTION("tls-ca-cert-dir",
           "Directory of CA certificates, with names as made by `openssl rehash`.",
           FIELD(TEXT, tls_ca_cert_dir), .preset = "", LIVE),
    OPTION("tls-auth-clients",
           "Require clients to show a certificate signed by an authority of tls-ca-cert-file or "
           "tls-ca-cert-dir: yes, no, or optional (a certificate that is shown must be valid).",
           FIELD(ENUM, tls_auth_clients), .choices = tls_auths, .preset = "yes", LIVE),
    OPTION("tls-auth-clients-user",
           "With CN, log a client in as the user named by the common name of its certificate, if "
           "that user exists. With off, certificates do not log in.",
           FIELD(ENUM, tls_auth_clients_user), .choices = tls_users, .preset = "off", LIVE),
    OPTION("tls-protocols",
           "TLS versions to accept: any of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3. \"\" means TLSv1.2 "
           "and TLSv1.3.",
           FIELD(TEXT, tls_protocols), .preset = "", LIVE, .many = true, .check = check_protocols),
    OPTION(
        "tls-ciphers",
        "Ciphers for TLS up to 1.2, in the syntax of ciphers(1ssl). \"\" means OpenSSL's default.",
        FIELD(TEXT, tls_ciphers), .preset = "", LIVE),
    OPTION("tls-ciphersuites",
           "Ciphers for TLS 1.3, separated by colons. \"\" means OpenSSL's default.",
           FIELD(TEXT, tls_ciphersuites), .preset = "", LIVE),
    OPTION("tls-prefer-server-ciphers",
           "Choose ciphers by the server's preference, not the client's.",
           FIELD(BOOL, tls_prefer_server_ciphers), .preset = "no", LIVE),
    OPTION("tls-dh-params-file",
           "File of parameters for DHE ciphers. With \"\", OpenSSL chooses them by the size of the "
           "key.",
           FIELD(TEXT, tls_dh_params_file), .preset = "", LIVE),
    OPTION("tls-session-caching",
           "Let clients resume sessions, which saves most of the cost of a handshake.",
           FIELD(BOOL, tls_session_caching), .preset = "yes", LIVE),
    OPTION("tls-session-cache-size",
           "Maximum number of sessions to cache (TLS 1.2 without tickets). 0 means no limit.",
           FIELD(INT, tls_session_cache_size), .max = INT_MAX, .preset = "20480", LIVE),
    OPTION("tls-session-cache-timeout", "Seconds for which a session can be resumed.",
           FIELD(INT, tls_session_cache_timeout), .max = INT_MAX, .preset = "300", LIVE),
    OPTION("tls-auto-reload-interval",
           "Seconds after which the files of certificates and keys are reread if one has changed. "
           "With 0, reread them only on SIGHUP, and when CONFIG SET changes a tls option.",
           FIELD(INT, tls_auto_reload_interval), .max = INT_MAX, .preset = "0", LIVE),
    OPTION("tls-replication",
           "Connect to the master over TLS. Its certificate must be signed by an authority of "
           "tls-ca-cert-file or tls-ca-cert-dir.",
           FIELD(BOOL, tls_replication), .preset = "no", LIVE),
    OPTION("tls-cluster", "Accepted for compatibility and ignored: there is only one node.",
           FIELD(BOOL, tls_cluster), .preset = "no", LIVE),
    OPTION("metrics-port",
           "TCP port for HTTP: /metrics for Prometheus, and a status page for browsers. 0 turns it "
           "off.",
           .section = "metrics", FIELD(INT, metrics_port), .max = 65535, .preset = "0", LIVE),
    OPTION("metrics-bind",
           "Addresses for metrics-port, as for bind. If requirepass is set, HTTP asks for the "
           "password.",
           FIELD(TEXT, metrics_bind), .preset = "127.0.0.1 -::1", .many = true, .check = check_bind,
           .tidy = conf_tidy_spaces, LIVE),
    OPTION("metrics-tls",
           "Serve HTTPS only on metrics-port, with the certificates and settings of tls-port.",
           FIELD(BOOL, metrics_tls), .preset = "no"),
    OPTION("metrics-dehydrators",
           "Pattern, as for KEYS, of the dehydrators to report one by one, and of the streams with "
           "groups that the page shows. \"\" means none.",
           FIELD(TEXT, metrics_dehydrators), .preset = "*", LIVE),
    OPTION("metrics-dehydrators-max",
           "Maximum number of dehydrators, and of streams, to report: the first ones by name.",
           FIELD(INT, metrics_dehydrators_max), .max = 10000, .preset = "100", LIVE),
};

const struct conf_table conf_network = { options, sizeof(options) / sizeof(options[0]) };
