/* dehydrator_push: pushes one element, with two kinds of options: those that decide what happens if
 * the id exists (KEEP, REPLACE, POSTPONE), and those that the element keeps (REMEMBER, EVERY,
 * CRON). */
#pragma once

#include "server/cmd/call/args.h"
#include "store/type/dehydrator.h"

/* What a push does if the id exists. NEW fails. */
enum push_mode { PUSH_NEW, PUSH_KEEP, PUSH_REPLACE, PUSH_POSTPONE };

/* A push of one element to the key of argument 1. */
struct push {
    struct entry *entry; /* NULL if the key is missing; push_element then creates it */
    msec at;
    enum push_mode mode;
    msec at_most;         /* POSTPONE: the longest span after the first push, or 0 for no limit */
    msec remember, every; /* 0 if not given */
    struct bytes cron, zone; /* the values of CRON, valid; `cron` is empty without it */
};

enum pushed {
    PUSHED,
    PUSH_KEPT,  /* the id exists or is remembered, and nothing changed */
    PUSH_FAILED /* an error was sent */
};

bool is_push_option(const struct call *call, int i);
/* Parses the options from argument i to the last. Set push->at first, to the latest deadline that
 * the call gives: CRON fails if its schedule has no run after that. Returns false after sending an
 * error. */
bool parse_push_options(struct call *call, int i, struct push *push);
/* Is there an element of this id, or does the dehydrator remember the id? `entry` may be NULL. */
bool is_present(const struct call *call, const struct entry *entry, struct bytes id);
/* Adds the element, or does what push->mode says if its id exists. Does not reply, except with the
 * error of PUSH_FAILED. */
enum pushed push_element(struct call *call, struct push *push, struct bytes id,
                         struct bytes payload);
