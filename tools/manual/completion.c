/* completion: see completion.h. */
#include "tools/manual/completion.h"

#include <string.h>

#include "conf/conf.h"

/* Writes the name of a shell function, which must not contain "-". */
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

static void write_option_values(FILE *to)
{
    fputs("    case $prev in\n", to);
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        if (option->use != CONF_WORKS) continue;
        if (option->type == CONF_BOOL || option->type == CONF_ENUM) {
            char how[512] = "-W 'yes no'";
            if (option->type == CONF_ENUM) {
                size_t len = (size_t)snprintf(how, sizeof(how), "-W '");
                for (const struct conf_choice *at = option->choices; at->name != NULL; at++)
                    len += (size_t)snprintf(how + len, sizeof(how) - len, "%s%s",
                                            at == option->choices ? "" : " ", at->name);
                snprintf(how + len, sizeof(how) - len, "'");
            }
            write_values(to, option->name, how);
        }
    }
    write_values(to, "dir", "-d");
    fputs("    esac\n", to);
}

void completion_write(FILE *to, const struct usage *usage, bool options_too)
{
    const struct usage_option *option;
    fprintf(to, "# bash completion of %s, made from the tables of the program.\n", usage->name);
    write_function(to, usage);
    fputs("()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    COMPREPLY=()\n",
          to);
    if (options_too) write_option_values(to);
    fputs("    [[ $cur == -* ]] || return\n    mapfile -t COMPREPLY < <(compgen -W '", to);
    for (size_t i = 0; (option = usage_option_at(usage, i)) != NULL; i++)
        fprintf(to, "%s--%s", i > 0 ? " " : "", option->name);
    for (size_t i = 0; options_too && i < conf_option_count(); i++)
        if (conf_option_at(i)->use == CONF_WORKS) fprintf(to, " --%s", conf_option_at(i)->name);
    fputs("' -- \"$cur\")\n}\ncomplete -o bashdefault -o default -F ", to);
    write_function(to, usage);
    fprintf(to, " %s\n", usage->name);
}
