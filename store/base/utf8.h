/* utf8: recognizes valid UTF-8 (RFC 3629), for formats that allow nothing else. */
#pragma once

#include "store/base/bytes.h"

/* Returns the length of the first character, or 0 if it is invalid, cut off or missing. */
size_t utf8_length(struct bytes text);
bool utf8_valid(struct bytes text);
