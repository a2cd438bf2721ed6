/* zset_source: see zset_source.h. */
#include "server/cmd/zset/zset_source.h"

bool source_is_possible(const struct object *object)
{
    return object->type == TYPE_SET || object->type == TYPE_ZSET;
}

void source_iter_begin(struct source_iter *iter, const struct object *object)
{
    iter->is_set = object->type == TYPE_SET;
    if (iter->is_set)
        set_iter_begin(&iter->set, object->set);
    else
        zset_iter_at(&iter->zset, object->zset, 0);
}

bool source_iter_next(struct source_iter *iter, struct bytes *member, double *score)
{
    *score = 1;
    return iter->is_set ? set_iter_next(&iter->set, member)
                        : zset_iter_next(&iter->zset, member, score);
}

struct bytes source_iter_keep(const struct source_iter *iter, struct bytes member,
                              struct outbuf *texts)
{
    return iter->is_set ? member : zset_iter_keep(&iter->zset, member, texts);
}

bool source_score(const struct object *object, struct bytes member, double *score)
{
    *score = 1;
    return object->type == TYPE_SET ? set_has(object->set, member)
                                    : zset_score(object->zset, member, score);
}
