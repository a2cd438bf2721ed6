/* query: the parameters behind the '?' of an address, such as key=a%20b&db=3, in the format
 * application/x-www-form-urlencoded (WHATWG). Knows nothing about the server. */
#pragma once

#include "store/base/bytes.h"

/* Decodes the first parameter of this name into `to`, which must have room for the whole query.
 * Returns false if the query has no such parameter. A '%' without two hexadecimal digits behind it
 * stays as it is. */
bool query_find(struct bytes query, struct bytes name, char *to, struct bytes *value);
