/* command_line: the table of the daemon's command line. The common options are rows of the option
 * table, with the first sentence of their help. */
#include "conf/command_line.h"

#include <ctype.h>
#include <string.h>

#include "conf/conf.h"

enum { COMMON_MAX = 32, TERM_SIZE = 96, TEXT_SIZE = 256, CHECK_CONFIG = 256 };

const char *const command_line_common[] = {
    "bind",        "port",      "tls-port",         "unixsocket", "requirepass",
    "maxclients",  "maxmemory", "maxmemory-policy", "dir",        "appendonly",
    "appendfsync", "save",      "import",           "daemonize",  "supervised",
    "logfile",     "loglevel",  "metrics-port",     NULL,
};

static const char *const forms[] = {
    "[FILE] [--OPTION VALUE ...] [-]",
    "--check-config [FILE] [--OPTION VALUE ...] [-]",
    "--help",
    "--version",
    NULL,
};

static const struct usage_option own_options[] = {
    { "check-config", CHECK_CONFIG, NULL,
      "Reports every fault of the configuration, of its users and certificates, and starts "
      "nothing. It "
      "is the first word." },
    { NULL, 0, NULL, NULL },
};

static const struct usage_item words[] = {
    { "FILE", "Configuration file; expired.conf(5) describes it. Without one every option has its "
              "default, and the daemon serves port 6379 of the loopback addresses." },
    { "--OPTION VALUE ...", "Any option of the file. It overrides the file. An option that is yes "
                            "or no may stand without its value, and then means yes." },
    { "-", "Reads more lines of configuration from standard input, after the file and before the "
           "options. It is the last word." },
    { NULL, NULL },
};

static const struct usage_item examples[] = {
    { "expired", "Serves the loopback addresses, with data in the current folder." },
    { "expired /etc/expired/expired.conf --loglevel verbose",
      "Reads a file, and sets an option otherwise." },
    { "expired --port 0 --unixsocket /tmp/expired.sock", "Serves a unix socket only." },
    { "echo 'maxmemory 128mb' | expired -", "Reads the configuration from standard input." },
    { NULL, NULL },
};

static const struct usage_item signals[] = {
    { "SIGTERM, SIGINT", "Stops in order: writes what is to be kept, and closes connections." },
    { "SIGHUP", "Reopens the log file, reads the configuration again, and sets the live options "
                "that have changed there." },
    { NULL, NULL },
};

static const struct usage_item files[] = {
    { "/etc/expired/expired.conf", "The configuration of the packaged service." },
    { "appendonlydir/", "In `dir`: the journal, its base and its manifest." },
    { "dump.exp", "In `dir`: the snapshot." },
    { NULL, NULL },
};

static const struct usage_item variables[] = {
    { "NOTIFY_SOCKET", "Where a supervisor is notified, if the option `supervised` allows it." },
    { NULL, NULL },
};

static const struct usage_item statuses[] = {
    { "0", "It stopped in order." },
    { "1", "It could not start, or could not keep the data when it stopped. Standard error and the "
           "log say why." },
    { NULL, NULL },
};

static struct usage_item common[COMMON_MAX + 1];

static const struct usage_section sections[] = {
    { "ARGUMENTS", NULL, words, false },
    { "COMMON OPTIONS",
      "With their defaults. expired.conf(5) and expired.conf.example describe all options.", common,
      false },
    { "EXAMPLES", NULL, examples, false },
    { "SIGNALS", NULL, signals, true },
    { "FILES", NULL, files, true },
    { "ENVIRONMENT", NULL, variables, true },
    { "EXIT STATUS", NULL, statuses, true },
    { NULL, NULL, NULL, false },
};

static const struct usage usage = {
    .name = "expired",
    .summary = "data store that speaks the Redis protocol and ends data on time",
    .manual = 8,
    .forms = forms,
    .about = "Keeps strings, lists, sets, hashes, sorted sets, streams and dehydrators in memory "
             "and in a journal on disk, and serves clients in the Redis protocol. Keys and members "
             "are removed within a few milliseconds of their deadlines.",
    .options = own_options,
    .sections = sections,
    .wrong = 1,
};

void command_line_first_sentence(const char *help, char *text, size_t size)
{
    size_t len = 0;
    while (help[len] != '\0' &&
           !(help[len] == '.' && (help[len + 1] == '\0' || isspace((unsigned char)help[len + 1]))))
        len++;
    snprintf(text, size, "%.*s.", (int)len, help);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n') *at = ' ';
}

const struct usage *command_line_usage(void)
{
    static char terms[COMMON_MAX][TERM_SIZE], texts[COMMON_MAX][TEXT_SIZE];
    if (common[0].term != NULL) return &usage;
    for (size_t i = 0; command_line_common[i] != NULL && i < COMMON_MAX; i++) {
        const struct conf_option *option = conf_find(command_line_common[i]);
        if (option == NULL) continue;
        snprintf(terms[i], TERM_SIZE, "--%s %s", option->name,
                 *option->preset != '\0' ? option->preset : "\"\"");
        command_line_first_sentence(option->help, texts[i], TEXT_SIZE);
        common[i] = (struct usage_item){ terms[i], texts[i] };
    }
    return &usage;
}
