/* tls: see tls.h. */
#include "server/net/tls/tls_state.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "server/base/log.h"
#include "store/mem/mem.h"
#include "store/mem/shared.h"

enum { DAY = 24 * 3600, REMIND_DAYS = 30 };

/* ---- memory ---------------------------------------------------------------------------------- */

/* OpenSSL's blocks come from mem.h, which has a reserve for when memory runs out. Only the main
 * thread may use mem.h, so once other threads use OpenSSL, all new blocks come from shared.h. A
 * head before each block records which of the two it came from; the size of the head preserves the
 * alignment of malloc. */
struct head {
    _Alignas(16) size_t size; /* of the block, this head included */
    bool is_shared;
    struct head *next_stray;
};

static bool is_shared;
static pthread_t main_thread;
static _Atomic(struct head *)
    strays; /* blocks of mem.h that other threads freed; the main thread returns them */
static _Thread_local size_t balance;

/* Allocates for OpenSSL. Returns NULL if memory runs out: the peer determines the sizes, so running
 * out must fail that peer's connection and not the process. */
static void *take_memory(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    if (size == 0 || size > SIZE_MAX / 2) return NULL;
    size = (size + sizeof(struct head) + 15) & ~(size_t)15;
    struct head *head = is_shared ? mem_shared_alloc(size) : mem_try_alloc(size);
    if (head == NULL) return NULL;
    *head = (struct head){ .size = size, .is_shared = is_shared };
    balance += size;
    return head + 1;
}

static void give_memory(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    if (block == NULL) return;
    struct head *head = (struct head *)block - 1;
    balance -= head->size;
    if (head->is_shared) {
        mem_shared_free(head);
    } else if (pthread_equal(pthread_self(), main_thread)) {
        mem_free(head);
        if (atomic_load_explicit(&strays, memory_order_relaxed) == NULL) return;
        struct head *stray = atomic_exchange(&strays, NULL), *next;
        for (; stray != NULL; stray = next) {
            next = stray->next_stray;
            mem_free(stray);
        }
    } else {
        head->next_stray = atomic_load(&strays);
        while (!atomic_compare_exchange_weak(&strays, &head->next_stray, head))
            continue;
    }
}

static void *resize_memory(void *old, size_t size, const char *file, int line)
{
    void *block = take_memory(size, file, line);
    if (old != NULL && block != NULL) {
        size_t before = ((struct head *)old - 1)->size - sizeof(struct head);
        memcpy(block, old, before < size ? before : size);
    }
    if (block != NULL || size == 0) give_memory(old, file, line);
    return block;
}

void tls_count_memory(void)
{
    main_thread = pthread_self();
    CRYPTO_set_mem_functions(take_memory, resize_memory, give_memory);
}

void tls_share_memory(void)
{
    is_shared = true;
}

size_t tls_memory_balance(void)
{
    return balance;
}

/* ---- settings -------------------------------------------------------------------------------- */

bool tls_is_wanted(const struct conf *conf)
{
    return conf->tls_port != 0 || conf->tls_replication ||
           (conf->metrics_port != 0 && conf->metrics_tls);
}

static void stamp_files(const struct conf *conf, struct tls_stamp stamps[TLS_FILES])
{
    const char *const paths[TLS_FILES] = {
        conf->tls_cert_file,       conf->tls_key_file,     conf->tls_client_cert_file,
        conf->tls_client_key_file, conf->tls_ca_cert_file, conf->tls_ca_cert_dir,
        conf->tls_dh_params_file,
    };
    for (int i = 0; i < TLS_FILES; i++) {
        struct stat there;
        stamps[i] = (struct tls_stamp){ 0 };
        if (paths[i][0] == '\0' || stat(paths[i], &there) != 0) continue;
        stamps[i] = (struct tls_stamp){ there.st_ctim.tv_sec, there.st_ctim.tv_nsec, there.st_ino,
                                        (uint64_t)there.st_size };
    }
}

struct tls *tls_new(const struct conf *conf, char *why, size_t size)
{
    struct tls *tls = mem_zalloc(sizeof(*tls));
    tls->conf = conf;
    stamp_files(conf, tls->files);
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
    struct tls_stamp files[TLS_FILES];
    stamp_files(tls->conf, files); /* before reading, so that a later change is noticed */
    if (!tls_settings_read(&fresh, tls->conf, why, size)) return false;
    memcpy(tls->files, files, sizeof(files));
    pthread_mutex_lock(&tls->lock);
    struct tls_settings old = tls->now;
    tls->now = fresh;
    pthread_mutex_unlock(&tls->lock);
    tls_settings_drop(&old); /* OpenSSL keeps it until its last connection is closed */
    tls->remind_at = 0;
    return true;
}

void tls_refresh(struct tls *tls, int64_t now_sec)
{
    struct tls_stamp files[TLS_FILES];
    char why[TLS_WHY_SIZE];
    int64_t every = tls->conf->tls_auto_reload_interval, since = now_sec - tls->looked_at;
    if (every == 0 || (since >= 0 && since < every)) return;
    tls->looked_at = now_sec;
    stamp_files(tls->conf, files);
    if (memcmp(files, tls->files, sizeof(files)) == 0) return;
    /* Remember these files even if reading them fails, as for a certificate that was replaced
     * before its key: they are read again when one of them next changes. */
    memcpy(tls->files, files, sizeof(files));
    if (tls_reload(tls, why, sizeof(why)))
        log_line(LOG_NOTICE, "Reloaded certificates and keys, whose files have changed");
    else
        log_line(LOG_WARNING, "Certificates not reloaded, although a file has changed: %s", why);
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
