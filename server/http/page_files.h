/* page_files: the files of the page, from server/http/page/. They are built into the daemon, so
 * that it needs no files at run time. */
#pragma once

#include "store/base/bytes.h"

struct page_file {
    const char *type; /* for the header Content-Type */
    struct bytes content;
};

/* Finds a file by its path in an address, such as "/page.js". */
bool page_file_find(struct bytes path, struct page_file *file);
