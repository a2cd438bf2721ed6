/* query: the parameters after the '?' of an address, such as key=a%20b&db=3 (WHATWG,
 * application/x-www-form-urlencoded). Knows nothing about the server. */
#ifndef SERVER_HTTP_QUERY_H
#define SERVER_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"

/* Decodes the first parameter of this name into `to`, which has room for the whole query. Returns
 * false if there is none. A '%' that no two hexadecimal digits follow stays as it is. */
bool query_find(struct bytes query, struct bytes name, char *to, struct bytes *value);

#endif
