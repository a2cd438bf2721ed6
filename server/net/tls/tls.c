/* tls: see tls.h. Manages settings and OpenSSL's memory, and warns before the certificate expires.
 */
#include "server/net/tls/tls_state.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/base/log.h"
#include "store/mem/mem.h"
#include "store/mem/shared.h"

enum { DAY = 24 * 3600, REMIND_DAYS = 30 };

/* ---- memory ---------------------------------------------------------------------------------- */

/* Threads of io-threads use OpenSSL too. */
static void *take_memory(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return size > 0 ? mem_shared_alloc(size) : NULL;
}

static void *resize_memory(void *old, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    if (size > 0) return mem_shared_realloc(old, size);
    mem_shared_free(old);
    return NULL;
}

static void give_memory(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    mem_shared_free(block);
}

void tls_count_memory(void)
{
    CRYPTO_set_mem_functions(take_memory, resize_memory, give_memory);
}

/* ---- settings -------------------------------------------------------------------------------- */

bool tls_is_wanted(const struct conf *conf)
{
    return conf->tls_port != 0 || conf->tls_replication ||
           (conf->metrics_port != 0 && conf->metrics_tls);
}

struct tls *tls_new(const struct conf *conf, char *why, size_t size)
{
    struct tls *tls = mem_zalloc(sizeof(*tls));
    tls->conf = conf;
    pthread_mutex_init(&tls->lock, NULL);
    if (tls_settings_read(&tls->now, conf, why, size)) return tls;
    tls_free(tls);
    return NULL;
}

void tls_free(struct tls *tls)
{
    if (tls == NULL) return;
    tls_settings_drop(&tls->now);
    pthread_mutex_destroy(&tls->lock);
    mem_free(tls);
}

bool tls_reload(struct tls *tls, char *why, size_t size)
{
    struct tls_settings fresh;
    if (!tls_settings_read(&fresh, tls->conf, why, size)) return false;
    pthread_mutex_lock(&tls->lock);
    struct tls_settings old = tls->now;
    tls->now = fresh;
    pthread_mutex_unlock(&tls->lock);
    tls_settings_drop(&old); /* OpenSSL keeps it until its last connection is closed */
    tls->remind_at = 0;
    return true;
}

/* ---- the certificate's end ------------------------------------------------------------------- */

void tls_remind(struct tls *tls, int64_t now_sec)
{
    int64_t left = tls->now.not_after - now_sec;
    if (now_sec < tls->remind_at) return;
    tls->remind_at = now_sec + DAY;
    if (left >= (int64_t)REMIND_DAYS * DAY) return;
    time_t end = (time_t)tls->now.not_after;
    struct tm utc;
    char date[32] = "?";
    if (gmtime_r(&end, &utc) != NULL) strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &utc);
    if (left <= 0)
        log_line(LOG_WARNING,
                 "The certificate in tls-cert-file %s expired at %s: clients refuse it. Renew it, "
                 "then reload it with SIGHUP or CONFIG SET tls-cert-file",
                 tls->conf->tls_cert_file, date);
    else
        log_line(LOG_WARNING,
                 "The certificate in tls-cert-file %s expires in %" PRId64 " days, at %s. Renew "
                 "it, then reload it with SIGHUP or CONFIG SET tls-cert-file",
                 tls->conf->tls_cert_file, left / DAY, date);
}

struct tls_report tls_report(const struct tls *tls)
{
    return (struct tls_report){ .not_after = tls->now.not_after,
                                .serial = tls->now.serial,
                                .handshakes = tls->handshakes,
                                .resumed = tls->resumed,
                                .failed = tls->failed };
}

struct ssl_st *tls_new_session(const struct tls *tls)
{
    return SSL_new(tls->now.context);
}
