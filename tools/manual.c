/* manual: writes the man pages and, in completions/, the bash completions. Both are made from the
 * tables of the command lines and of the options. */
#include <stdlib.h>
#include <sys/stat.h>

#include "conf/command_line.h"
#include "conf/conf.h"
#include "server/base/version.h"
#include "tools/files/usages.h"
#include "tools/manual/page.h"

static void write_function(FILE *to, const struct usage *usage)
{
    fputc('_', to);
    for (const char *at = usage->name; *at != '\0'; at++)
        fputc(*at == '-' ? '_' : *at, to);
}

static void write_values(FILE *to, const char *name, const char *how)
{
    fprintf(to, "    --%s) mapfile -t COMPREPLY < <(compgen %s -- \"$cur\"); return ;;\n", name,
            how);
}

/* Writes a completion of the program's own options, and of file names elsewhere. With
 * `options_too`, also of the configuration's options that have an effect, and of their values if
 * these are a few words or a folder. */
static void completion_write(FILE *to, const struct usage *usage, bool options_too)
{
    const struct usage_option *option;
    fprintf(to, "# bash completion of %s, made from the tables of the program.\n", usage->name);
    write_function(to, usage);
    fputs("()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    COMPREPLY=()\n",
          to);
    if (options_too) fputs("    case $prev in\n", to);
    for (size_t i = 0; options_too && i < conf_option_count(); i++) {
        const struct conf_option *of_file = conf_option_at(i);
        if (of_file->use != CONF_WORKS) continue;
        if (of_file->type == CONF_BOOL) write_values(to, of_file->name, "-W 'yes no'");
        if (of_file->type != CONF_ENUM) continue;
        char how[512];
        size_t len = (size_t)snprintf(how, sizeof(how), "-W '");
        for (const struct conf_choice *at = of_file->choices; at->name != NULL; at++)
            len += (size_t)snprintf(how + len, sizeof(how) - len, "%s%s",
                                    at == of_file->choices ? "" : " ", at->name);
        snprintf(how + len, sizeof(how) - len, "'");
        write_values(to, of_file->name, how);
    }
    if (options_too) {
        write_values(to, "dir", "-d");
        fputs("    esac\n", to);
    }
    fputs("    [[ $cur == -* ]] || return\n    mapfile -t COMPREPLY < <(compgen -W '", to);
    for (size_t i = 0; (option = usage_option_at(usage, i)) != NULL; i++)
        fprintf(to, "%s--%s", i > 0 ? " " : "", option->name);
    for (size_t i = 0; options_too && i < conf_option_count(); i++)
        if (conf_option_at(i)->use == CONF_WORKS) fprintf(to, " --%s", conf_option_at(i)->name);
    fputs("' -- \"$cur\")\n}\ncomplete -o bashdefault -o default -F ", to);
    write_function(to, usage);
    fprintf(to, " %s\n", usage->name);
}

enum { PATH_SIZE = 4096 };

static FILE *open_file(const char *folder, const char *name, const char *ending)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending);
    FILE *to = fopen(path, "w");
    if (to != NULL) return to;
    perror(path);
    exit(EXIT_FAILURE);
}

static void close_file(FILE *to)
{
    if (!(ferror(to) | fclose(to))) return;
    perror("manual: can't write");
    exit(EXIT_FAILURE);
}

static void write_program(const char *folder, const struct usage *usage,
                          const struct page_version *version)
{
    char ending[8];
    snprintf(ending, sizeof(ending), ".%d", usage->manual);
    FILE *to = open_file(folder, usage->name, ending);
    page_write_program(to, usage, version);
    close_file(to);
    to = open_file(folder, "completions/", usage->name);
    completion_write(to, usage, usage == command_line_usage());
    close_file(to);
}

int main(int argc, char **argv)
{
    char inner[PATH_SIZE];
    if (argc != 3) {
        fprintf(stderr, "usage: manual FOLDER YYYY-MM-DD\n");
        return 2;
    }
    const struct page_version version = { EXPIRED_VERSION, argv[2] };
    snprintf(inner, sizeof(inner), "%s/completions", argv[1]);
    mkdir(argv[1], 0777);
    mkdir(inner, 0777);
    write_program(argv[1], command_line_usage(), &version);
    write_program(argv[1], &usages_check, &version);
    write_program(argv[1], &usages_export, &version);
    FILE *to = open_file(argv[1], "expired.conf", ".5");
    page_write_options(to, &version);
    close_file(to);
    return EXIT_SUCCESS;
}
