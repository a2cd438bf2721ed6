/* settings: see settings.h. */
#include "server/net/tls/settings.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "conf/words.h"

enum {
    /* Limit for the certificates of an untrusted client. Three of RSA-4096 have 6 KiB. */
    CLIENT_CHAIN = 32 * 1024,
};

/* All errors found, separated by "; ". */
struct faults {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add_fault(struct faults *faults,
                                                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int gap = snprintf(faults->text + faults->used, faults->size - faults->used, "%s",
                       faults->used > 0 ? "; " : "");
    faults->used += (size_t)gap;
    if (faults->used < faults->size) {
        int len = vsnprintf(faults->text + faults->used, faults->size - faults->used, format, args);
        faults->used += (size_t)len;
    }
    if (faults->used >= faults->size) faults->used = faults->size - 1;
    va_end(args);
}

/* The first error in the queue is the cause; later ones are from its callers. */
const char *tls_reason(void)
{
    unsigned long error = ERR_peek_error();
    const char *text =
        ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
    ERR_clear_error();
    return text != NULL ? text : "unknown reason";
}

struct pair {
    const char *cert_option, *cert, *key_option, *key, *pass;
};

/* Without this callback, OpenSSL would ask for the password at the terminal. */
static int give_password(char *to, int size, int writing, void *ctx)
{
    (void)writing;
    const char *pass = ctx;
    size_t len = strlen(pass);
    if (size < 0 || len > (size_t)size) return -1;
    memcpy(to, pass, len);
    return (int)len;
}

static void load_pair(SSL_CTX *context, const struct pair *pair, struct faults *faults)
{
    union {
        const char *text;
        void *ctx;
    } pass = { .text = pair->pass };
    SSL_CTX_set_default_passwd_cb(context, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, pass.ctx);
    bool has_cert = pair->cert[0] != '\0', has_key = pair->key[0] != '\0';
    if (!has_cert) add_fault(faults, "%s is not set", pair->cert_option);
    if (!has_key) add_fault(faults, "%s is not set", pair->key_option);
    if (has_cert && SSL_CTX_use_certificate_chain_file(context, pair->cert) != 1) {
        add_fault(faults, "%s %s: %s", pair->cert_option, pair->cert, tls_reason());
        has_cert = false;
    }
    if (has_key && SSL_CTX_use_PrivateKey_file(context, pair->key, SSL_FILETYPE_PEM) != 1)
        add_fault(faults, "%s %s: %s", pair->key_option, pair->key, tls_reason());
    else if (has_cert && has_key && SSL_CTX_check_private_key(context) != 1)
        add_fault(faults, "%s %s: does not belong to %s %s: %s", pair->key_option, pair->key,
                  pair->cert_option, pair->cert, tls_reason());
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
}

static void load_own_pair(SSL_CTX *context, const struct conf *conf, struct faults *faults)
{
    load_pair(context,
              &(struct pair){ .cert_option = "tls-cert-file",
                              .cert = conf->tls_cert_file,
                              .key_option = "tls-key-file",
                              .key = conf->tls_key_file,
                              .pass = conf->tls_key_file_pass },
              faults);
}

static void load_authorities(SSL_CTX *context, const struct conf *conf, struct faults *faults)
{
    const char *file = conf->tls_ca_cert_file, *dir = conf->tls_ca_cert_dir;
    if (file[0] == '\0' && dir[0] == '\0' && conf->tls_auth_clients != CONF_TLS_AUTH_NO)
        add_fault(faults, "tls-auth-clients: needs tls-ca-cert-file or tls-ca-cert-dir; \"no\" "
                          "accepts clients without a certificate");
    else if (file[0] == '\0' && dir[0] == '\0' && conf->tls_replication)
        add_fault(faults, "tls-replication: needs tls-ca-cert-file or tls-ca-cert-dir");
    if (file[0] != '\0' && SSL_CTX_load_verify_file(context, file) != 1)
        add_fault(faults, "tls-ca-cert-file %s: %s", file, tls_reason());
    if (dir[0] == '\0') return;
    /* Check now, because OpenSSL reads the directory only when it needs a certificate. */
    if (access(dir, R_OK | X_OK) != 0)
        add_fault(faults, "tls-ca-cert-dir %s: %s", dir, strerror(errno));
    else if (SSL_CTX_load_verify_dir(context, dir) != 1)
        add_fault(faults, "tls-ca-cert-dir %s: %s", dir, tls_reason());
}

static void load_dh_params(SSL_CTX *context, const char *path, struct faults *faults)
{
    if (path[0] == '\0') {
        SSL_CTX_set_dh_auto(context, 1);
        return;
    }
    BIO *file = BIO_new_file(path, "r");
    EVP_PKEY *params = file != NULL ? PEM_read_bio_Parameters(file, NULL) : NULL;
    if (params != NULL && SSL_CTX_set0_tmp_dh_pkey(context, params) == 1)
        params = NULL;
    else
        add_fault(faults, "tls-dh-params-file %s: %s%s", path,
                  file != NULL && params == NULL ? "no parameters in PEM format: " : "",
                  tls_reason());
    EVP_PKEY_free(params);
    BIO_free(file);
}

static void limit_protocols(SSL_CTX *context, const char *wanted)
{
    static const struct {
        const char *name;
        uint64_t off;
    } versions[] = {
        { "TLSv1", SSL_OP_NO_TLSv1 },
        { "TLSv1.1", SSL_OP_NO_TLSv1_1 },
        { "TLSv1.2", SSL_OP_NO_TLSv1_2 },
        { "TLSv1.3", SSL_OP_NO_TLSv1_3 },
    };
    if (wanted[0] == '\0') wanted = "TLSv1.2 TLSv1.3";
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    struct conf_words words = { .count = 0 };
    const char *why;
    bool split = conf_words_split(wanted, strlen(wanted), &words, &why);
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        bool named = false;
        for (size_t word = 0; split && word < words.count; word++)
            named = named || strcasecmp(words.at[word], versions[i].name) == 0;
        if (!named) SSL_CTX_set_options(context, versions[i].off);
    }
    if (split) conf_words_drop(&words);
}

static void limit_ciphers(SSL_CTX *context, const struct conf *conf, struct faults *faults)
{
    const char *list = conf->tls_ciphers, *suites = conf->tls_ciphersuites;
    if (list[0] != '\0' && SSL_CTX_set_cipher_list(context, list) != 1)
        add_fault(faults, "tls-ciphers \"%s\": %s", list, tls_reason());
    if (suites[0] != '\0' && SSL_CTX_set_ciphersuites(context, suites) != 1)
        add_fault(faults, "tls-ciphersuites \"%s\": %s", suites, tls_reason());
    if (conf->tls_prefer_server_ciphers)
        SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
}

static void limit_sessions(SSL_CTX *context, const struct conf *conf)
{
    static const unsigned char name[] = "expired";
    if (!conf->tls_session_caching) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(context, 0);
        return;
    }
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(context, conf->tls_session_cache_size);
    SSL_CTX_set_timeout(context, conf->tls_session_cache_timeout);
    SSL_CTX_set_session_id_context(context, name, sizeof(name) - 1);
}

static void limit_connection(SSL_CTX *context)
{
    /* Accept the end of a connection without close_notify. Requests state their lengths, so a
     * truncated one is noticed as with plain TCP, and clients often close without close_notify. */
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_SSLv3 |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
}

/* Makes the context of connections to other servers. As in Redis, such a connection presents the
 * client's certificate if configured, otherwise the server's, and trusts any server whose
 * certificate an authority has signed, whatever its name. */
static void make_outgoing(struct tls_settings *settings, const struct conf *conf,
                          struct faults *faults)
{
    bool has_pair = conf->tls_client_cert_file[0] != '\0' || conf->tls_client_key_file[0] != '\0';
    /* Faults that are also found on the server's side are reported there. */
    struct faults reported = { .text = (char[1]){ 0 }, .size = 1 };
    if (!has_pair && !conf->tls_replication) return;
    SSL_CTX *context = settings->outgoing = SSL_CTX_new(TLS_client_method());
    if (context == NULL) {
        add_fault(faults, "OpenSSL: %s", tls_reason());
        return;
    }
    if (has_pair)
        load_pair(context,
                  &(struct pair){ .cert_option = "tls-client-cert-file",
                                  .cert = conf->tls_client_cert_file,
                                  .key_option = "tls-client-key-file",
                                  .key = conf->tls_client_key_file,
                                  .pass = conf->tls_client_key_file_pass },
                  faults);
    else
        load_own_pair(context, conf, &reported);
    load_authorities(context, conf, &reported);
    limit_protocols(context, conf->tls_protocols);
    limit_ciphers(context, conf, &reported);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    limit_connection(context);
}

bool tls_settings_read(struct tls_settings *settings, const struct conf *conf, char *why,
                       size_t size)
{
    static const int modes[] = {
        [CONF_TLS_AUTH_NO] = SSL_VERIFY_NONE,
        [CONF_TLS_AUTH_YES] = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
        [CONF_TLS_AUTH_OPTIONAL] = SSL_VERIFY_PEER,
    };
    struct faults faults = { .text = why, .size = size };
    *settings = (struct tls_settings){ .context = NULL };
    ERR_clear_error();
    SSL_CTX *context = settings->context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) {
        add_fault(&faults, "OpenSSL: %s", tls_reason());
        return false;
    }
    load_own_pair(context, conf, &faults);
    make_outgoing(settings, conf, &faults);
    load_authorities(context, conf, &faults);
    load_dh_params(context, conf->tls_dh_params_file, &faults);
    limit_protocols(context, conf->tls_protocols);
    limit_ciphers(context, conf, &faults);
    limit_sessions(context, conf);
    SSL_CTX_set_verify(context, modes[conf->tls_auth_clients], NULL);
    limit_connection(context);
    SSL_CTX_set_max_cert_list(context, CLIENT_CHAIN);

    const X509 *cert = SSL_CTX_get0_certificate(context);
    struct tm end;
    if (cert != NULL && ASN1_TIME_to_tm(X509_get0_notAfter(cert), &end) == 1) {
        settings->not_after = timegm(&end);
        BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
        char *digits = number != NULL ? BN_bn2hex(number) : NULL;
        if (digits != NULL) snprintf(settings->serial, sizeof(settings->serial), "%s", digits);
        OPENSSL_free(digits);
        BN_free(number);
    }
    ERR_clear_error();
    if (faults.used == 0) return true;
    tls_settings_drop(settings);
    return false;
}

void tls_settings_drop(struct tls_settings *settings)
{
    SSL_CTX_free(settings->context);
    SSL_CTX_free(settings->outgoing);
    settings->context = settings->outgoing = NULL;
}
