/* dehydrator: see dehydrator.h. Each element is one allocation (element.h). */
#include "store/type/dehydrator.h"

#include "store/base/ensure.h"
#include "store/base/prefetch.h"
#include "store/mem/mem.h"
#include "store/type/element.h"
#include "store/type/schedules.h"

enum {
    EXACT_DEADLINES = 1000, /* a result of dehydrator_count_deadlines below this is exact */
};

/* 64 bytes, one cache line. Dehydrators are often small and many. */
struct dehydrator {
    struct elements elements;
    msec announced;                     /* all elements due by this instant were announced */
    struct delivery_tally tally;        /* see dehydrator_tally */
    int64_t last_token;                 /* the largest token of a claim so far */
    struct extras *extras;              /* NULL until first needed */
    uint32_t redelivered, with_options; /* elements: claimed again, with room for options */
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

/* Writes the options into the element, if it was allocated with room for them. A schedule that the
 * element stored before must be released by the caller. */
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

/* Allocates an element with the optional parts that its stage and options need (element.h), and
 * adds it to no collection. `options` may be NULL. */
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
    return element;
}

static void element_free(struct dehydrator *dehydrator, struct element *element)
{
    if (element->has_options) {
        struct kept_options kept = kept_options(element);
        release_schedule(dehydrator, &kept);
        dehydrator->with_options--;
    }
    mem_free(element);
}

/* Reallocates an element with this payload, stage and options, at the same deadline. */
static struct element *element_rebuild(struct dehydrator *dehydrator, struct element *old,
                                       struct bytes payload, const struct stage *stage,
                                       const struct push_options *options)
{
    struct element *rebuilt = element_new(dehydrator, element_id(old), payload, stage, options);
    elements_replace(&dehydrator->elements, old, rebuilt);
    element_free(dehydrator, old);
    return rebuilt;
}

static bool is_redelivered(const struct element *element)
{
    const struct claim *claim = claim_of(element);
    return claim != NULL && claim->deliveries > 1;
}

/* Copies the stage's deliveries and token to the element's claim, if the element was ever claimed.
 * The lease in the claim stays, because elements.c maintains it. */
static void update_claim(struct dehydrator *dehydrator, struct element *element,
                         const struct stage *stage)
{
    struct claim *claim = claim_of(element);
    if (claim == NULL) return;
    claim->deliveries = stage->deliveries;
    put_token(element, stage->token);
    if (stage->token > dehydrator->last_token) dehydrator->last_token = stage->token;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

struct dehydrator *dehydrator_new(void)
{
    struct dehydrator *dehydrator = mem_zalloc(sizeof(*dehydrator));
    elements_init(&dehydrator->elements);
    dehydrator->announced = INT64_MIN;
    return dehydrator;
}

void dehydrator_free(struct dehydrator *dehydrator)
{
    size_t work = SIZE_MAX;
    dehydrator_free_some(dehydrator, &work);
}

bool dehydrator_free_some(struct dehydrator *dehydrator, size_t *work)
{
    for (; *work > 0 && elements_count(&dehydrator->elements) > 0; --*work)
        element_free(dehydrator, elements_take(&dehydrator->elements));
    if (elements_count(&dehydrator->elements) > 0) return false;
    if (!elements_drop_some(&dehydrator->elements, work)) return false;
    if (!extras_free_some(dehydrator->extras, work)) return false;
    delivery_counts_free(dehydrator->tally.deliveries);
    mem_free(dehydrator);
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

size_t dehydrator_count(const struct dehydrator *dehydrator)
{
    return elements_count(&dehydrator->elements);
}

size_t dehydrator_count_due(const struct dehydrator *dehydrator, msec now)
{
    return elements_count_until(&dehydrator->elements, now);
}

size_t dehydrator_count_between(const struct dehydrator *dehydrator, msec after, msec until)
{
    if (after >= until) return 0;
    return elements_count_until(&dehydrator->elements, until) -
           elements_count_until(&dehydrator->elements, after);
}

size_t dehydrator_count_claimed(const struct dehydrator *dehydrator, msec now)
{
    return elements_count_claimed(&dehydrator->elements, now);
}

msec dehydrator_next_lease_end(const struct dehydrator *dehydrator, msec now)
{
    return elements_lease_after(&dehydrator->elements, now);
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
    msec at = INT64_MIN, next;
    for (; different < EXACT_DEADLINES; different++) {
        next = elements_after(&dehydrator->elements, at);
        if (next == NEVER) return different;
        at = next;
    }
    size_t seen = elements_count_until(&dehydrator->elements, at);
    return (size_t)((double)different * (double)total / (double)seen);
}

msec dehydrator_next(const struct dehydrator *dehydrator)
{
    return elements_next(&dehydrator->elements);
}

msec dehydrator_next_after(const struct dehydrator *dehydrator, msec at)
{
    return elements_after(&dehydrator->elements, at);
}

void dehydrator_expect(struct dehydrator *dehydrator, size_t count)
{
    elements_expect(&dehydrator->elements, count);
}

const struct dict *dehydrator_hint(const struct dehydrator *dehydrator)
{
    return elements_hint(&dehydrator->elements);
}

void dehydrator_hint_first(const struct dehydrator *dehydrator)
{
    elements_hint_first(&dehydrator->elements);
    prefetch(dehydrator->tally.deliveries);
}

struct element *dehydrator_find(const struct dehydrator *dehydrator, struct bytes id)
{
    return elements_find(&dehydrator->elements, id);
}

struct element *dehydrator_first(const struct dehydrator *dehydrator)
{
    return elements_first(&dehydrator->elements);
}

struct stage dehydrator_stage(const struct dehydrator *dehydrator, const struct element *element)
{
    return (struct stage){ .at = elements_at(&dehydrator->elements, element),
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

/* Call after an element's deadline was set to `at`. If the announced instants include `at`, takes
 * them back to before it, so that the element will be announced. */
static void unannounce(struct dehydrator *dehydrator, msec at)
{
    if (at <= dehydrator->announced) dehydrator->announced = at - 1;
}

bool dehydrator_push(struct dehydrator *dehydrator, struct bytes id, struct bytes payload,
                     const struct stage *stage)
{
    struct elements *elements = &dehydrator->elements;
    uint64_t hash = elements_hash(elements, id);
    if (elements_find_hashed(elements, id, hash) != NULL) return false;
    struct element *element = element_new(dehydrator, id, payload, stage, NULL);
    elements_add(elements, element, hash, stage->at, stage->claimed);
    update_claim(dehydrator, element, stage);
    dehydrator->redelivered += is_redelivered(element);
    unannounce(dehydrator, stage->at);
    return true;
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
    /* Release the old text last, because the new options may have the same one. */
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
    elements_move(&dehydrator->elements, element, stage->at, stage->claimed);
    unannounce(dehydrator, stage->at);
    return element;
}

void dehydrator_remove(struct dehydrator *dehydrator, struct element *element)
{
    dehydrator->redelivered -= is_redelivered(element);
    elements_remove(&dehydrator->elements, element);
    if (dehydrator->extras != NULL) extras_unfollow(dehydrator->extras, element_id(element));
    element_free(dehydrator, element);
}

/* ---- announcing due elements ----------------------------------------------------------------- */

msec dehydrator_next_due(const struct dehydrator *dehydrator)
{
    msec at = elements_next(&dehydrator->elements);
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
    elements_walk_begin(&walk->in, &dehydrator->elements);
}

void dehydrator_walk_from(struct dehydrator_walk *walk, const struct dehydrator *dehydrator,
                          msec from)
{
    elements_walk_from(&walk->in, &dehydrator->elements, from);
}

struct element *dehydrator_walk_next(struct dehydrator_walk *walk, msec *at)
{
    return elements_walk_next(&walk->in, at);
}

void dehydrator_walk_end(struct dehydrator_walk *walk)
{
    elements_walk_end(&walk->in);
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
    return elements_scan(&dehydrator->elements, cursor, visit_element, &visitor);
}

/* ---- encoding, memory, self-check ------------------------------------------------------------ */

struct dehydrator *dehydrator_relocate(struct dehydrator *dehydrator,
                                       struct relocation_cursor *cursor,
                                       struct relocation *relocation)
{
    if (relocation_begins(cursor)) dehydrator = relocation_block(relocation, dehydrator);
    elements_relocate(&dehydrator->elements, cursor, relocation);
    return dehydrator;
}

size_t dehydrator_bytes(const struct dehydrator *dehydrator)
{
    return mem_size(dehydrator) + elements_bytes(&dehydrator->elements) +
           (dehydrator->extras == NULL ? 0 : extras_bytes(dehydrator->extras)) +
           delivery_counts_bytes(dehydrator->tally.deliveries);
}

void dehydrator_check(const struct dehydrator *dehydrator)
{
    size_t redelivered = 0, with_options = 0, with_schedule = 0;
    struct dehydrator_walk walk;
    const struct element *element;
    msec at;
    elements_check(&dehydrator->elements);
    if (dehydrator->extras != NULL) extras_check(dehydrator->extras);
    dehydrator_walk_begin(&walk, dehydrator);
    while ((element = dehydrator_walk_next(&walk, &at)) != NULL) {
        redelivered += is_redelivered(element);
        with_options += element->has_options;
        with_schedule += kept_options(element).every < 0;
        ensure(stored_token(element) >= 0 && stored_token(element) <= dehydrator->last_token,
               "token %lld, the last one is %lld", (long long)stored_token(element),
               (long long)dehydrator->last_token);
        ensure(stored_token(element) == 0 || is_claimed(element), "a token without a claim");
    }
    dehydrator_walk_end(&walk);
    ensure(redelivered == dehydrator->redelivered, "%zu redelivered, counted %u", redelivered,
           dehydrator->redelivered);
    ensure(with_options == dehydrator->with_options, "%zu with options, counted %u", with_options,
           dehydrator->with_options);
    schedules_check(dehydrator->extras == NULL ? NULL : extras_schedules(dehydrator->extras),
                    with_schedule);
}
