/* show: see show.h. */
#include "tools/files/show.h"

#include <stdbool.h>
#include <string.h>

static void show_quoted(FILE *to, const char *data, size_t len)
{
    static const char letters[] = "nrtab", controls[] = "\n\r\t\a\b";
    fputc('"', to);
    for (size_t i = 0; i < len; i++) {
        char c = data[i];
        const char *control = c != '\0' ? strchr(controls, c) : NULL;
        if (control != NULL)
            fprintf(to, "\\%c", letters[control - controls]);
        else if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c >= ' ' && c <= '~')
            fputc(c, to);
        else
            fprintf(to, "\\x%02x", (unsigned)(unsigned char)c);
    }
    fputc('"', to);
}

void show_word(FILE *to, const char *data, size_t len)
{
    size_t plain = 0;
    while (plain < len && data[plain] > ' ' && data[plain] <= '~' && !strchr("\"\\'", data[plain]))
        plain++;
    if (len > 0 && plain == len)
        fwrite(data, 1, len, to);
    else
        show_quoted(to, data, len);
}

void show_start(FILE *to, const char *data, size_t len, size_t most)
{
    show_quoted(to, data, len < most ? len : most);
    if (len > most) fputs("...", to);
}

void show_line(FILE *to, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        fputc(data[i] >= ' ' && data[i] <= '~' ? data[i] : '?', to);
}

void show_path(FILE *to, const char *path)
{
    show_line(to, path, strlen(path));
}
