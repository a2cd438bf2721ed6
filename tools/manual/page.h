/* page: whole man pages, made from the table of a command line and from the table of options. */
#pragma once

#include <stdio.h>

#include "conf/usage.h"

/* The program's version, and the date of the page. */
struct page_version {
    const char *version, *date;
};

void page_write_program(FILE *to, const struct usage *usage, const struct page_version *version);
void page_write_options(FILE *to, const struct page_version *version); /* expired.conf(5) */
