/* read_budget: see read_budget.h. */
#include "server/cmd/stream/read_budget.h"

struct read_budget read_budget(int64_t entries, int64_t bytes)
{
    return (struct read_budget){ .counts = entries > 0,
                                 .measures = bytes > 0,
                                 .entries = entries > 0 ? (size_t)entries : 1,
                                 .bytes = (size_t)bytes };
}

bool budget_is_spent(const struct read_budget *budget)
{
    return budget->entries == 0;
}

/* Returns the size of the head of an array, such as "*12\r\n". */
static size_t head_size(size_t count)
{
    size_t size = 4;
    for (; count > 9; count /= 10)
        size++;
    return size;
}

static size_t bulk_size(size_t len)
{
    return head_size(len) + len + 2;
}

static size_t id_size(struct stream_id id)
{
    char text[STREAM_ID_CHARS];
    return head_size(2) + bulk_size(stream_id_print(text, id));
}

void budget_begin(struct read_budget *budget, struct bytes key)
{
    budget->name = budget->measures ? bulk_size(key.len) : 0;
}

static bool take(struct read_budget *budget, size_t size)
{
    size += budget->name;
    if (budget->measures && budget->is_used && size > budget->bytes) budget->entries = 0;
    if (budget->entries == 0) return false;
    if (budget->counts) budget->entries--;
    if (budget->measures) budget->bytes -= size < budget->bytes ? size : budget->bytes;
    budget->name = 0;
    budget->is_used = true;
    return true;
}

bool budget_take(struct read_budget *budget, struct stream_entry entry)
{
    size_t size = 0;
    if (budget->measures) {
        struct bytes name, value;
        size = id_size(entry.id) + head_size(2 * entry.count);
        while (stream_entry_next(&entry, &name, &value))
            size += bulk_size(name.len) + bulk_size(value.len);
    }
    return take(budget, size);
}

bool budget_take_id(struct read_budget *budget, struct stream_id id)
{
    return take(budget, budget->measures ? id_size(id) : 0);
}

size_t budget_take_after(struct read_budget *budget, const struct stream *stream,
                         struct stream_id after, size_t count)
{
    struct stream_walk walk;
    struct stream_entry entry;
    size_t taken = 0;
    if (!budget->measures) {
        if (!budget->counts) return count;
        taken = count < budget->entries ? count : budget->entries;
        budget->entries -= taken;
        return taken;
    }
    if (count == 0 || !stream_id_up(&after)) return 0;
    stream_walk_up(&walk, stream, after);
    while (taken < count && stream_walk_next(&walk, &entry) && budget_take(budget, entry))
        taken++;
    return taken;
}
