/* sort: SORT and SORT_RO.
 *
 * Each element becomes a row with a weight: a number, or a text with ALPHA. The rows are sorted by
 * weight, and the range that LIMIT selects is sent or stored. Rows with equal numbers are ordered
 * by their elements; rows with equal texts keep the order that they had in the value. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "server/cmd/call/args.h"
#include "server/cmd/key/key.h"
#include "store/mem/mem.h"

struct row {
    struct bytes element; /* borrowed from the value that is sorted, or from `texts` */
    size_t index;         /* its index before sorting */
    double score;
    struct bytes text; /* owned, followed by a NUL; NULL data if there is none */
};

struct sort {
    struct call *call;
    bool descending, alpha, unsorted;
    int by, store; /* arguments with the values of BY and STORE; 0 if not given */
    int *gets;     /* arguments of the GET patterns; owned */
    int get_count;
    int64_t limit_from, limit_count;
    struct row *rows;    /* owned */
    struct outbuf texts; /* copies of elements */
    size_t count;
    size_t from, to; /* the range of rows to reply or store */
};

/* May the user use a pattern in BY or GET? A pattern can lead to any key, and the ACL can't know
 * which, so the user must be allowed to read all keys. Returns false after sending an error. */
static bool may_follow(struct call *call, const char *option)
{
    if (call->limits_keys) failf(call, ERR_SORT_NOPERM, option);
    return !call->limits_keys;
}

/* Parses the option at i. Returns the number of its arguments, including the word, or 0 after an
 * error. */
static int take_sort_option(struct sort *sort, int i, bool may_store)
{
    struct call *call = sort->call;
    int left = call->argc - i - 1;
    if (arg_is(call, i, "ASC") || arg_is(call, i, "DESC")) {
        sort->descending = arg_is(call, i, "DESC");
        return 1;
    }
    if (arg_is(call, i, "ALPHA")) {
        sort->alpha = true;
        return 1;
    }
    if (left >= 2 && arg_is(call, i, "LIMIT")) {
        bool good =
            arg_int64(call, i + 1, &sort->limit_from) && arg_int64(call, i + 2, &sort->limit_count);
        return good ? 3 : 0;
    }
    if (left >= 1 && may_store && arg_is(call, i, "STORE")) {
        sort->store = i + 1;
        return 2;
    }
    if (left >= 1 && arg_is(call, i, "BY")) {
        struct bytes pattern = call->argv[i + 1];
        sort->by = i + 1;
        if (memchr(pattern.data, '*', strnlen(pattern.data, pattern.len)) != NULL)
            return may_follow(call, "BY") ? 2 : 0;
        sort->unsorted = true;
        return 2;
    }
    if (left >= 1 && arg_is(call, i, "GET")) {
        if (!may_follow(call, "GET")) return 0;
        sort->gets[sort->get_count++] = i + 1;
        return 2;
    }
    fail(call, ERR_SYNTAX);
    return 0;
}

static size_t append_bytes(char *to, size_t at, struct bytes part)
{
    if (part.len > 0) memcpy(to + at, part.data, part.len);
    return at + part.len;
}

/* Looks up the value to which the pattern in argument i leads for this element; returns false if
 * there is none. "#" leads to the element itself. The pattern "w_*->f" consists of the prefix "w_",
 * the suffix "" and the field "f"; as in Redis, the * and -> must come before the first NUL.
 *
 * The value is borrowed. It stays valid, because txn_find_unsettled removes nothing. */
static bool look_up(struct call *call, int i, struct bytes element, struct bytes *value)
{
    struct bytes text = call->argv[i];
    size_t visible = strnlen(text.data, text.len);
    if (visible == 1 && text.data[0] == '#') {
        *value = element;
        return true;
    }
    const char *star = memchr(text.data, '*', visible);
    if (star == NULL) return false;
    size_t before = (size_t)(star - text.data);
    struct bytes prefix = bytes_of(text.data, before);
    struct bytes suffix = bytes_of(star + 1, text.len - before - 1), field = LIT("");
    const char *arrow = memmem(star + 1, visible - before - 1, "->", 2);
    bool has_field = arrow != NULL && arrow + 2 < text.data + visible;
    if (has_field) {
        suffix.len = (size_t)(arrow - star - 1);
        field = bytes_of(arrow + 2, text.len - (size_t)(arrow + 2 - text.data));
    }

    char *key = mem_alloc(prefix.len + element.len + suffix.len + 1);
    size_t len = append_bytes(key, 0, prefix);
    len = append_bytes(key, len, element);
    len = append_bytes(key, len, suffix);
    const struct entry *entry = txn_find_unsettled(call->txn, bytes_of(key, len));
    mem_free(key);

    if (entry == NULL) return false;
    if (has_field)
        return entry->object.type == TYPE_HASH && txn_member_lives(call->txn, entry, field) &&
               hash_get(entry->object.hash, field, value);
    if (entry->object.type != TYPE_STRING) return false;
    *value = object_text(&entry->object);
    return true;
}

static void add_row(struct sort *sort, struct bytes element)
{
    sort->rows[sort->count] = (struct row){ .element = element, .index = sort->count };
    sort->count++;
}

/* Loads all elements as rows; if they are not sorted, only the wanted ones. */
static void load_rows(struct sort *sort, const struct object *object)
{
    size_t count = object_count(object), from = 0;
    int64_t n = (int64_t)count;
    int64_t skipped = sort->limit_from < 0 ? 0 : sort->limit_from > n ? n : sort->limit_from;
    int64_t wanted = sort->limit_count < 0 || sort->limit_count > n ? n : sort->limit_count;
    sort->from = (size_t)skipped;
    sort->to = (size_t)(skipped + wanted > n ? n : skipped + wanted);
    if (sort->unsorted) {
        from = sort->from;
        count = sort->to - sort->from;
        sort->from = 0;
        sort->to = count;
    }
    if (count == 0) return;
    sort->rows = mem_alloc(count * sizeof(*sort->rows));

    bool backwards = sort->unsorted && sort->descending;
    size_t first = backwards ? object_count(object) - 1 - from : from;
    struct bytes element;
    if (object->type == TYPE_LIST) {
        struct list_iter iter;
        list_iter_at(&iter, object->list, first);
        while (sort->count < count &&
               (backwards ? list_iter_prev : list_iter_next)(&iter, &element))
            add_row(sort, element);
    } else if (object->type == TYPE_ZSET) {
        struct zset_iter iter;
        double score;
        zset_iter_at(&iter, object->zset, first);
        while (sort->count < count &&
               (backwards ? zset_iter_prev : zset_iter_next)(&iter, &element, &score))
            add_row(sort, zset_iter_keep(&iter, element, &sort->texts));
    } else {
        struct set_iter iter;
        set_iter_begin(&iter, object->set);
        for (size_t i = 0; sort->count < count && set_iter_next(&iter, &element); i++)
            if (i >= from) add_row(sort, element);
    }
}

/* Sets the weight of each row. A row without a weight sorts as the number 0, or before all texts.
 * Returns false after sending an error. */
static bool load_weights(struct sort *sort)
{
    bool good = true;
    for (size_t i = 0; i < sort->count; i++) {
        struct row *row = &sort->rows[i];
        struct bytes weight = row->element;
        if (sort->by != 0 && !look_up(sort->call, sort->by, row->element, &weight)) continue;
        char brief[64], *end;
        bool is_brief = !sort->alpha && weight.len < sizeof(brief);
        char *copy = is_brief ? brief : mem_alloc(weight.len + 1);
        copy[append_bytes(copy, 0, weight)] = '\0';
        if (sort->alpha) {
            row->text = bytes_of(copy, weight.len);
            continue;
        }
        /* As in Redis, strtod must consume the text, up to a NUL; an empty text is 0. */
        errno = 0;
        row->score = strtod(copy, &end);
        good &= *end == '\0' && errno != ERANGE && !isnan(row->score);
        if (!is_brief) mem_free(copy);
    }
    if (!good) fail(sort->call, ERR_SORT_SCORE);
    return good;
}

/* DIFFERS: where LIMIT cuts through rows with equal texts as weights, Redis may return any of them.
 * (doc/differs.md) */
static int compare_rows(const void *left, const void *right, void *ctx)
{
    const struct sort *sort = ctx;
    const struct row *a = left, *b = right;
    int order;
    if (!sort->alpha) {
        order = (a->score > b->score) - (a->score < b->score);
        if (order == 0) order = bytes_compare(a->element, b->element);
    } else if (a->text.data == NULL || b->text.data == NULL) {
        order = (a->text.data != NULL) - (b->text.data != NULL);
    } else {
        /* A stored result must not depend on the locale. */
        order = sort->store != 0 ? bytes_compare(a->text, b->text)
                                 : strcoll(a->text.data, b->text.data);
    }
    if (order == 0) return (a->index > b->index) - (a->index < b->index);
    return sort->descending ? -order : order;
}

static void store_rows(struct sort *sort)
{
    enum { STEP = 1 << 20 };
    struct call *call = sort->call;
    struct object result = object_new(TYPE_LIST);
    size_t stored = 0; /* bytes of the values of GET */
    for (size_t i = sort->from; i < sort->to; i++) {
        struct bytes value, element = sort->rows[i].element;
        if (sort->get_count == 0) list_push(result.list, LIST_TAIL, element);
        for (int get = 0; get < sort->get_count; get++) {
            if (!look_up(call, sort->gets[get], element, &value)) value = LIT("");
            /* The memory for the elements was checked before the call; GET may need far more. */
            size_t before = stored;
            stored += value.len;
            if (stored / STEP != before / STEP && !call_has_room(stored)) {
                object_free(&result);
                fail(call, ERR_OOM);
                return;
            }
            list_push(result.list, LIST_TAIL, value);
        }
    }
    size_t count = list_count(result.list);
    txn_key_store(call->txn, call->argv[sort->store], result, EVENT_SORTSTORE);
    resp_integer(call->out, (int64_t)count);
}

static void run_sort(struct sort *sort, bool may_store)
{
    for (int i = 2, took; i < sort->call->argc; i += took)
        if ((took = take_sort_option(sort, i, may_store)) == 0) return;
    struct entry *entry = txn_find_counted(sort->call->txn, sort->call->argv[1]);
    enum type type = entry != NULL ? entry->object.type : TYPE_LIST;
    if (type != TYPE_LIST && type != TYPE_SET && type != TYPE_ZSET) {
        fail(sort->call, ERR_WRONGTYPE);
        return;
    }
    if (entry != NULL) {
        /* A set has no order, so its elements are sorted before they are stored. */
        if (sort->unsorted && sort->store != 0 && type == TYPE_SET) {
            sort->unsorted = false;
            sort->alpha = true;
            sort->by = 0;
        }
        /* Redis turns a sorted set into its large encoding before it sorts it. */
        if (type == TYPE_ZSET) txn_zset_widen(sort->call->txn, entry);
        load_rows(sort, &entry->object);
    }
    if (!sort->unsorted) {
        if (!load_weights(sort)) return;
        if (sort->count > 1)
            qsort_r(sort->rows, sort->count, sizeof(*sort->rows), compare_rows, sort);
    }
    if (sort->store != 0) {
        store_rows(sort);
        return;
    }
    struct call *call = sort->call;
    size_t per_row = sort->get_count > 0 ? (size_t)sort->get_count : 1;
    resp_array(call->out, (sort->to - sort->from) * per_row);
    for (size_t i = sort->from; i < sort->to; i++) {
        struct bytes value, element = sort->rows[i].element;
        if (sort->get_count == 0) reply_bytes(call, element);
        for (int get = 0; get < sort->get_count; get++) {
            if (look_up(call, sort->gets[get], element, &value))
                reply_bytes(call, value);
            else
                resp_null(call->out);
        }
    }
}

static void cmd_sort(struct call *call)
{
    bool may_store = (call->command.row->flags & WRITE) != 0; /* SORT_RO may not */
    struct sort sort = { .call = call, .limit_count = -1 };
    sort.gets = mem_alloc((size_t)call->argc * sizeof(*sort.gets));
    run_sort(&sort, may_store);
    for (size_t i = 0; i < sort.count; i++)
        mem_free((char *)sort.rows[i].text.data);
    mem_free(sort.rows);
    outbuf_drop(&sort.texts);
    mem_free(sort.gets);
}

/* Finds the key of argument 1 and the destination of the last STORE.
 * DIFFERS: after STORE, Redis goes on parsing at the destination, which may itself be the word
 * "get". (doc/differs.md) */
static int find_sort_keys(int argc, const struct bytes *argv, int *positions)
{
    const struct call call = { .argc = argc, .argv = argv };
    int store = 0;
    for (int i = 2; i < argc; i++) {
        if (arg_is(&call, i, "LIMIT"))
            i += 2;
        else if (arg_is(&call, i, "GET") || arg_is(&call, i, "BY"))
            i++;
        else if (arg_is(&call, i, "STORE") && i + 1 < argc)
            store = ++i;
    }
    positions[0] = 1;
    if (store == 0) return 1;
    positions[1] = store;
    return 2;
}

static const struct command rows[] = {
    ROW("SORT", cmd_sort, -2, WRITE | GROWS | MOVABLE_KEYS | COPIES,
        .acl = ACL_SET | ACL_SORTED_SET | ACL_LIST | ACL_DANGEROUS, .keys = KEY_FIRST,
        .find_keys = find_sort_keys,
        .specs = { KEY_AT(1, KEY_RO | KEY_ACCESS), KEY_ANYWHERE(KEY_RO | KEY_ACCESS),
                   KEY_ANYWHERE(KEY_OW | KEY_UPDATE) },
        .since = "1.0.0",
        .replies = REPLIES("[bulk|null ...]: the elements, or what GET found for each; null where "
                           "it found nothing",
                           "integer: with STORE: the length of the stored list"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_SORT_SCORE, ERR_SORT_NOPERM),
        .complexity =
            "O(N*log(N)) where N is the number of elements; O(N) if the BY pattern has no *.",
        .syntax =
            "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC|DESC] "
            "[ALPHA] [STORE destination]",
        .summary = "Sorts the elements of a list, set or sorted set, by their values or by the "
                   "values of other keys, and returns or stores the result."),
    ROW("SORT_RO", cmd_sort, -2, READONLY | MOVABLE_KEYS | COPIES,
        .acl = ACL_SET | ACL_SORTED_SET | ACL_LIST | ACL_DANGEROUS, .keys = KEY_FIRST,
        .specs = { KEY_AT(1, KEY_RO | KEY_ACCESS), KEY_ANYWHERE(KEY_RO | KEY_ACCESS) },
        .since = "7.0.0",
        .replies = REPLIES("[bulk|null ...]: the elements, or what GET found for each; null where "
                           "it found nothing"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_SORT_SCORE, ERR_SORT_NOPERM),
        .complexity =
            "O(N*log(N)) where N is the number of elements; O(N) if the BY pattern has no *.",
        .syntax =
            "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC|DESC] "
            "[ALPHA]",
        .summary = "Sorts the elements of a list, set or sorted set as SORT does, and returns the "
                   "result."),
};

const struct command_group sort_commands = COMMAND_GROUP("generic", rows);
