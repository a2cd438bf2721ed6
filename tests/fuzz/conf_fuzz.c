/* Fuzz target: configuration text that is read without an error gives the same values when it is
 * written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const char *text, size_t len)
{
    struct conf_words words, again;
    const char *why;
    if (!conf_words_split(text, len, &words, &why)) return;
    char *written;
    size_t written_len;
    FILE *to = conf_memory_stream(&written, &written_len);
    for (size_t i = 0; i < words.count; i++) {
        conf_word_write(to, words.at[i]);
        fputc(' ', to);
    }
    fclose(to);
    if (!conf_words_split(written, written_len, &again, &why)) abort();
    if (again.count != words.count) abort();
    for (size_t i = 0; i < words.count; i++)
        if (strcmp(words.at[i], again.at[i]) != 0) abort();
    conf_words_drop(&words);
    conf_words_drop(&again);
    free(written);
}

static void check_values(struct conf *conf)
{
    for (size_t i = 0; i < conf_option_count(); i++) {
        const char *why;
        char *shown = conf_get(conf, conf_option_at(i));
        if (!conf_set(conf, conf_option_at(i), shown, &why)) abort();
        char *again = conf_get(conf, conf_option_at(i));
        if (strcmp(shown, again) != 0) abort();
        free(shown);
        free(again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    if (memmem(data, size, "lude", 4) != NULL) return 0; /* would read files of this machine */
    struct conf conf;
    struct conf_error error;
    conf_init(&conf);
    if (conf_load_text(&conf, text, size, "fuzz", &error)) check_values(&conf);
    check_words(text, size);
    conf_drop(&conf);
    return 0;
}
