/* stream_repeats: producers in a table, each with its texts. Defragmentation does not move them,
 * because they are usually short-lived. */
#include "store/type/stream/stream_repeats.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"

enum { FORGET_STEPS = 4 }; /* old texts freed when one is put; several, so that all are freed */

struct repeat {
    struct repeat *next; /* the next text of the producer */
    struct stream_id id;
    size_t len;
    char text[];
};

struct repeat_producer {
    struct dict texts;
    struct repeat *first, *last;            /* by ID; never NULL between calls */
    struct repeat_producer *before, *after; /* neighbours in the order of last use */
    size_t len;
    char name[];
};

struct stream_repeats {
    struct dict producers;
    struct repeat_producer *oldest, *newest;
    struct stream_id latest; /* the latest ID of a text since the limits were set */
    struct repeat_limits limits;
    struct repeat_counts counts;
    size_t bytes; /* without the table of producers */
};

static struct bytes text_of(const void *element)
{
    const struct repeat *repeat = element;
    return bytes_of(repeat->text, repeat->len);
}

static struct bytes name_of(const void *element)
{
    const struct repeat_producer *producer = element;
    return bytes_of(producer->name, producer->len);
}

static const struct dict_type by_text = { text_of }, by_name = { name_of };

/* ---- producers ------------------------------------------------------------------------------- */

static void unlink_producer(struct stream_repeats *repeats, struct repeat_producer *producer)
{
    struct repeat_producer *before = producer->before, *after = producer->after;
    *(before != NULL ? &before->after : &repeats->oldest) = after;
    *(after != NULL ? &after->before : &repeats->newest) = before;
}

static void link_newest(struct stream_repeats *repeats, struct repeat_producer *producer)
{
    producer->before = repeats->newest;
    producer->after = NULL;
    *(repeats->newest != NULL ? &repeats->newest->after : &repeats->oldest) = producer;
    repeats->newest = producer;
}

/* Call when no text of the producer is left. */
static void remove_producer(struct stream_repeats *repeats, struct repeat_producer *producer)
{
    dict_remove(&repeats->producers, name_of(producer));
    unlink_producer(repeats, producer);
    repeats->bytes -= mem_size(producer) + dict_bytes(&producer->texts);
    dict_drop(&producer->texts);
    mem_free(producer);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool is_forgotten(const struct stream_repeats *repeats, const struct repeat *repeat,
                         msec now)
{
    msec at;
    bool ends = instant_after(stream_id_instant(repeat->id), repeats->limits.seconds * 1000, &at);
    return ends && at < now;
}

static void drop_first(struct stream_repeats *repeats, struct repeat_producer *producer)
{
    struct repeat *first = producer->first;
    repeats->bytes -= mem_size(first) + dict_bytes(&producer->texts);
    dict_remove(&producer->texts, text_of(first));
    repeats->bytes += dict_bytes(&producer->texts);
    producer->first = first->next;
    if (first->next == NULL) producer->last = NULL;
    mem_free(first);
}

bool repeat_find(const struct stream_repeats *repeats, struct bytes producer, struct bytes text,
                 msec now, struct stream_id *id)
{
    const struct repeat_producer *found = dict_find(&repeats->producers, producer);
    const struct repeat *repeat = found != NULL ? dict_find(&found->texts, text) : NULL;
    if (repeat == NULL || is_forgotten(repeats, repeat, now)) return false;
    *id = repeat->id;
    return true;
}

bool repeat_fits(const struct stream_repeats *repeats, struct bytes producer, struct stream_id id)
{
    const struct repeat_producer *found = dict_find(&repeats->producers, producer);
    return found == NULL || stream_id_before(found->last->id, id);
}

void repeat_put(struct stream_repeats *repeats, struct bytes name, struct bytes text,
                struct stream_id id)
{
    ensure(repeat_fits(repeats, name, id), "an ID at or before the producer's last one");
    if (stream_id_before(repeats->latest, id)) repeats->latest = id;

    /* Free some texts of the producers that were used least recently. */
    msec now = stream_id_instant(repeats->latest);
    for (int i = 0; i < FORGET_STEPS; i++) {
        struct repeat_producer *oldest = repeats->oldest;
        if (oldest == NULL || !is_forgotten(repeats, oldest->first, now)) break;
        drop_first(repeats, oldest);
        if (oldest->first == NULL) remove_producer(repeats, oldest);
    }

    struct repeat_producer *producer = dict_find(&repeats->producers, name);
    if (producer == NULL) {
        producer = mem_alloc(sizeof(*producer) + name.len);
        *producer = (struct repeat_producer){ .len = name.len };
        if (name.len > 0) memcpy(producer->name, name.data, name.len);
        dict_init(&producer->texts, &by_text);
        dict_add(&repeats->producers, producer);
        link_newest(repeats, producer);
        repeats->bytes += mem_size(producer) + dict_bytes(&producer->texts);
    } else {
        unlink_producer(repeats, producer);
        link_newest(repeats, producer);
    }
    while (dict_find(&producer->texts, text) != NULL ||
           dict_count(&producer->texts) >= (size_t)repeats->limits.texts)
        drop_first(repeats, producer);

    struct repeat *repeat = mem_alloc(sizeof(*repeat) + text.len);
    *repeat = (struct repeat){ .id = id, .len = text.len };
    if (text.len > 0) memcpy(repeat->text, text.data, text.len);
    *(producer->last != NULL ? &producer->last->next : &producer->first) = repeat;
    producer->last = repeat;
    repeats->bytes -= dict_bytes(&producer->texts);
    dict_add(&producer->texts, repeat);
    repeats->bytes += mem_size(repeat) + dict_bytes(&producer->texts);
    repeats->counts.added += repeats->counts.added < INT64_MAX;
}

/* ---- all ------------------------------------------------------------------------------------- */

struct stream_repeats *stream_repeats_new(void)
{
    struct stream_repeats *repeats = mem_alloc(sizeof(*repeats));
    *repeats = (struct stream_repeats){ .limits = { REPEAT_SECONDS, REPEAT_TEXTS },
                                        .bytes = mem_size(repeats) };
    dict_init(&repeats->producers, &by_name);
    return repeats;
}

static bool clear_some(struct stream_repeats *repeats, size_t *work)
{
    for (struct repeat_producer *oldest; (oldest = repeats->oldest) != NULL;) {
        for (; oldest->first != NULL && *work > 0; --*work)
            drop_first(repeats, oldest);
        if (oldest->first != NULL) return false;
        remove_producer(repeats, oldest);
    }
    return true;
}

bool stream_repeats_free_some(struct stream_repeats *repeats, size_t *work)
{
    if (!clear_some(repeats, work)) return false;
    dict_drop(&repeats->producers);
    mem_free(repeats);
    return true;
}

struct repeat_limits repeat_limits(const struct stream_repeats *repeats)
{
    return repeats->limits;
}

void repeat_set_limits(struct stream_repeats *repeats, struct repeat_limits limits)
{
    size_t work = SIZE_MAX;
    if (limits.seconds == repeats->limits.seconds && limits.texts == repeats->limits.texts) return;
    clear_some(repeats, &work);
    repeats->limits = limits;
    repeats->latest = STREAM_ID_MIN;
}

struct repeat_counts repeat_counts(const struct stream_repeats *repeats)
{
    return repeats->counts;
}

void repeat_set_counts(struct stream_repeats *repeats, struct repeat_counts counts)
{
    repeats->counts = counts;
}

size_t repeat_producers(const struct stream_repeats *repeats)
{
    return dict_count(&repeats->producers);
}

struct repeat_tally repeat_tally(const struct stream_repeats *repeats, msec now)
{
    struct repeat_tally tally = { 0 };
    for (const struct repeat_producer *at = repeats->oldest; at != NULL; at = at->after) {
        const struct repeat *repeat = at->first;
        size_t texts = dict_count(&at->texts);
        for (; repeat != NULL && is_forgotten(repeats, repeat, now); repeat = repeat->next)
            texts--;
        tally.producers += texts > 0;
        tally.texts += texts;
    }
    return tally;
}

void repeat_walk_begin(struct repeat_walk *walk, const struct stream_repeats *repeats)
{
    *walk = (struct repeat_walk){ .repeats = repeats, .at = repeats->oldest };
    if (walk->at != NULL) walk->next = walk->at->first;
}

bool repeat_walk_next(struct repeat_walk *walk)
{
    /* Skip forgotten texts: whether they are still in memory must make no difference. */
    msec now = stream_id_instant(walk->repeats->latest);
    while (walk->at != NULL) {
        while (walk->next != NULL && is_forgotten(walk->repeats, walk->next, now))
            walk->next = walk->next->next;
        if (walk->next != NULL) break;
        walk->at = walk->at->after;
        if (walk->at != NULL) walk->next = walk->at->first;
    }
    if (walk->at == NULL) return false;
    walk->producer = name_of(walk->at);
    walk->text = text_of(walk->next);
    walk->id = walk->next->id;
    walk->next = walk->next->next;
    return true;
}

size_t stream_repeats_bytes(const struct stream_repeats *repeats)
{
    return repeats->bytes + dict_bytes(&repeats->producers);
}

void stream_repeats_check(const struct stream_repeats *repeats)
{
    size_t bytes = mem_size(repeats), count = 0;
    const struct repeat_producer *before = NULL;
    for (const struct repeat_producer *at = repeats->oldest; at != NULL; at = at->after) {
        ensure(dict_find(&repeats->producers, name_of(at)) == at, "a producer is not in the table");
        ensure(at->before == before, "the list of producers is broken");

        size_t texts = 0;
        const struct repeat *last = NULL;
        for (const struct repeat *text = at->first; text != NULL; text = text->next) {
            ensure(dict_find(&at->texts, text_of(text)) == text, "a text is not in the table");
            ensure(last == NULL || stream_id_before(last->id, text->id), "texts are out of order");
            bytes += mem_size(text);
            texts++;
            last = text;
        }
        dict_check(&at->texts);
        ensure(last != NULL && last == at->last, "the last text is another one");
        ensure(texts == dict_count(&at->texts) && texts <= (size_t)repeats->limits.texts,
               "%zu texts", texts);

        bytes += mem_size(at) + dict_bytes(&at->texts);
        count++;
        before = at;
    }
    dict_check(&repeats->producers);
    ensure(before == repeats->newest && count == dict_count(&repeats->producers), "%zu producers",
           count);
    ensure(bytes == repeats->bytes, "%zu bytes, counted %zu", bytes, repeats->bytes);
}
