/* info_server: INFO's sections about the process and its clients: Server, Clients, CPU, Modules,
 * Cluster, TLS. */
#include "server/admin/compat.h"
#include "server/admin/info/report.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "server/base/version.h"
#include "server/net/tls/tls.h"
#include "server/replica/replication.h"

enum { BUILD_ID_BYTES = 8, PATH_MAX_CHARS = 900, SECONDS_OF_DAY = 86400 };

/* The first bytes of the linker's build id, in hexadecimal; "0" if there is none. */
struct build_id {
    char text[2 * BUILD_ID_BYTES + 1];
};

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

/* Searches a segment of notes, each a header, a name and its bytes. */
static bool find_build_id(const char *notes, size_t size, struct build_id *id)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof(note));
        size_t name = padded(note.n_namesz), whole = sizeof(note) + name + padded(note.n_descsz);
        if (whole > size) return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz >= BUILD_ID_BYTES) {
            const unsigned char *bytes = (const unsigned char *)notes + sizeof(note) + name;
            for (size_t i = 0; i < BUILD_ID_BYTES; i++)
                snprintf(id->text + 2 * i, sizeof(id->text) - 2 * i, "%02x", bytes[i]);
            return true;
        }
        notes += whole;
        size -= whole;
    }
    return false;
}

/* The first object is the program itself. */
static int visit_program(struct dl_phdr_info *program, size_t size, void *ctx)
{
    (void)size;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type != PT_NOTE) continue;
        const char *notes = (const char *)(program->dlpi_addr + part->p_vaddr);
        if (find_build_id(notes, part->p_memsz, ctx)) break;
    }
    return 1;
}

static void write_build(struct report *report)
{
    struct build_id id = { "0" };
    const struct clock *clock = report->context->clock;
    struct utsname os;
    char os_text[sizeof(os)], gcc[48];
    dl_iterate_phdr(visit_program, &id);
    uname(&os);
    snprintf(os_text, sizeof(os_text), "%s %s %s", os.sysname, os.release, os.machine);
    snprintf(gcc, sizeof(gcc), "%d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
    const struct info_row rows[] = {
        TEXT("redis_version", compat_of(report->context->conf)->redis_version),
        TEXT("expired_version", EXPIRED_VERSION),
        TEXT("redis_git_sha1", "00000000"), /* as Redis shows it for a build without git */
        TEXT("redis_git_dirty", "0"),
        TEXT("redis_build_id", id.text),
        TEXT("redis_mode",
             report->context->conf->cluster != CONF_CLUSTER_NO ? "cluster" : "standalone"),
        TEXT("os", os_text),
        COUNT("arch_bits", sizeof(void *) * 8),
        TEXT("clock", clock->obeys     ? "stepped"
                      : clock->stepped ? "held"
                                       : "real"),
        TEXT("monotonic_clock", "POSIX clock_gettime"),
        TEXT("multiplexing_api", loop_backend(report->context->loop)),
        TEXT("atomicvar_api", "c11-builtin"),
        TEXT("gcc_version", gcc),
    };
    REPORT_ROWS(report, rows);
}

void info_server(struct report *report)
{
    const struct admin_parts *context = report->context;
    const struct conf *conf = context->conf;
    enum { LRU_BITS = 24 };
    char program[PATH_MAX_CHARS] = "";
    int64_t uptime = (report->mono_usec - context->started_mono_usec) / 1000000;
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0) program[0] = '\0';
    int64_t hz = conf->kept[conf_kept_index(conf_find("hz"))].number;
    write_build(report);
    if (conf->compat_version == CONF_COMPAT_VALKEY_9_1) {
        /* Fields by which clients recognize a Valkey. */
        const struct info_row valkey[] = {
            TEXT("server_name", "valkey"),
            TEXT("valkey_version", compat_of(conf)->version),
            TEXT("valkey_release_stage", "ga"),
            TEXT("server_mode", conf->cluster != CONF_CLUSTER_NO ? "cluster" : "standalone"),
        };
        REPORT_ROWS(report, valkey);
    }
    const char *supervision = conf->supervised == CONF_SUPERVISED_SYSTEMD ? "systemd"
                              : conf->supervised == CONF_SUPERVISED_AUTO  ? "unknown"
                                                                          : "no";
    const struct info_row rows[] = {
        NUMBER("process_id", getpid()),
        TEXT("process_supervised", supervision),
        TEXT("run_id", context->run_id),
        NUMBER("tcp_port", conf->port != 0 ? conf->port : conf->tls_port),
        NUMBER("server_time_usec", clock_wall_usec(context->clock)),
        NUMBER("uptime_in_seconds", uptime),
        NUMBER("uptime_in_days", uptime / SECONDS_OF_DAY),
        NUMBER("hz", hz),
        NUMBER("configured_hz", hz),
        NUMBER("lru_clock", report->now / 1000 & ((1 << LRU_BITS) - 1)),
        TEXT("executable", program),
        TEXT("config_file", conf->file),
        NUMBER("io_threads_active", conf->io_threads > 1),
    };
    REPORT_ROWS(report, rows);
}

void info_clients(struct report *report)
{
    const struct admin_parts *context = report->context;
    const struct stats *stats = context->engine->stats;
    struct watch_totals watched = watch_totals(context->engine->watch);
    size_t clients = clients_count(context->clients); /* without connections of replicas */
    if (context->replication != NULL)
        clients -= replicas_count(replication_replicas(context->replication));
    const struct info_row rows[] = {
        COUNT("connected_clients", clients),
        NEVER_ANY("cluster_connections"),
        NUMBER("maxclients", context->conf->maxclients),
        COUNT("client_recent_max_input_buffer", peak_recent(&stats->input)),
        COUNT("client_recent_max_output_buffer", peak_recent(&stats->output)),
        COUNT("blocked_clients",
              blocked_count(context->engine->blocked) + clients_paused(context->clients)),
        COUNT("tracking_clients", tracking_totals(context->engine->hooks->tracking).sessions),
        COUNT("pubsub_clients", pubsub_sessions(context->pubsub)),
        COUNT("watching_clients", watched.sessions),
        COUNT("clients_in_timeout_table", blocked_with_timeout(context->engine->blocked)),
        COUNT("total_watched_keys", watched.keys),
        COUNT("total_blocking_keys", blocked_keys(context->engine->blocked)),
        NEVER_ANY("total_blocking_keys_on_nokey"), /* no command waits for a key to be deleted */
    };
    REPORT_ROWS(report, rows);
}

void info_cluster(struct report *report)
{
    bool emulated = report->context->conf->cluster != CONF_CLUSTER_NO;
    const struct info_row rows[] = { COUNT("cluster_enabled", emulated) };
    REPORT_ROWS(report, rows);
}

void info_modules(struct report *report)
{
    (void)report; /* Redis writes a line for each module, but none can be loaded here */
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

void info_cpu(struct report *report)
{
    struct rusage self, children, thread;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    getrusage(RUSAGE_THREAD, &thread); /* commands run in the main thread, like INFO */
    const struct info_row rows[] = {
        SECONDS("used_cpu_sys", seconds_of(self.ru_stime)),
        SECONDS("used_cpu_user", seconds_of(self.ru_utime)),
        SECONDS("used_cpu_sys_children", seconds_of(children.ru_stime)),
        SECONDS("used_cpu_user_children", seconds_of(children.ru_utime)),
        SECONDS("used_cpu_sys_main_thread", seconds_of(thread.ru_stime)),
        SECONDS("used_cpu_user_main_thread", seconds_of(thread.ru_utime)),
    };
    REPORT_ROWS(report, rows);
}

/* The section TLS: the port, the certificate and the handshakes. Fields about the certificate are
 * named as in Valkey. */
void info_tls(struct report *report)
{
    const struct admin_parts *context = report->context;
    const struct tls *tls = clients_tls(context->clients);
    const struct info_row port[] = { NUMBER("tls_port", context->conf->tls_port) };
    REPORT_ROWS(report, port);
    if (tls == NULL) return;
    struct tls_report state = tls_report(tls);
    int64_t left = state.not_after - clock_wall_usec(context->clock) / 1000000;
    const struct info_row rows[] = {
        TEXT("tls_server_cert_serial", state.serial),
        NUMBER("tls_server_cert_not_after", state.not_after),
        NUMBER("tls_server_cert_expires_in_seconds", left > 0 ? left : 0),
        COUNT("tls_handshakes", state.handshakes),
        COUNT("tls_handshakes_resumed", state.resumed),
        COUNT("tls_handshakes_failed", state.failed),
    };
    REPORT_ROWS(report, rows);
}
