/* renames: see renames.h. */
#include "server/admin/renames.h"

#include "conf/words.h"

static struct bytes word_view(const char *word)
{
    return bytes_of(word, strlen(word));
}

const char *renames_apply(struct commands *commands, const char *lines)
{
    const char *line, *why = NULL, *end = lines + strlen(lines);
    size_t len;
    while (why == NULL && conf_next_line(&lines, end, &line, &len)) {
        struct conf_words words;
        if (!conf_words_split(line, len, &words, &why)) return why;
        if (words.count == 2)
            why = commands_rename(commands, word_view(words.at[0]), word_view(words.at[1]));
        else if (words.count > 0)
            why = "wrong number of arguments";
        conf_words_drop(&words);
    }
    return why;
}
