/* effect_args: converts effects to the commands of effect_text.h and passes these on as argument
 * vectors instead of RESP, for effect_pack and the module. Set the callbacks, call effect_args_put
 * for each effect, then effect_args_end. The functions are in effect_text.c. */
#pragma once

#include "store/txn/effect_row.h"

/* A run: consecutive effects that become one command (effect_text.h). */
struct effect_run {
    const struct effect_form *form; /* the form of its command; NULL outside a run */
    unsigned count;                 /* number of effects */
    size_t len;                     /* bytes so far */
    struct effect first;            /* its first effect; the texts of the head stay valid */
};

/* All effects must be in one database. */
struct effect_args {
    /* Called with each argument of a command: `index` 0 is the name. A later call with the same
     * index replaces that argument. Returns the text to use, which must stay valid until `end`. */
    struct bytes (*keep)(void *ctx, size_t index, struct bytes text);
    /* Receives a number, as `keep` receives a text. If NULL, `keep` receives the digits. */
    void (*number)(void *ctx, size_t index, int64_t number);
    void (*end)(void *ctx, size_t argc); /* the current command has this many arguments */
    void *ctx;

    /* private */
    struct effect_run run;
    size_t argc;       /* arguments of the current command so far */
    size_t count_at;   /* index of the argument that counts the elements */
    struct bytes kept; /* the last argument */
};

/* Passes on the effect as a command, or as an element of the current run, whose command ends later.
 * Ignores EFFECT_NONE. */
void effect_args_put(struct effect_args *args, const struct effect *effect);
/* Ends the command of the current run, if there is one, so that `end` has been called for every
 * effect. */
void effect_args_end(struct effect_args *args);
