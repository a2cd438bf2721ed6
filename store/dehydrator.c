/* dehydrator: each element is one allocation, in a table by its id and in an agenda by its
 * deadline. Knows ids, payloads and instants; refuses to know keys, commands and now. */
#include "store/dehydrator.h"

#include "store/dict.h"
#include "store/ensure.h"
#include "store/mem.h"

struct element {
    struct deadline deadline;
    uint32_t id_len, payload_len;
    char data[]; /* the id, then the payload */
};

struct dehydrator {
    struct dict elements;
    struct agenda agenda; /* every element is armed in it */
    size_t bytes;         /* of the elements and this struct */
};

static struct bytes element_key(const void *element)
{
    return element_id(element);
}

static const struct dict_type elements_type = { .key = element_key };

static struct element *element_of(struct deadline *deadline)
{
    if (deadline == NULL) return NULL;
    return (struct element *)(void *)((char *)deadline - offsetof(struct element, deadline));
}

static struct element *element_new(struct dehydrator *dehydrator, struct bytes id,
                                   struct bytes payload)
{
    ensure(id.len <= UINT32_MAX && payload.len <= UINT32_MAX, "%zu and %zu bytes", id.len,
           payload.len);
    struct element *element = mem_alloc(sizeof(*element) + id.len + payload.len);
    deadline_init(&element->deadline);
    element->id_len = (uint32_t)id.len;
    element->payload_len = (uint32_t)payload.len;
    if (id.len > 0) memcpy(element->data, id.data, id.len);
    if (payload.len > 0) memcpy(element->data + id.len, payload.data, payload.len);
    dehydrator->bytes += mem_size(element);
    return element;
}

static void element_free(struct dehydrator *dehydrator, struct element *element)
{
    dehydrator->bytes -= mem_size(element);
    mem_free(element);
}

struct dehydrator *dehydrator_new(void)
{
    struct dehydrator *dehydrator = mem_alloc(sizeof(*dehydrator));
    dict_init(&dehydrator->elements, &elements_type);
    agenda_init(&dehydrator->agenda);
    dehydrator->bytes = mem_size(dehydrator);
    return dehydrator;
}

void dehydrator_free(struct dehydrator *dehydrator)
{
    size_t work = SIZE_MAX;
    dehydrator_free_some(dehydrator, &work);
}

bool dehydrator_free_some(struct dehydrator *dehydrator, size_t *work)
{
    while (dict_count(&dehydrator->elements) > 0) {
        if (*work == 0) return false;
        struct element *element = dict_take(&dehydrator->elements);
        /* Not left for agenda_drop: of millions that would be a stall. */
        agenda_cancel(&dehydrator->agenda, &element->deadline);
        element_free(dehydrator, element);
        --*work;
    }
    dict_drop(&dehydrator->elements);
    agenda_drop(&dehydrator->agenda);
    mem_free(dehydrator);
    return true;
}

size_t dehydrator_count(const struct dehydrator *dehydrator)
{
    return dict_count(&dehydrator->elements);
}

msec dehydrator_next(const struct dehydrator *dehydrator)
{
    return agenda_next(&dehydrator->agenda);
}

struct element *dehydrator_find(const struct dehydrator *dehydrator, struct bytes id)
{
    return dict_find(&dehydrator->elements, id);
}

struct element *dehydrator_first(const struct dehydrator *dehydrator)
{
    return element_of(agenda_first(&dehydrator->agenda));
}

void dehydrator_push(struct dehydrator *dehydrator, struct bytes id, struct bytes payload, msec at)
{
    struct element *element = element_new(dehydrator, id, payload);
    dict_add(&dehydrator->elements, element);
    agenda_add(&dehydrator->agenda, &element->deadline, at);
}

void dehydrator_update(struct dehydrator *dehydrator, struct element *element, struct bytes payload)
{
    struct element *now = element_new(dehydrator, element_id(element), payload);
    now->deadline = element->deadline;
    dict_moved(&dehydrator->elements, element, now);
    agenda_moved(&dehydrator->agenda, &now->deadline);
    element_free(dehydrator, element);
}

void dehydrator_remove(struct dehydrator *dehydrator, struct element *element)
{
    /* Cancel before freeing: the agenda holds a pointer into the element. */
    agenda_cancel(&dehydrator->agenda, &element->deadline);
    dict_remove(&dehydrator->elements, element_id(element));
    element_free(dehydrator, element);
}

struct bytes element_id(const struct element *element)
{
    return bytes_of(element->data, element->id_len);
}

struct bytes element_payload(const struct element *element)
{
    return bytes_of(element->data + element->id_len, element->payload_len);
}

msec dehydrator_at(const struct dehydrator *dehydrator, const struct element *element)
{
    return agenda_at(&dehydrator->agenda, &element->deadline);
}

void dehydrator_walk_begin(struct dehydrator_walk *walk, const struct dehydrator *dehydrator)
{
    agenda_walk_begin(&walk->in, &dehydrator->agenda);
}

struct element *dehydrator_walk_next(struct dehydrator_walk *walk, msec *at)
{
    return element_of(agenda_walk_next(&walk->in, at));
}

void dehydrator_walk_end(struct dehydrator_walk *walk)
{
    agenda_walk_end(&walk->in);
}

const char *dehydrator_encoding(const struct dehydrator *dehydrator)
{
    (void)dehydrator;
    return "raw";
}

size_t dehydrator_bytes(const struct dehydrator *dehydrator)
{
    return dehydrator->bytes + dict_bytes(&dehydrator->elements) +
           agenda_bytes(&dehydrator->agenda);
}

void dehydrator_check(const struct dehydrator *dehydrator)
{
    dict_check(&dehydrator->elements);
    agenda_check(&dehydrator->agenda);
    size_t count = dehydrator_count(dehydrator), bytes = mem_size(dehydrator);
    uint32_t armed = agenda_count(&dehydrator->agenda);
    ensure(count == armed, "%zu elements, %u armed", count, armed);
    struct dict_iter iter;
    const struct element *element;
    dict_iter_begin(&iter, &dehydrator->elements);
    while ((element = dict_iter_next(&iter)) != NULL) {
        ensure(element->deadline.slot < armed, "slot %u of %u", element->deadline.slot, armed);
        bytes += mem_size(element);
    }
    ensure(bytes == dehydrator->bytes, "%zu bytes, total %zu", bytes, dehydrator->bytes);
}
