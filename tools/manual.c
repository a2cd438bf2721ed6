/* manual: writes the man pages and, in completions/, the bash completions. Both are made from the
 * tables of the command lines and of the options. */
#include <stdlib.h>
#include <sys/stat.h>

#include "conf/command_line.h"
#include "server/base/version.h"
#include "tools/files/usages.h"
#include "tools/manual/completion.h"
#include "tools/manual/page.h"

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
