/* why: the text of /why.json: the answer of EXPIRY WHY, for the page's search field. */
#pragma once

#include "server/admin/admin.h"
#include "store/mem/outbuf.h"

/* Appends the answer for the key, the member (optional) and the db (default 0) in the query. If
 * there is no answer, appends the reason as text and returns false. */
bool why_write(struct outbuf *out, const struct server_context *context, struct bytes query);
