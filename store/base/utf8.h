/* utf8: recognizes valid UTF-8 (RFC 3629), for formats that allow nothing else. */
#ifndef STORE_BASE_UTF8_H
#define STORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"

/* The length of the character that `text` begins with; 0 if it begins with none, or is empty. */
size_t utf8_length(struct bytes text);
bool utf8_valid(struct bytes text);

#endif
