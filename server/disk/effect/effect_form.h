/* effect_form: the table of the commands of effect_text.h and their operands. Only for
 * effect_text.c (writing) and effect_read.c (reading). */
#ifndef SERVER_DISK_EFFECT_EFFECT_FORM_H
#define SERVER_DISK_EFFECT_EFFECT_FORM_H

#include <stdbool.h>

#include "store/effect.h"

/* Operands, a letter each (and the arguments that they are):
 *
 *     k  key            s  score               p  PXAT at                r  from, to - 1
 *     a  a              f  from                o  PXAT at, unless NEVER  g  at, deliveries, WAITING
 *     b  b              n  to                  t  at                        or CLAIMED
 *     d  db             c  DB to REPLACE       e  at, of a stage         P  a policy's options
 *     y  BEFORE or AFTER, by `to`
 *     l  REPLACE a, where a begins with a header that names the library
 *
 * Of streams:
 *
 *     i  id                           F  parts: names and values in turn
 *     x  MINID = id                   m  marks: last ENTRIESADDED added MAXDELETEDID max_deleted
 *     z  0                            q  position: last ENTRIESREAD read
 *     w  to                           G  position of a new group: last MKSTREAM ENTRIESREAD read
 *                                     C  TIME at RETRYCOUNT to FORCE JUSTID
 */
struct effect_form {
    struct bytes name;
    struct bytes many;   /* another name for several elements, if there is one */
    struct bytes word;   /* the subcommand; or empty. The next kind's form may have the same name */
    const char *head;    /* operands before the elements */
    struct bytes counts; /* a word after the head, followed by the number of elements; or empty */
    const char *element; /* operands of each element; NULL: the command has none */
    const char *tail;    /* operands after the elements; NULL: none */
    bool own;            /* Redis 7.0 has no such command */
};

enum {
    EFFECT_KINDS = EFFECT_LIBRARY_DROP + 1,
    EFFECT_FORMS = 2 * EFFECT_KINDS, /* some kinds have two forms: see effect_form_of */
};

/* Form 2 * kind, and 2 * kind + 1 for kinds with a second one: puts with a deadline, expiries that
 * remove a deadline, pushes of claimed elements, pending entries that are nobody's. A form without
 * a name does not exist. EFFECT_NONE is SELECT. */
const struct effect_form *effect_form_at(unsigned index);
const struct effect_form *effect_form_of(const struct effect *effect);

#endif
