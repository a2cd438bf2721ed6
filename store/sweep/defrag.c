/* defrag: walks over all databases, and repeats the walk until it gains nothing.
 *
 * A walk follows the order of SCAN, so that it reaches every entry that stays, whatever changes
 * between two calls. A value too large for one call is found again by its key when the walk
 * continues. */
#include "store/sweep/defrag.h"

#include "store/mem/mem.h"

enum {
    /* Begin, or repeat, a walk if this percentage of the memory in use is unused ... */
    BEGIN_PERCENT = 10,
    AGAIN_PERCENT = 4,
    BEGIN_MIN = 3 << 20, /* ... and at least this many bytes. */
    AGAIN_MIN = 1 << 20,
    GROWTH_PERCENT = 1, /* do not begin if the data grew by more since the last check */
    FORGET_SHIFT =
        6, /* each check subtracts 1/64 from the bytes that the last walk could not free */
    USELESS_SHIFT = 7, /* do not repeat a walk that moved fewer than 1/128 of the blocks */
};

enum { PHASE_ENTRIES, PHASE_AGENDAS, PHASES = PHASE_AGENDAS + KEY_KINDS };

void defrag_init(struct defrag *defrag, struct store *store)
{
    *defrag = (struct defrag){ .store = store };
}

void defrag_drop(struct defrag *defrag)
{
    while (defrag->value_count > 0)
        blob_free(defrag->values[--defrag->value_count].key);
    mem_free(defrag->values);
    defrag->values = NULL;
    defrag->value_cap = 0;
}

void defrag_stop(struct defrag *defrag)
{
    defrag_drop(defrag);
    defrag->running = defrag->trimming = false;
}

/* ---- when to run ----------------------------------------------------------------------------- */

static bool is_worth(size_t unused, size_t min, unsigned percent)
{
    return unused > min && unused > mem_used() / 100 * percent;
}

static bool is_worth_more(size_t unused)
{
    return is_worth(unused, AGAIN_MIN, AGAIN_PERCENT);
}

static void walk_begin(struct defrag *defrag)
{
    defrag->db = 0;
    defrag->cursor = (struct relocation_cursor){ 0 };
    defrag->moved_before = defrag->relocation.moved;
    defrag->kept_before = defrag->relocation.kept;
    defrag->used_before = mem_used();
}

void defrag_force(struct defrag *defrag)
{
    defrag_stop(defrag);
    defrag->running = true;
    walk_begin(defrag);
}

bool defrag_begin(struct defrag *defrag)
{
    if (defrag->running) return true;
    size_t unused = mem_pool_waste(), before = defrag->used_before, used = mem_used();
    defrag->written_off -= defrag->written_off >> FORGET_SHIFT;
    if (unused < defrag->written_off) defrag->written_off = unused;
    defrag->used_before = used;
    if (used > before + before / 100 * GROWTH_PERCENT) return false;
    if (!is_worth(unused, BEGIN_MIN, BEGIN_PERCENT)) return false;
    if (!is_worth_more(unused - defrag->written_off)) return false;
    defrag_force(defrag);
    /* Free slabs can be returned without moving blocks. */
    defrag->trimming = !is_worth(unused - mem_pool_spare(), BEGIN_MIN, BEGIN_PERCENT);
    return true;
}

/* ---- walking --------------------------------------------------------------------------------- */

static void visit(void *ctx, struct entry *entry)
{
    struct defrag *defrag = ctx;
    struct relocation_cursor cursor = { 0 };
    bool has_work = defrag->relocation.left > 0 || entry->object.type == TYPE_STRING;
    if (has_work) object_relocate(&entry->object, &cursor, &defrag->relocation);
    if (!has_work || !relocation_begins(&cursor)) {
        defrag->values = mem_grow(defrag->values, defrag->value_count, &defrag->value_cap,
                                  sizeof(*defrag->values));
        struct blob *key = blob_new(entry_key(entry));
        defrag->values[defrag->value_count++] = (struct defrag_value){ key, cursor };
    }
    if (defrag->relocation.moved != defrag->moved_at_visit)
        defrag->keys_moved++;
    else
        defrag->keys_kept++;
    defrag->moved_at_visit = defrag->relocation.moved;
}

static void take_step(struct defrag *defrag)
{
    size_t *left = &defrag->relocation.left;
    if (*left > 0) --*left; /* the cost of finding it, even if there is nothing to do */
    if (defrag->trimming) {
        *left = 0;
        if (is_worth_more(mem_pool_waste()) && mem_trim()) return;
        defrag_stop(defrag);
        defrag->written_off = mem_pool_waste();
        return;
    }

    struct keyspace *ks = &defrag->store->databases[defrag->db];
    if (defrag->value_count > 0) { /* continue with the last of the large values */
        struct defrag_value *value = &defrag->values[defrag->value_count - 1];
        struct entry *entry = keyspace_find(ks, blob_view(value->key));
        if (entry != NULL) {
            object_relocate(&entry->object, &value->cursor, &defrag->relocation);
            if (!relocation_begins(&value->cursor)) return;
        }
        blob_free(value->key);
        defrag->value_count--;
        return;
    }
    if (defrag->db < defrag->store->database_count) {
        struct relocation_cursor *cursor = &defrag->cursor;
        if (cursor->phase == PHASE_ENTRIES) {
            cursor->at = keyspace_relocate(ks, cursor->at, &defrag->relocation, visit, defrag);
            if (cursor->at == 0) cursor->phase = PHASE_AGENDAS;
            return;
        }
        agenda_relocate(&ks->agendas[cursor->phase - PHASE_AGENDAS], cursor, &defrag->relocation);
        if (cursor->at != 0 || ++cursor->phase < PHASES) return;
        cursor->phase = PHASE_ENTRIES;
        defrag->db++;
        return;
    }

    /* The walk ends. Repeat it while that gains memory. */
    uint64_t moved = defrag->relocation.moved - defrag->moved_before;
    uint64_t kept = defrag->relocation.kept - defrag->kept_before;
    /* If data was deleted during the walk, blocks that it passed may be worth moving now. */
    bool shrunk = mem_used() < defrag->used_before - defrag->used_before / 100;
    bool useful = shrunk || moved > kept >> USELESS_SHIFT;
    if (useful && is_worth_more(mem_pool_waste()))
        walk_begin(defrag);
    else
        defrag->trimming = true;
}

bool defrag_run(struct defrag *defrag, size_t work)
{
    defrag->relocation.left = work;
    while (defrag->running && defrag->relocation.left > 0)
        take_step(defrag);
    return defrag->running;
}
