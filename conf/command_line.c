/* command_line: the table behind --help, the man page and the completion of `expired`. The help of
 * a common option is the first sentence of that option's row, so that no text is written twice. */
#include "conf/command_line.h"

#include <ctype.h>

#include "conf/conf.h"

enum { COMMON_MAX = 32, TERM_SIZE = 96, TEXT_SIZE = 256, CHECK_CONFIG = 256 };

const char *const command_line_common[] = {
    "bind",        "port",      "tls-port",         "unixsocket",   "requirepass",
    "maxclients",  "maxmemory", "maxmemory-policy", "dir",          "appendonly",
    "appendfsync", "save",      "import",           "until",        "daemonize",
    "supervised",  "logfile",   "loglevel",         "metrics-port", NULL,
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
      "Checks the configuration, including users and certificates, reports every error and exits. "
      "Must be the first argument." },
    { NULL, 0, NULL, NULL },
};

static const struct usage_item words[] = {
    { "FILE", "Configuration file; see expired.conf(5). Without one, every option has its default, "
              "and the daemon listens on port 6379 of the loopback addresses." },
    { "--OPTION VALUE ...", "Any option of the configuration file; overrides the file. The value "
                            "of a yes-or-no option may be left out and is then yes." },
    { "-", "Reads more configuration lines from standard input, after the file and before the "
           "options. Must be the last argument." },
    { NULL, NULL },
};

static const struct usage_item examples[] = {
    { "expired", "Listens on the loopback addresses and keeps its data in the current directory." },
    { "expired /etc/expired/expired.conf --loglevel verbose",
      "Reads a configuration file and overrides one option." },
    { "expired --port 0 --unixsocket /tmp/expired.sock", "Listens on a Unix socket only." },
    { "echo 'maxmemory 128mb' | expired -", "Reads the configuration from standard input." },
    { NULL, NULL },
};

static const struct usage_item signals[] = {
    { "SIGTERM, SIGINT",
      "Shuts down cleanly: saves the data as configured and closes all connections." },
    { "SIGHUP", "Reopens the log file, rereads the configuration and applies changed options that "
                "are live." },
    { NULL, NULL },
};

static const struct usage_item files[] = {
    { "/etc/expired/expired.conf", "Configuration of the packaged service." },
    { "appendonlydir/", "In `dir`: the journal, with its base file and manifest." },
    { "dump.exp", "In `dir`: the snapshot." },
    { NULL, NULL },
};

static const struct usage_item variables[] = {
    { "NOTIFY_SOCKET",
      "Socket on which to notify the supervisor, if the option `supervised` allows it." },
    { NULL, NULL },
};

static const struct usage_item statuses[] = {
    { "0", "Clean shutdown." },
    { "1", "The daemon could not start, or could not save the data on shutdown. The reason is on "
           "standard error and in the log." },
    { NULL, NULL },
};

static struct usage_item common[COMMON_MAX + 1];

static const struct usage_section sections[] = {
    { "ARGUMENTS", NULL, words, false },
    { "COMMON OPTIONS",
      "Shown with their defaults. For all options see expired.conf(5) or expired.conf.example.",
      common, false },
    { "EXAMPLES", NULL, examples, false },
    { "SIGNALS", NULL, signals, true },
    { "FILES", NULL, files, true },
    { "ENVIRONMENT", NULL, variables, true },
    { "EXIT STATUS", NULL, statuses, true },
    { NULL, NULL, NULL, false },
};

static const struct usage usage = {
    .name = "expired",
    .summary = "data store that speaks the Redis protocol and expires data on time",
    .manual = 8,
    .forms = forms,
    .about = "Stores strings, lists, sets, hashes, sorted sets, streams and dehydrators in memory "
             "and in a journal on disk, and serves them over the Redis protocol. Keys and members "
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
