/* page: whole man pages, made from the table of a command line and from the table of options. */
#ifndef TOOLS_MANUAL_PAGE_H
#define TOOLS_MANUAL_PAGE_H

#include <stdio.h>

#include "conf/usage.h"

/* The program's version, and the date of the page. */
struct page_version {
    const char *version, *date;
};

void page_write_program(FILE *to, const struct usage *usage, const struct page_version *version);
void page_write_options(FILE *to, const struct page_version *version); /* expired.conf(5) */

#endif
