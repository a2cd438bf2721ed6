/* main: the command line, and the process in which the daemon runs. The daemon itself is in
 * server/daemon/. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "conf/command_line.h"
#include "conf/conf.h"
#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/base/process.h"
#include "server/base/version.h"
#include "server/daemon/check.h"
#include "server/daemon/lifecycle.h"
#include "server/daemon/parts.h"
#include "server/daemon/reload.h"
#include "server/daemon/wiring.h"
#include "server/net/tls/tls.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

enum { EXHAUSTED_LOG_USEC = 1000 * 1000 }; /* between two log lines of log_exhausted */

static void log_exhausted(size_t wanted, bool ends)
{
    static int64_t logged_usec;
    int64_t now = clock_mono_usec();
    if (!ends && logged_usec != 0 && now - logged_usec < EXHAUSTED_LOG_USEC) return;
    logged_usec = now;
    log_line(
        LOG_WARNING, "Out of memory: %zu bytes wanted, %zu in use. %s", wanted, mem_used(),
        ends
            ? "The server exits now; the journal is complete. Give it more memory, or set maxmemory"
            : "Commands that need more are refused until memory is free. Set maxmemory, or "
              "delete data");
}

static bool enter_process(struct parts *parts)
{
    struct conf *conf = &parts->conf;
    const char *why;

    /* If `import` names a file relative to the directory in which the daemon was started, make it
     * absolute before the directory changes. Otherwise the file is searched in `dir`. */
    char *path = conf->import[0] != '\0' ? realpath(conf->import, NULL) : NULL;
    bool kept = path == NULL || conf_set(conf, conf_find("import"), path, &why);
    free(path);
    if (!kept) return lifecycle_fail(parts, "import: %s", strerror(errno));

    /* Make `dir` absolute, so that CONFIG GET dir shows where the files are. */
    if (chdir(conf->dir) != 0)
        return lifecycle_fail(parts, "dir: can't change to %s: %s", conf->dir, strerror(errno));
    path = getcwd(NULL, 0);
    kept = path != NULL && conf_set(conf, conf_find("dir"), path, &why);
    free(path);
    if (!kept) return lifecycle_fail(parts, "dir: %s", strerror(errno));

    log_set_level((enum log_level)conf->loglevel);
    log_set_format((enum log_format)conf->log_format);
    if (conf->syslog_enabled) log_to_syslog(conf->syslog_ident, (int)conf->syslog_facility);
    if (!log_open(conf->logfile)) {
        fprintf(stderr, "expired: logfile: can't open %s: %s\n", conf->logfile, strerror(errno));
        return false;
    }

    uint8_t key[16];
    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
        return lifecycle_fail(parts, "can't get random numbers: %s", strerror(errno));
    siphash_seed(key);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond RLIMIT_FSIZE then fails, as on a full disk */
    mem_on_exhausted(log_exhausted);
    mem_keep_reserve(true);
    mem_purge_in_background();
    log_line(LOG_NOTICE, "expired %s starting, pid %d, %s%s", EXPIRED_VERSION, (int)getpid(),
             conf->file[0] == '\0' ? "no configuration file" : "configured by ", conf->file);
    lifecycle_fit_maxclients(&parts->conf);
    char *ignored = conf_accepted_names(conf);
    if (ignored[0] != '\0')
        log_line(LOG_WARNING, "Ignoring options of Redis that have no effect here: %s", ignored);
    free(ignored);
    if (!conf->appendonly && conf->save[0] == '\0')
        log_line(LOG_WARNING, "Data is kept in memory only and will be lost on shutdown: "
                              "appendonly is no and save is empty. Set one of them to keep data");
    return true;
}

static int run_process(struct parts *parts, int argc, char **argv)
{
    int parent = -1;
    reload_init(parts, argc, argv);
    if (parts->conf.daemonize && parts->conf.supervised == CONF_SUPERVISED_NO) {
        parent = process_detach();
        if (parent < 0) {
            lifecycle_fail(parts, "daemonize: %s", strerror(errno));
            return EXIT_FAILURE;
        }
    }
    if (!enter_process(parts)) return EXIT_FAILURE;
    bool good = wiring_make(parts);
    if (good) {
        lifecycle_report_ready(parts);
        if (parent >= 0) process_detached(parent);
        loop_run(parts->loop);
        good = lifecycle_end(parts);
    }
    wiring_free(parts);
    reload_drop(parts);
    if (good) log_line(LOG_NOTICE, "Stopped");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool is_word(const char *arg, const char *brief, const char *full)
{
    return strcmp(arg, brief) == 0 || strcmp(arg, full) == 0;
}

int main(int argc, char **argv)
{
    tls_count_memory();
    setlocale(LC_COLLATE, ""); /* for SORT ALPHA; numbers stay as in C */
    if (argc >= 2 && is_word(argv[1], "-h", "--help")) {
        usage_write_help(command_line_usage(), stdout);
        return fflush(stdout) != 0;
    }
    if (argc >= 2 && is_word(argv[1], "-v", "--version"))
        return printf("expired v=%s malloc=%s bits=%zu\n", EXPIRED_VERSION, mem_allocator_name(),
                      8 * sizeof(void *)) < 0;

    bool checks = argc >= 2 && strcmp(argv[1], "--check-config") == 0;
    struct parts parts = { 0 };
    struct conf_error error;
    int status = EXIT_FAILURE;
    check_conf_init(&parts.conf);
    bool good = conf_load_args(&parts.conf, argc - checks, argv + checks, &error);
    if (good) error.text[0] = '\0';
    if (checks) good = check_files(&parts.conf, &error) && good;
    if (!good)
        conf_error_print(&error, stderr, "expired");
    else if (checks)
        status = EXIT_SUCCESS;
    else
        status = run_process(&parts, argc, argv);
    conf_drop(&parts.conf);
    return status;
}
