/* txn_dehydrator: mutators of dehydrators. */
#include "store/txn/txn_dehydrator.h"

#include "store/calendar/calendar.h"
#include "store/calendar/cron.h"
#include "store/txn/txn_internal.h"
#include "store/txn/txn_token.h"
#include "store/type/drained.h"

_Static_assert(ZONE_NAME_MAX + 1 + CRON_TEXT_MAX <= SCHEDULE_TEXT_MAX, "a schedule is refused");

bool txn_rede_push(struct txn *txn, struct entry *entry, struct bytes id, struct bytes payload,
                   const struct stage *stage)
{
    struct dehydrator *dehydrator = entry->object.dehydrator;
    if (!dehydrator_push(dehydrator, id, payload, stage)) return false;
    if (txn->origin != FROM_REPLAY) dehydrator_note_pushed(dehydrator); /* else it was loaded */
    txn_token_raise(txn, stage->token);
    keyspace_rearm(txn->ks, entry);
    RECORD(txn, entry, EFFECT_REDE_PUSH, EVENT_REDE_PUSH, .a = id, .b = payload, .stage = *stage);
    return true;
}

void txn_rede_update(struct txn *txn, struct entry *entry, struct element *element,
                     struct bytes payload)
{
    /* Record first: the update may move the element and its id. */
    RECORD(txn, entry, EFFECT_REDE_PUT, EVENT_REDE_UPDATE, .a = element_id(element), .b = payload);
    dehydrator_update(entry->object.dehydrator, element, payload);
}

static void count_event(struct txn *txn, struct entry *entry, const struct element *element,
                        enum event event)
{
    if (txn->origin != FROM_CLIENT) return;
    struct dehydrator *dehydrator = entry->object.dehydrator;
    struct delivery_counts *counts = dehydrator_counts_made(dehydrator);
    if (event == EVENT_REDE_POLL || event == EVENT_REDE_CLAIM)
        delivery_counts_add(counts, txn->now - dehydrator_stage(dehydrator, element).at);
    counts->acked += event == EVENT_REDE_ACK;
    counts->retried += event == EVENT_REDE_NACK;
    counts->dead += event == EVENT_REDE_DEAD;
}

struct element *txn_rede_move(struct txn *txn, struct entry *entry, struct element *element,
                              const struct stage *stage, enum event event)
{
    if (event == EVENT_REDE_CLAIM || event == EVENT_REDE_NACK)
        count_event(txn, entry, element, event);
    RECORD(txn, entry, EFFECT_REDE_MOVE, event, .a = element_id(element), .stage = *stage);
    element = dehydrator_move(entry->object.dehydrator, element, stage);
    txn_token_raise(txn, stage->token);
    keyspace_rearm(txn->ks, entry);
    return element;
}

void txn_rede_remove(struct txn *txn, struct entry *entry, struct element *element,
                     enum event event)
{
    /* Record first: the id is freed with the element. */
    RECORD(txn, entry, EFFECT_REDE_DROP, event, .a = element_id(element));
    dehydrator_remove(entry->object.dehydrator, element);
    /* An empty dehydrator with a RATE expires when its next delivery is allowed: arm that. */
    bool has_extras = dehydrator_extras(entry->object.dehydrator) != NULL;
    if (entry->object.has_expiry || has_extras) keyspace_rearm(txn->ks, entry);
    txn_note_emptied(txn, entry);
}

/* ---- counts of an empty dehydrator ----------------------------------------------------------- */

void txn_rede_keep_counts(struct txn *txn, struct entry *entry)
{
    struct dehydrator *dehydrator = entry->object.dehydrator;
    if (!txn->store->keeps_counts) return;
    if (!dehydrator_is_spent(dehydrator) && !object_all_expired(&entry->object, txn->now)) return;
    struct delivery_tally tally = dehydrator_swap_tally(dehydrator, (struct delivery_tally){ 0 });
    if (tally.pushed == 0 && tally.deliveries == NULL) return;
    if (txn->ks->drained == NULL) txn->ks->drained = drained_new();
    drained_keep(txn->ks->drained, entry_key(entry), tally, txn->now);
}

void txn_rede_resume_counts(struct txn *txn, struct entry *entry)
{
    struct dehydrator *dehydrator = entry->object.dehydrator;
    if (txn->ks->drained == NULL) return;
    struct delivery_tally own = dehydrator_swap_tally(dehydrator, (struct delivery_tally){ 0 });
    struct delivery_tally kept = drained_take(txn->ks->drained, entry_key(entry), txn->now);
    bool has_own = own.pushed > 0 || own.deliveries != NULL;
    dehydrator_swap_tally(dehydrator, has_own ? own : kept);
    if (has_own) delivery_counts_free(kept.deliveries);
}

struct delivery_tally txn_rede_drained(const struct txn *txn, struct bytes key)
{
    return keyspace_drained(txn->ks, key, txn->now);
}

/* ---- options of pushes ----------------------------------------------------------------------- */

struct element *txn_rede_set_options(struct txn *txn, struct entry *entry, struct element *element,
                                     const struct push_options *options)
{
    struct effect effect = effect_of_options(EFFECT_REDE_OPTIONS, element_id(element), options);
    txn_record(txn, entry, &effect);
    if (options->cron.len > 0) {
        effect = effect_of_cron(element_id(element), false, options);
        txn_record(txn, entry, &effect);
    }
    return dehydrator_set_options(entry->object.dehydrator, element, options);
}

void txn_rede_follow(struct txn *txn, struct entry *entry, const struct successor *successor)
{
    struct effect effect = effect_of_successor(successor);
    effect.event = EVENT_REDE_PUSH;
    txn_record(txn, entry, &effect);
    if (successor->options.cron.len > 0) {
        effect = effect_of_cron(successor->id, true, &successor->options);
        txn_record(txn, entry, &effect);
    }
    extras_follow(dehydrator_extras_made(entry->object.dehydrator), successor);
}

bool txn_rede_set_schedule(struct txn *txn, struct entry *entry, const struct effect *cron)
{
    struct effect effect = { .kind = EFFECT_REDE_CRON,
                             .a = cron->a,
                             .b = cron->b,
                             .from = cron->from,
                             .stage.at = cron->stage.at };
    if (!dehydrator_set_schedule(entry->object.dehydrator, cron->a, cron->from != 0, cron->b,
                                 cron->stage.at))
        return false;
    txn_record(txn, entry, &effect);
    return true;
}

bool txn_rede_unfollow(struct txn *txn, struct entry *entry, struct bytes id)
{
    struct extras *extras = dehydrator_extras(entry->object.dehydrator);
    struct successor successor;
    if (extras == NULL || !extras_successor(extras, id, &successor)) return false;
    RECORD(txn, entry, EFFECT_REDE_UNFOLLOW, EVENT_NONE, .a = id);
    return extras_unfollow(extras, id);
}

void txn_rede_remember(struct txn *txn, struct entry *entry, struct bytes id, msec until)
{
    RECORD(txn, entry, EFFECT_REDE_REMEMBER, EVENT_NONE, .a = id, .at = until);
    extras_remember(dehydrator_extras_made(entry->object.dehydrator), id, until);
    keyspace_rearm(txn->ks, entry);
}

bool txn_rede_forget(struct txn *txn, struct entry *entry, struct bytes id)
{
    struct extras *extras = dehydrator_extras(entry->object.dehydrator);
    struct effect effect = { .kind = EFFECT_REDE_FORGET, .a = id };
    if (extras == NULL || extras_remembered_until(extras, id) == 0) return false;
    /* Not txn_record, because the end of a span is not a use of the key. */
    txn_record_each(txn, entry_key(entry), &effect);
    extras_forget(extras, id);
    keyspace_rearm(txn->ks, entry);
    txn_note_emptied(txn, entry);
    return true;
}

/* ---- pauses and rates ------------------------------------------------------------------------ */

void txn_rede_set_next_delivery(struct txn *txn, struct entry *entry, int64_t usec)
{
    struct effect effect = { .kind = EFFECT_REDE_RATE, .from = usec };
    /* Not txn_record: deliveries have effects of their own, and the end of a span is not a use. */
    txn_record_each(txn, entry_key(entry), &effect);
    extras_set_next_usec(dehydrator_extras_made(entry->object.dehydrator), usec);
    keyspace_rearm(txn->ks, entry);
    if (usec == 0) txn_note_emptied(txn, entry);
}

static struct effect effect_of_pause(msec until)
{
    return (struct effect){ .kind = EFFECT_REDE_PAUSE,
                            .event = until == 0 ? EVENT_REDE_RESUME : EVENT_REDE_PAUSE,
                            .at = until };
}

static void set_pause(struct txn *txn, struct entry *entry, msec until)
{
    extras_pause(dehydrator_extras_made(entry->object.dehydrator), until);
    keyspace_rearm(txn->ks, entry);
    if (until == 0) txn_note_emptied(txn, entry);
}

void txn_rede_pause(struct txn *txn, struct entry *entry, msec until)
{
    struct effect effect = effect_of_pause(until);
    txn_record(txn, entry, &effect);
    set_pause(txn, entry, until);
}

size_t txn_rede_pause_all(struct txn *txn)
{
    struct dict_iter iter;
    struct entry *entry;
    size_t count = 0;
    /* Pausing neither adds nor removes keys. */
    dict_iter_begin(&iter, &txn->ks->dict);
    while ((entry = dict_iter_next(&iter)) != NULL) {
        if (entry->object.type != TYPE_DEHYDRATOR) continue;
        txn_rede_pause(txn, entry, INSTANT_MAX);
        count++;
    }
    return count;
}

/* ---- the end of elements --------------------------------------------------------------------- */

void txn_rede_replace(struct txn *txn, struct entry *entry, struct bytes id, struct bytes payload,
                      const struct stage *stage)
{
    struct dehydrator *dehydrator = entry->object.dehydrator;
    struct element *element = dehydrator_find(dehydrator, id);
    if (element == NULL) {
        txn_rede_push(txn, entry, id, payload, stage);
        return;
    }
    const struct push_options none = { 0 }, old = dehydrator_options(dehydrator, element);
    txn_rede_update(txn, entry, element, payload);
    element = dehydrator_find(dehydrator, id);
    if (push_options_any(&old)) element = txn_rede_set_options(txn, entry, element, &none);
    txn_rede_move(txn, entry, element, stage, EVENT_REDE_PUSH);
    txn_rede_unfollow(txn, entry, id);
}

/* Call when a delivery of the element has ended: remembers the element's id for its span REMEMBER,
 * unless an earlier delivery has a later end. */
static void remember_delivered(struct txn *txn, struct entry *entry, const struct element *element)
{
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    struct push_options options = dehydrator_options(dehydrator, element);
    const struct extras *extras = dehydrator_extras(dehydrator);
    msec until = instant_moved(txn->now, options.remember);
    if (options.remember == 0) return;
    if (extras != NULL && extras_remembered_until(extras, element_id(element)) >= until) return;
    txn_rede_remember(txn, entry, element_id(element), until);
}

void txn_rede_remove_delivered(struct txn *txn, struct entry *entry, struct element *element,
                               enum event event)
{
    remember_delivered(txn, entry, element); /* before the element goes, so that the key stays */
    txn_rede_remove(txn, entry, element, event);
}

/* Returns the instant after now at which an element with these options is due again, or NEVER. */
static msec due_again(struct txn *txn, const struct push_options *options)
{
    struct bytes cron = options->cron;
    if (options->every == 0 && cron.len == 0) return NEVER;
    if (options->phase > txn->now) return options->phase;
    if (cron.len == 0) {
        msec since = txn->now - options->phase;
        return instant_moved(txn->now, options->every - since % options->every);
    }
    char fault[CALENDAR_FAULT_MAX];
    const char *space = memchr(cron.data, ' ', cron.len);
    if (space == NULL) return NEVER;
    struct bytes zone = bytes_of(cron.data, (size_t)(space - cron.data));
    struct bytes text = bytes_of(space + 1, cron.len - zone.len - 1);
    struct calendar *calendar = txn->store->calendar;
    const struct schedule *schedule = calendar_find(calendar, text, zone, fault);
    /* If the system no longer has the zone, use UTC. Otherwise the work would be done again and
     * again, or never again, until somebody installs tzdata. */
    if (schedule == NULL) schedule = calendar_find(calendar, text, ZONE_DEFAULT, fault);
    return schedule == NULL ? NEVER : calendar_next(schedule, txn->now);
}

void txn_rede_finish(struct txn *txn, struct entry *entry, struct element *element,
                     enum event event)
{
    struct successor successor;
    const struct extras *extras = dehydrator_extras(entry->object.dehydrator);
    struct push_options options = dehydrator_options(entry->object.dehydrator, element);
    struct stage stage = { .at = due_again(txn, &options) };
    count_event(txn, entry, element, event);
    if (extras != NULL && extras_successor(extras, element_id(element), &successor)) {
        remember_delivered(txn, entry, element);
        stage.at = successor.at;
        struct bytes id = successor.id; /* points into the successor, which is removed last */
        txn_rede_update(txn, entry, element, successor.payload);
        element = dehydrator_find(entry->object.dehydrator, id);
        element = txn_rede_set_options(txn, entry, element, &successor.options);
        txn_rede_move(txn, entry, element, &stage, event);
        txn_rede_unfollow(txn, entry, id);
    } else if (stage.at != NEVER) {
        if (options.first != 0) { /* its burst of pushes with POSTPONE has been delivered */
            options.first = 0;
            element = txn_rede_set_options(txn, entry, element, &options);
        }
        txn_rede_move(txn, entry, element, &stage, event);
    } else {
        txn_rede_remove_delivered(txn, entry, element, event);
    }
}

/* ---- deadlines that come --------------------------------------------------------------------- */

/* Records with txn_record_each: none of these ends is a use of the key. */
size_t txn_rede_end_spans(struct txn *txn, struct entry *entry, size_t limit)
{
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    const struct extras *extras = dehydrator_extras(dehydrator);
    struct bytes id;
    size_t done = 0;
    if (extras == NULL) return 0;
    if (extras_paused(extras) != 0 && dehydrator_paused(dehydrator, txn->now) == 0) {
        struct effect effect = effect_of_pause(0);
        txn_record_each(txn, entry_key(entry), &effect);
        set_pause(txn, entry, 0);
        done++;
    }
    if (dehydrator_count(dehydrator) == 0 && instant_due(extras_rate_end(extras), txn->now)) {
        txn_rede_set_next_delivery(txn, entry, 0);
        done++;
    }
    while (done < limit && instant_due(extras_next_end(extras, &id), txn->now)) {
        if (!txn_rede_forget(txn, entry, id)) break;
        done++;
    }
    return done;
}

void txn_rede_announce(struct txn *txn, struct entry *entry)
{
    if (!instant_due(dehydrator_next_due(entry->object.dehydrator), txn->now)) return;
    txn_notify(txn, entry, &(struct effect){ .kind = EFFECT_NONE, .event = EVENT_REDE_DUE });
    dehydrator_announce(entry->object.dehydrator, txn->now);
    rewind_note(&txn->store->rewind, txn->now);
    keyspace_rearm(txn->ks, entry);
}
