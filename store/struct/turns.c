/* turns: see turns.h. */
#include "store/struct/turns.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

static struct bytes dict_key(const void *element)
{
    return turn_key(element);
}

static const struct dict_type turn_type = { .key = dict_key };

void turns_init(struct turns *turns)
{
    *turns = (struct turns){ 0 };
    dict_init(&turns->keys, &turn_type);
    TAILQ_INIT(&turns->ring);
    agenda_init(&turns->later);
}

bool turns_drop_some(struct turns *turns, size_t *work)
{
    struct turn *turn;
    while (*work > 0 && (turn = dict_take(&turns->keys)) != NULL) {
        turns->node_bytes -= mem_size(turn);
        mem_free(turn);
        --*work;
    }
    if (turns_count(turns) > 0 || !agenda_drop_some(&turns->later, work)) return false;
    dict_drop(&turns->keys);
    return true;
}

struct turn *turns_find(const struct turns *turns, struct bytes key)
{
    return dict_find(&turns->keys, key);
}

struct turn *turns_add(struct turns *turns, struct bytes key)
{
    struct turn *turn = dict_find(&turns->keys, key);
    if (turn != NULL) return turn;
    turn = mem_alloc_tight(sizeof(*turn) + key.len);
    *turn = (struct turn){ .len = (uint32_t)key.len };
    deadline_init(&turn->later);
    if (key.len > 0) memcpy(turn->key, key.data, key.len);
    dict_add(&turns->keys, turn);
    turns->node_bytes += mem_size(turn);
    return turn;
}

enum turn_move turns_place(struct turns *turns, struct turn *turn, msec at, msec now, bool behind)
{
    bool was_in_ring = turn->in_ring, is_due = instant_due(at, now);
    bool is_armed = !is_due && deadline_armed(&turn->later);
    if (was_in_ring && is_due && !behind) return TURN_STAYS;
    if (is_armed && agenda_at(&turns->later, &turn->later) == at) return TURN_STAYS;

    if (was_in_ring) TAILQ_REMOVE(&turns->ring, turn, of_ring);
    turn->in_ring = is_due;
    if (is_due) {
        agenda_cancel(&turns->later, &turn->later);
        TAILQ_INSERT_TAIL(&turns->ring, turn, of_ring);
        return was_in_ring ? TURN_STAYS : TURN_JOINS;
    }
    if (at != NEVER) {
        agenda_move(&turns->later, &turn->later, at);
        return TURN_WAITS;
    }
    agenda_cancel(&turns->later, &turn->later);
    if (turn->noted) return TURN_LEAVES;
    turns->node_bytes -= mem_size(turn);
    dict_remove(&turns->keys, turn_key(turn));
    mem_free(turn);
    return TURN_LEAVES;
}

struct turn *turns_first_due(const struct turns *turns, msec now)
{
    if (!instant_due(agenda_next(&turns->later), now)) return NULL;
    char *later = (char *)agenda_first(&turns->later);
    return (struct turn *)(void *)(later - offsetof(struct turn, later));
}

msec turns_next_at(const struct turns *turns, msec now)
{
    return turns_first(turns) != NULL ? now : agenda_next(&turns->later);
}

size_t turns_bytes(const struct turns *turns)
{
    return turns->node_bytes + dict_bytes(&turns->keys) + agenda_bytes(&turns->later);
}

void turns_check(const struct turns *turns)
{
    const struct turn *turn;
    struct dict_iter iter;
    size_t in_ring = 0, armed = 0;
    dict_check(&turns->keys);
    agenda_check(&turns->later);
    TAILQ_FOREACH(turn, &turns->ring, of_ring)
    in_ring++;
    dict_iter_begin(&iter, &turns->keys);
    while ((turn = dict_iter_next(&iter)) != NULL) {
        ensure(turn->in_ring != deadline_armed(&turn->later), "'%.*s' is in %s", (int)turn->len,
               turn->key, turn->in_ring ? "both" : "neither");
        armed += deadline_armed(&turn->later);
    }
    ensure(armed == agenda_count(&turns->later), "%zu armed of %u", armed,
           agenda_count(&turns->later));
    ensure(in_ring + armed == turns_count(turns), "%zu in the ring and %zu not, of %zu", in_ring,
           armed, turns_count(turns));
}
