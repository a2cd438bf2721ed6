/* row_json: a row as JSON, one line, from which tools/clients/generate makes clients:
 *
 *     {"name": "REDE.CLAIM", "group": "dehydrator", "origin": "expired", "syntax": "key lease ...",
 *      "summary": "...", "blocking": true, "readonly": false, "replies": ["form: when", ...],
 *      "arguments": [argument, ...]}
 *
 * An argument has "type" as in COMMAND DOCS, "name" if it is a value, and if they apply "token",
 * "optional", "multiple", "repeats_token" and "arguments", its own ones. */
#ifndef TOOLS_REFERENCE_ROW_JSON_H
#define TOOLS_REFERENCE_ROW_JSON_H

#include <stdio.h>

#include "tools/reference/rows.h"

void row_json_print(FILE *to, const struct row *row);

#endif
