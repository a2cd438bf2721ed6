/* roff: writes text for man(7), escaped so that it is shown as it is. */
#pragma once

#include <stdio.h>

struct roff_page {
    const char *name; /* "expired.conf" */
    int section;
    const char *summary;
    const char *date, *version; /* "2026-11-22", "0.2.0" */
};

/* The header of a page and its NAME. */
void roff_begin(FILE *to, const struct roff_page *page);
void roff_heading(FILE *to, const char *title);
void roff_subheading(FILE *to, const char *title);

/* Paragraphs, separated by "\n". `x` becomes bold. */
void roff_text(FILE *to, const char *text);
/* Words within a line. */
void roff_words(FILE *to, const char *text);
/* A term in bold, and its value in italics unless that is NULL. */
void roff_term(FILE *to, const char *term, const char *value);
