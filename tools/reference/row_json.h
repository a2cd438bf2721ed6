/* row_json: prints a row as one line of JSON, from which tools/clients/generate makes clients:
 *
 *     {"name": "REDE.CLAIM", "group": "dehydrator", "syntax": "key lease ...", "summary": "...",
 *      "redis_7_0": false, "readonly": false, "replies": ["form: when", ...],
 *      "arguments": [argument, ...]}
 *
 * "redis_7_0" tells whether Redis 7.0 has the command. An argument has a "type" as in COMMAND DOCS,
 * a "name" if it is a value, and, where they apply, "token", "optional", "multiple",
 * "repeats_token" and "arguments", its parts. */
#pragma once

#include <stdio.h>

#include "tools/reference/rows.h"

void row_json_print(FILE *to, const struct row *row);
