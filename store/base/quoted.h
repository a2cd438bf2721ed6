/* quoted: splits off words with quotes, by the rules of redis.conf and inline requests
 * (sdssplitargs of Redis). "..." may contain \n \r \t \b \a \xHH, and \ before any other character
 * stands for that character; '...' may contain \'. */
#pragma once

#include <stdbool.h>

/* May c stand between words? */
static inline bool quoted_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Does c end a word? As in Redis, VT and FF do not, although they may separate words. */
static inline bool quoted_ends_word(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Reads the word at *at and moves *at past it. Writes the word without quotes to *to and moves *to
 * past it; *to must have room for the rest of the text. A quote may open in the middle of a word;
 * closing it ends the word. Returns false if a quote is not closed, or other text follows it. */
bool quoted_take(const char **at, const char *end, char **to);
