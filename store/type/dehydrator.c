/* dehydrator: see dehydrator.h. Each element is one allocation, in a table by id and in a timeline
 * by deadline. A claimed one is also in a second timeline, of leases, at the same instant, so that
 * claims can be counted. */
#include "store/type/dehydrator.h"

#include "store/base/ensure.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"
#include "store/type/element.h"
#include "store/type/schedules.h"

enum {
    EXACT_DEADLINES = 1000, /* dehydrator_count_deadlines estimates if there are more */
};

struct dehydrator {
    struct dict elements;
    struct timeline timeline;    /* of all elements */
    size_t bytes;                /* memory of the elements and this struct */
    struct timeline leases;      /* of claimed elements, including ended leases */
    msec announced;              /* everything due by this instant has been announced */
    size_t redelivered;          /* elements that were claimed more than once */
    struct delivery_tally tally; /* see dehydrator_tally */
    int64_t last_token;          /* the largest token of a claim so far */
    size_t with_options;         /* elements that have room for options */
    struct extras *extras;       /* NULL: not needed so far */
};

/* ---- one element ----------------------------------------------------------------------------- */

static uint32_t schedule_number(const struct kept_options *kept)
{
    return (uint32_t)(-kept->every - 1);
}

struct push_options dehydrator_options(const struct dehydrator *dehydrator,
                                       const struct element *element)
{
    struct kept_options kept = kept_options(element);
    struct push_options options = {
        .first = kept.first, .remember = kept.remember, .every = kept.every, .phase = kept.phase
    };
    if (kept.every < 0) {
        options.every = 0;
        options.cron = schedules_text(extras_schedules(dehydrator->extras), schedule_number(&kept));
    }
    return options;
}

/* Puts the options into an element whose room for them holds no schedule. */
static void put_options(struct dehydrator *dehydrator, struct element *element,
                        const struct push_options *options)
{
    if (!element->has_options) return;
    struct kept_options kept = { options->first, options->remember, options->every,
                                 options->phase };
    if (options->cron.len > 0) {
        struct schedules *schedules = extras_schedules_made(dehydrator_extras_made(dehydrator));
        kept.every = -(msec)schedules_hold(schedules, options->cron) - 1;
    }
    memcpy(element->data + options_offset(element), &kept, sizeof(kept));
}

static void release_schedule(struct dehydrator *dehydrator, const struct kept_options *kept)
{
    if (kept->every < 0)
        schedules_release(extras_schedules(dehydrator->extras), schedule_number(kept));
}

struct bytes element_id(const struct element *element)
{
    return id_of_element(element);
}

struct bytes element_payload(const struct element *element)
{
    return payload_of_element(element);
}

static struct bytes element_key(const void *element)
{
    return element_id(element);
}

static const struct dict_type elements_type = { .key = element_key };

static struct element *element_of(struct timeline_node *deadline)
{
    if (deadline == NULL) return NULL;
    return (struct element *)(void *)((char *)deadline - offsetof(struct element, deadline));
}

/* `options` is NULL without any. */
static struct element *element_new(struct dehydrator *dehydrator, struct bytes id,
                                   struct bytes payload, const struct stage *stage,
                                   const struct push_options *options)
{
    ensure(id.len <= UINT32_MAX && payload.len <= UINT32_MAX,
           "id of %zu bytes, payload of %zu bytes", id.len, payload.len);
    bool is_long = id.len > SHORT_ID || payload.len > SHORT_PAYLOAD;
    const struct element head = {
        .id_len = is_long ? 0 : (uint32_t)id.len & SHORT_ID,
        .payload_len = is_long ? 0 : (uint32_t)payload.len & SHORT_PAYLOAD,
        .is_long = is_long,
        .was_claimed = stage->claimed || stage->deliveries > 0,
        .has_token = stage->token != 0,
        .has_options = options != NULL && push_options_any(options),
    };
    size_t offset = texts_offset(&head);
    struct element *element = mem_alloc(sizeof(*element) + offset + id.len + payload.len);
    *element = head;
    timeline_node_init(&element->deadline);
    if (is_long) {
        uint32_t lengths[] = { (uint32_t)id.len, (uint32_t)payload.len };
        memcpy(element->data, lengths, sizeof(lengths));
    }
    if (element->was_claimed) {
        claim_of(element)->deliveries = stage->deliveries;
        timeline_node_init(&claim_of(element)->lease);
    }
    put_token(element, stage->token);
    if (head.has_options) put_options(dehydrator, element, options);
    dehydrator->with_options += element->has_options;
    char *texts = element->data + offset;
    if (id.len > 0) memcpy(texts, id.data, id.len);
    if (payload.len > 0) memcpy(texts + id.len, payload.data, payload.len);
    dehydrator->bytes += mem_size(element);
    return element;
}

static void element_free(struct dehydrator *dehydrator, struct element *element)
{
    dehydrator->bytes -= mem_size(element);
    if (element->has_options) {
        struct kept_options kept = kept_options(element);
        release_schedule(dehydrator, &kept);
        dehydrator->with_options--;
    }
    mem_free(element);
}

/* Reallocates an element with this payload, stage and options; its nodes in the timelines stay. */
static struct element *element_rebuild(struct dehydrator *dehydrator, struct element *old,
                                       struct bytes payload, const struct stage *stage,
                                       const struct push_options *options)
{
    struct element *moved = element_new(dehydrator, element_id(old), payload, stage, options);
    moved->deadline = old->deadline;
    dict_moved(&dehydrator->elements, old, moved);
    timeline_moved(&dehydrator->timeline, &old->deadline, &moved->deadline);
    if (is_claimed(old)) {
        claim_of(moved)->lease = claim_of(old)->lease;
        timeline_moved(&dehydrator->leases, &claim_of(old)->lease, &claim_of(moved)->lease);
    }
    element_free(dehydrator, old);
    return moved;
}

static bool is_redelivered(const struct element *element)
{
    const struct claim *claim = claim_of(element);
    return claim != NULL && claim->deliveries > 1;
}

/* Updates the claim from the stage; does nothing for an element that was never claimed. */
static void update_claim(struct dehydrator *dehydrator, struct element *element,
                         const struct stage *stage)
{
    struct claim *claim = claim_of(element);
    if (claim == NULL) return;
    claim->deliveries = stage->deliveries;
    put_token(element, stage->token);
    if (stage->token > dehydrator->last_token) dehydrator->last_token = stage->token;
    if (stage->claimed)
        timeline_move(&dehydrator->leases, &claim->lease, stage->at);
    else
        timeline_cancel(&dehydrator->leases, &claim->lease);
}

/* ---- creating and freeing -------------------------------------------------------------------- */

struct dehydrator *dehydrator_new(void)
{
    struct dehydrator *dehydrator = mem_alloc(sizeof(*dehydrator));
    dict_init(&dehydrator->elements, &elements_type);
    timeline_init(&dehydrator->timeline);
    dehydrator->bytes = mem_size(dehydrator);
    timeline_init(&dehydrator->leases);
    dehydrator->announced = INT64_MIN;
    dehydrator->redelivered = 0;
    dehydrator->tally = (struct delivery_tally){ 0 };
    dehydrator->last_token = 0;
    dehydrator->with_options = 0;
    dehydrator->extras = NULL;
    return dehydrator;
}

void dehydrator_free(struct dehydrator *dehydrator)
{
    size_t work = SIZE_MAX;
    dehydrator_free_some(dehydrator, &work);
}

bool dehydrator_free_some(struct dehydrator *dehydrator, size_t *work)
{
    for (; *work > 0 && dict_count(&dehydrator->elements) > 0; --*work)
        element_free(dehydrator, dict_take(&dehydrator->elements));
    if (dict_count(&dehydrator->elements) > 0) return false;
    if (!timeline_drop_some(&dehydrator->timeline, work)) return false;
    if (!timeline_drop_some(&dehydrator->leases, work)) return false;
    if (!extras_free_some(dehydrator->extras, work)) return false;
    dict_drop(&dehydrator->elements);
    delivery_counts_free(dehydrator->tally.deliveries);
    mem_free(dehydrator);
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

size_t dehydrator_count(const struct dehydrator *dehydrator)
{
    return dict_count(&dehydrator->elements);
}

size_t dehydrator_count_due(const struct dehydrator *dehydrator, msec now)
{
    return timeline_count_until(&dehydrator->timeline, now);
}

size_t dehydrator_count_between(const struct dehydrator *dehydrator, msec after, msec until)
{
    if (after >= until) return 0;
    return timeline_count_until(&dehydrator->timeline, until) -
           timeline_count_until(&dehydrator->timeline, after);
}

size_t dehydrator_count_claimed(const struct dehydrator *dehydrator, msec now)
{
    return timeline_count(&dehydrator->leases) - timeline_count_until(&dehydrator->leases, now);
}

msec dehydrator_next_lease_end(const struct dehydrator *dehydrator, msec now)
{
    msec end;
    return timeline_after(&dehydrator->leases, now, &end) != NULL ? end : NEVER;
}

size_t dehydrator_count_redelivered(const struct dehydrator *dehydrator)
{
    return dehydrator->redelivered;
}

int64_t dehydrator_last_token(const struct dehydrator *dehydrator)
{
    return dehydrator->last_token;
}

size_t dehydrator_count_deadlines(const struct dehydrator *dehydrator)
{
    size_t different = 0, total = dehydrator_count(dehydrator);
    msec at = INT64_MIN;
    while (different < EXACT_DEADLINES && timeline_after(&dehydrator->timeline, at, &at) != NULL)
        different++;
    if (different < EXACT_DEADLINES) return different;
    size_t seen = timeline_count_until(&dehydrator->timeline, at);
    return (size_t)((double)different * (double)total / (double)seen);
}

msec dehydrator_next(const struct dehydrator *dehydrator)
{
    return timeline_next(&dehydrator->timeline);
}

msec dehydrator_next_after(const struct dehydrator *dehydrator, msec at)
{
    msec next;
    return timeline_after(&dehydrator->timeline, at, &next) != NULL ? next : NEVER;
}

void dehydrator_expect(struct dehydrator *dehydrator, size_t count)
{
    dict_reserve(&dehydrator->elements, count);
}

const struct dict *dehydrator_hint(const struct dehydrator *dehydrator)
{
    return &dehydrator->elements;
}

struct element *dehydrator_find(const struct dehydrator *dehydrator, struct bytes id)
{
    return dict_find(&dehydrator->elements, id);
}

struct element *dehydrator_first(const struct dehydrator *dehydrator)
{
    return element_of(timeline_first(&dehydrator->timeline));
}

struct stage dehydrator_stage(const struct dehydrator *dehydrator, const struct element *element)
{
    return (struct stage){ .at = timeline_at(&dehydrator->timeline, &element->deadline),
                           .deliveries =
                               claim_of(element) == NULL ? 0 : claim_of(element)->deliveries,
                           .claimed = is_claimed(element),
                           .token = stored_token(element) };
}

size_t dehydrator_count_options(const struct dehydrator *dehydrator)
{
    return dehydrator->with_options;
}

size_t dehydrator_count_schedules(const struct dehydrator *dehydrator)
{
    const struct extras *extras = dehydrator->extras;
    return extras == NULL ? 0 : schedules_count(extras_schedules(extras));
}

struct extras *dehydrator_extras(const struct dehydrator *dehydrator)
{
    return dehydrator->extras;
}

struct extras *dehydrator_extras_made(struct dehydrator *dehydrator)
{
    if (dehydrator->extras == NULL) dehydrator->extras = extras_new();
    return dehydrator->extras;
}

const struct delivery_tally *dehydrator_tally(const struct dehydrator *dehydrator)
{
    return &dehydrator->tally;
}

void dehydrator_note_pushed(struct dehydrator *dehydrator)
{
    dehydrator->tally.pushed++;
}

struct delivery_counts *dehydrator_counts_made(struct dehydrator *dehydrator)
{
    struct delivery_tally *tally = &dehydrator->tally;
    if (tally->deliveries == NULL) tally->deliveries = delivery_counts_new();
    return tally->deliveries;
}

struct delivery_tally dehydrator_swap_tally(struct dehydrator *dehydrator,
                                            struct delivery_tally tally)
{
    struct delivery_tally old = dehydrator->tally;
    dehydrator->tally = tally;
    return old;
}

msec dehydrator_paused(const struct dehydrator *dehydrator, msec now)
{
    msec until = dehydrator->extras == NULL ? 0 : extras_paused(dehydrator->extras);
    return instant_due(until, now) ? 0 : until;
}

bool dehydrator_is_spent(const struct dehydrator *dehydrator)
{
    return dehydrator_count(dehydrator) == 0 &&
           (dehydrator->extras == NULL || extras_are_empty(dehydrator->extras));
}

msec dehydrator_over_at(const struct dehydrator *dehydrator)
{
    if (dehydrator_count(dehydrator) > 0 || dehydrator->extras == NULL) return NEVER;
    return extras_over_at(dehydrator->extras);
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Call when an element is given this deadline, so that it is announced again. */
static void unannounce(struct dehydrator *dehydrator, msec at)
{
    if (at <= dehydrator->announced) dehydrator->announced = at - 1;
}

void dehydrator_push(struct dehydrator *dehydrator, struct bytes id, struct bytes payload,
                     const struct stage *stage)
{
    struct element *element = element_new(dehydrator, id, payload, stage, NULL);
    dict_add_hashed(&dehydrator->elements, element, siphash(id.data, id.len));
    timeline_add(&dehydrator->timeline, &element->deadline, stage->at);
    update_claim(dehydrator, element, stage);
    dehydrator->redelivered += is_redelivered(element);
    unannounce(dehydrator, stage->at);
}

void dehydrator_update(struct dehydrator *dehydrator, struct element *element, struct bytes payload)
{
    struct stage stage = dehydrator_stage(dehydrator, element);
    struct push_options options = dehydrator_options(dehydrator, element);
    element_rebuild(dehydrator, element, payload, &stage, &options);
}

struct element *dehydrator_set_options(struct dehydrator *dehydrator, struct element *element,
                                       const struct push_options *options)
{
    if (push_options_any(options) && !element->has_options) {
        struct stage stage = dehydrator_stage(dehydrator, element);
        return element_rebuild(dehydrator, element, element_payload(element), &stage, options);
    }
    /* Released last, because the new options may have the same text. */
    struct kept_options old = kept_options(element);
    put_options(dehydrator, element, options);
    release_schedule(dehydrator, &old);
    return element;
}

bool dehydrator_set_schedule(struct dehydrator *dehydrator, struct bytes id, bool of_successor,
                             struct bytes text, msec phase)
{
    struct element *element = dehydrator_find(dehydrator, id);
    struct successor successor;
    if (element == NULL || text.len == 0 || text.len > SCHEDULE_TEXT_MAX) return false;
    if (!of_successor) {
        struct push_options options = dehydrator_options(dehydrator, element);
        options.every = 0;
        options.cron = text;
        options.phase = phase;
        dehydrator_set_options(dehydrator, element, &options);
        return true;
    }
    if (dehydrator->extras == NULL || !extras_successor(dehydrator->extras, id, &successor))
        return false;
    successor.options.every = 0;
    successor.options.cron = text;
    successor.options.phase = phase;
    extras_follow(dehydrator->extras, &successor);
    return true;
}

struct element *dehydrator_move(struct dehydrator *dehydrator, struct element *element,
                                const struct stage *stage)
{
    dehydrator->redelivered -= is_redelivered(element);
    bool is_claim = stage->claimed || stage->deliveries > 0;
    if ((is_claim && !element->was_claimed) || (stage->token != 0 && !element->has_token)) {
        struct push_options options = dehydrator_options(dehydrator, element);
        element = element_rebuild(dehydrator, element, element_payload(element), stage, &options);
    }
    update_claim(dehydrator, element, stage);
    dehydrator->redelivered += is_redelivered(element);
    timeline_move(&dehydrator->timeline, &element->deadline, stage->at);
    unannounce(dehydrator, stage->at);
    return element;
}

void dehydrator_remove(struct dehydrator *dehydrator, struct element *element)
{
    /* Cancel before freeing: both timelines point into the element. */
    timeline_cancel(&dehydrator->timeline, &element->deadline);
    if (is_claimed(element)) timeline_cancel(&dehydrator->leases, &claim_of(element)->lease);
    dehydrator->redelivered -= is_redelivered(element);
    dict_remove(&dehydrator->elements, element_id(element));
    if (dehydrator->extras != NULL) extras_unfollow(dehydrator->extras, element_id(element));
    element_free(dehydrator, element);
}

/* ---- announcing due elements ----------------------------------------------------------------- */

msec dehydrator_next_due(const struct dehydrator *dehydrator)
{
    msec at = timeline_next(&dehydrator->timeline);
    if (at == NEVER || at > dehydrator->announced) return at;
    return dehydrator_next_after(dehydrator, dehydrator->announced);
}

void dehydrator_announce(struct dehydrator *dehydrator, msec now)
{
    if (now > dehydrator->announced) dehydrator->announced = now;
}

bool dehydrator_rewind(struct dehydrator *dehydrator, msec now)
{
    if (dehydrator->announced <= now) return false;
    dehydrator->announced = now;
    return true;
}

/* ---- walking --------------------------------------------------------------------------------- */

void dehydrator_walk_begin(struct dehydrator_walk *walk, const struct dehydrator *dehydrator)
{
    timeline_walk_begin(&walk->in, &dehydrator->timeline);
}

void dehydrator_walk_from(struct dehydrator_walk *walk, const struct dehydrator *dehydrator,
                          msec from)
{
    timeline_walk_from(&walk->in, &dehydrator->timeline, from);
}

struct element *dehydrator_walk_next(struct dehydrator_walk *walk, msec *at)
{
    return element_of(timeline_walk_next(&walk->in, at));
}

void dehydrator_walk_end(struct dehydrator_walk *walk)
{
    timeline_walk_end(&walk->in);
}

struct visitor {
    void (*visit)(void *ctx, struct element *element);
    void *ctx;
};

static void visit_element(void *ctx, void *element)
{
    const struct visitor *visitor = ctx;
    visitor->visit(visitor->ctx, element);
}

uint64_t dehydrator_scan(const struct dehydrator *dehydrator, uint64_t cursor,
                         void (*visit)(void *ctx, struct element *element), void *ctx)
{
    struct visitor visitor = { visit, ctx };
    return dict_scan(&dehydrator->elements, cursor, visit_element, &visitor);
}

/* ---- relocating ------------------------------------------------------------------------------ */

enum { PHASE_ELEMENTS, PHASE_TIMELINE, PHASE_LEASES };

struct mover {
    struct dehydrator *dehydrator;
    struct relocation *relocation;
};

static void *element_relocate(void *ctx, void *element)
{
    const struct mover *mover = ctx;
    struct dehydrator *dehydrator = mover->dehydrator;
    struct element *old = element, *moved = relocation_copy(mover->relocation, old);
    if (moved == NULL) return old;
    timeline_moved(&dehydrator->timeline, &old->deadline, &moved->deadline);
    if (is_claimed(moved))
        timeline_moved(&dehydrator->leases, &claim_of(old)->lease, &claim_of(moved)->lease);
    mem_free(old);
    return moved;
}

struct dehydrator *dehydrator_relocate(struct dehydrator *dehydrator,
                                       struct relocation_cursor *cursor,
                                       struct relocation *relocation)
{
    if (relocation_begins(cursor)) dehydrator = relocation_block(relocation, dehydrator);
    struct mover mover = { dehydrator, relocation };
    do {
        switch (cursor->phase) {
        case PHASE_ELEMENTS:
            cursor->at = dict_relocate(&dehydrator->elements, cursor->at, relocation,
                                       element_relocate, &mover);
            break;
        case PHASE_TIMELINE:
            cursor->at = timeline_relocate(&dehydrator->timeline, (uint32_t)cursor->at, relocation);
            break;
        default:
            cursor->at = timeline_relocate(&dehydrator->leases, (uint32_t)cursor->at, relocation);
            break;
        }
        if (cursor->at == 0) cursor->phase = (cursor->phase + 1) % (PHASE_LEASES + 1);
    } while (!relocation_begins(cursor) && relocation->left > 0);
    return dehydrator;
}

/* ---- encoding, memory, self-check ------------------------------------------------------------ */

const char *dehydrator_encoding(const struct dehydrator *dehydrator)
{
    (void)dehydrator;
    return "raw";
}

size_t dehydrator_bytes(const struct dehydrator *dehydrator)
{
    return dehydrator->bytes + dict_bytes(&dehydrator->elements) +
           timeline_bytes(&dehydrator->timeline) + timeline_bytes(&dehydrator->leases) +
           (dehydrator->extras == NULL ? 0 : extras_bytes(dehydrator->extras)) +
           delivery_counts_bytes(dehydrator->tally.deliveries);
}

void dehydrator_check(const struct dehydrator *dehydrator)
{
    dict_check(&dehydrator->elements);
    timeline_check(&dehydrator->timeline);
    timeline_check(&dehydrator->leases);
    size_t count = dehydrator_count(dehydrator), bytes = mem_size(dehydrator), claimed = 0;
    size_t redelivered = 0, with_options = 0, with_schedule = 0;
    if (dehydrator->extras != NULL) extras_check(dehydrator->extras);
    uint32_t armed = timeline_count(&dehydrator->timeline);
    ensure(count == armed, "%zu elements, but %u in the timeline", count, armed);
    struct dict_iter iter;
    const struct element *element;
    dict_iter_begin(&iter, &dehydrator->elements);
    while ((element = dict_iter_next(&iter)) != NULL) {
        ensure(timeline_node_armed(&element->deadline), "element is not in the timeline");
        bytes += mem_size(element);
        redelivered += is_redelivered(element);
        with_options += element->has_options;
        with_schedule += kept_options(element).every < 0;
        ensure(stored_token(element) >= 0 && stored_token(element) <= dehydrator->last_token,
               "token %lld, the last one is %lld", (long long)stored_token(element),
               (long long)dehydrator->last_token);
        ensure(stored_token(element) == 0 || is_claimed(element), "a token without a claim");
        if (!is_claimed(element)) continue;
        claimed++;
        msec lease = timeline_at(&dehydrator->leases, &claim_of(element)->lease);
        msec at = timeline_at(&dehydrator->timeline, &element->deadline);
        ensure(lease == at, "lease ends at %lld, deadline is %lld", (long long)lease,
               (long long)at);
    }
    ensure(redelivered == dehydrator->redelivered, "%zu redelivered, counted %zu", redelivered,
           dehydrator->redelivered);
    ensure(with_options == dehydrator->with_options, "%zu with options, counted %zu", with_options,
           dehydrator->with_options);
    schedules_check(dehydrator->extras == NULL ? NULL : extras_schedules(dehydrator->extras),
                    with_schedule);
    ensure(bytes == dehydrator->bytes, "%zu bytes, counted %zu", bytes, dehydrator->bytes);
    ensure(claimed == timeline_count(&dehydrator->leases), "%zu claimed, %u leases", claimed,
           timeline_count(&dehydrator->leases));
}
