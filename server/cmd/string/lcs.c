/* lcs: LCS: the longest common subsequence of two strings a and b: its text, its length or the
 * matching ranges.
 *
 * Let L(i, j) be the length for the first i bytes of a and the first j bytes of b. Along a row, L
 * grows by 0 or 1 from each cell to the next, so one bit describes a cell: bit j - 1 of row i is
 * clear where L(i, j) > L(i, j - 1). One addition then computes 64 cells (Crochemore et al. 2001,
 * in Hyyro's form of 2004), where V is the row above and M has the bits set where b contains the
 * byte a[i - 1]:
 *
 *     V' = (V + (V & M)) | (V & ~M)        row 0 is all ones
 *
 * Several subsequences may have the greatest length; clients see which one is returned. The
 * traceback chooses the one that Redis does: where the bytes differ, it goes up if the bit is
 * clear, otherwise to the left. */
#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { WORD_BITS = 64, BYTE_VALUES = 256 };

struct table {
    struct bytes a, b; /* a row for each byte of a, a bit for each byte of b */
    size_t words;      /* words in a row */
    size_t row_count;  /* 1 if only the length is wanted: the row is then overwritten */
    uint64_t *rows;
    size_t length; /* length of the subsequence */
};

/* Computes the rows and the length. Returns false if memory runs out. a and b must not be empty. */
static bool fill_table(struct table *table)
{
    /* mask_of[c] has bit j set where b[j] is c. It is NULL for bytes that are not in a. */
    uint64_t *mask_of[BYTE_VALUES] = { NULL };
    bool in_a[BYTE_VALUES] = { false };
    size_t row_bytes = table->words * sizeof(*table->rows), distinct = 0;
    for (size_t i = 0; i < table->a.len; i++) {
        bool *seen = &in_a[(unsigned char)table->a.data[i]];
        distinct += !*seen;
        *seen = true;
    }
    uint64_t *masks = mem_try_alloc(distinct * row_bytes), *next = masks;
    if (masks == NULL) return false;
    memset(masks, 0, distinct * row_bytes);
    for (unsigned byte = 0; byte < BYTE_VALUES; byte++) {
        if (!in_a[byte]) continue;
        mask_of[byte] = next;
        next += table->words;
    }
    for (size_t j = 0; j < table->b.len; j++) {
        uint64_t *mask = mask_of[(unsigned char)table->b.data[j]];
        if (mask != NULL) mask[j / WORD_BITS] |= UINT64_C(1) << j % WORD_BITS;
    }

    table->rows = mem_try_alloc(table->row_count * row_bytes);
    if (table->rows != NULL) {
        memset(table->rows, 0xff, row_bytes); /* above the first row: L(0, j) is 0 */
        uint64_t *row = table->rows, *above = row;
        for (size_t i = 0; i < table->a.len; i++) {
            if (i > 0 && table->row_count > 1) row += table->words;
            const uint64_t *mask = mask_of[(unsigned char)table->a.data[i]];
            uint64_t carry = 0;
            for (size_t w = 0; w < table->words; w++) {
                uint64_t old = above[w], sum;
                bool over = __builtin_add_overflow(old, old & mask[w], &sum);
                carry = (uint64_t)__builtin_add_overflow(sum, carry, &sum) | over;
                row[w] = sum | (old & ~mask[w]);
            }
            above = row;
        }
        for (size_t j = 0; j < table->b.len; j++)
            table->length += !(row[j / WORD_BITS] >> j % WORD_BITS & 1);
    }
    mem_free(masks);
    return table->rows != NULL;
}

/* A maximal part of the subsequence that is contiguous in both strings. */
struct match {
    size_t a_at, b_at, len;
};

/* A walk through the table from its last cell to the first. */
struct traceback {
    const struct table *table;
    size_t i, j;
};

static struct traceback traceback_begin(const struct table *table)
{
    return (struct traceback){ table, table->a.len, table->b.len };
}

/* Finds the next match, from the last one in the strings to the first. Returns false if there are
 * no more. */
static bool traceback_next(struct traceback *back, struct match *match)
{
    const struct table *table = back->table;
    const char *a = table->a.data, *b = table->b.data;
    while (back->i > 0 && back->j > 0 && a[back->i - 1] != b[back->j - 1]) {
        const uint64_t *row = table->rows + (back->i - 1) * table->words;
        size_t bit = back->j - 1;
        if (row[bit / WORD_BITS] >> bit % WORD_BITS & 1)
            back->j--;
        else
            back->i--;
    }
    match->len = 0;
    while (back->i > 0 && back->j > 0 && a[back->i - 1] == b[back->j - 1]) {
        back->i--;
        back->j--;
        match->len++;
    }
    match->a_at = back->i;
    match->b_at = back->j;
    return match->len > 0;
}

struct options {
    bool len, idx, with_match_len;
    int64_t min_match_len;
};

static void reply_span(struct call *call, size_t at, size_t len)
{
    resp_array(call->out, 2);
    resp_integer(call->out, (int64_t)at);
    resp_integer(call->out, (int64_t)(at + len - 1));
}

static void reply_lcs_matches(struct call *call, const struct table *table,
                              const struct options *options)
{
    struct match match;
    size_t min = options->min_match_len > 0 ? (size_t)options->min_match_len : 0, count = 0;
    for (struct traceback back = traceback_begin(table); traceback_next(&back, &match);)
        count += match.len >= min;
    resp_map(call->out, 2);
    resp_bulk_text(call->out, "matches");
    resp_array(call->out, count);
    for (struct traceback back = traceback_begin(table); traceback_next(&back, &match);) {
        if (match.len < min) continue;
        resp_array(call->out, options->with_match_len ? 3 : 2);
        reply_span(call, match.a_at, match.len);
        reply_span(call, match.b_at, match.len);
        if (options->with_match_len) resp_integer(call->out, (int64_t)match.len);
    }
    resp_bulk_text(call->out, "len");
    resp_integer(call->out, (int64_t)table->length);
}

static void cmd_lcs(struct call *call)
{
    struct options options = { .len = false };
    struct bytes text[2];
    bool is_typed = true;
    for (int i = 0; i < 2; i++) {
        const struct entry *entry = txn_find_counted(call->txn, call->argv[1 + i]);
        bool is_string = entry != NULL && entry->object.type == TYPE_STRING;
        text[i] = is_string ? object_text(&entry->object) : LIT("");
        is_typed &= entry == NULL || is_string;
    }
    if (fail_if(call, !is_typed, ERR_LCS_TYPE)) return;
    for (int i = 3; i < call->argc; i++) {
        bool has_min = arg_is(call, i, "MINMATCHLEN") && i + 1 < call->argc;
        if (arg_is(call, i, "IDX"))
            options.idx = true;
        else if (arg_is(call, i, "LEN"))
            options.len = true;
        else if (arg_is(call, i, "WITHMATCHLEN"))
            options.with_match_len = true;
        else if (fail_if(call, !has_min, ERR_SYNTAX) ||
                 !arg_int64(call, ++i, &options.min_match_len))
            return;
    }
    if (fail_if(call, options.idx && options.len, ERR_LCS_LEN_IDX)) return;

    /* Redis' table has four bytes for each cell, and must not be larger than a string may be. Ours
     * is smaller, but the same limit bounds the work and keeps the error. */
    struct bytes a = text[0], b = text[1];
    if (fail_if(call, a.len >= UINT32_MAX - 1 || b.len >= UINT32_MAX - 1, ERR_LCS_TOO_LONG)) return;
    uint64_t cells = ((uint64_t)a.len + 1) * ((uint64_t)b.len + 1);
    if (fail_if(call, cells > string_limit(call) / sizeof(uint32_t), ERR_LCS_TOO_BIG)) return;

    struct table table = { .a = a,
                           .b = b,
                           .words = (b.len + WORD_BITS - 1) / WORD_BITS,
                           .row_count = options.len ? 1 : a.len };
    if (fail_if(call, a.len > 0 && b.len > 0 && !fill_table(&table), ERR_LCS_NO_MEMORY)) return;
    if (options.idx) {
        reply_lcs_matches(call, &table, &options);
    } else if (options.len) {
        resp_integer(call->out, (int64_t)table.length);
    } else {
        struct traceback back = traceback_begin(&table);
        struct match match;
        size_t at = table.length;
        char *joined = mem_try_alloc(at);
        bool fits = joined != NULL || at == 0;
        while (fits && traceback_next(&back, &match)) {
            ensure(joined != NULL && match.len <= at, "a match of %zu bytes before %zu", match.len,
                   at);
            at -= match.len;
            memcpy(joined + at, a.data + match.a_at, match.len);
        }
        if (!fail_if(call, !fits, ERR_LCS_NO_MEMORY)) resp_bulk(call->out, joined, table.length);
        mem_free(joined);
    }
    mem_free(table.rows);
}

static const struct command rows[] = {
    ROW("LCS", cmd_lcs, -3, READONLY, .keys = { .first = 1, .last = 2, .step = 1 },
        .since = "7.0.0",
        .replies =
            REPLIES("bulk: the longest common subsequence", "integer: with LEN: its length",
                    "map['matches' [[[integer integer] [integer integer]] ...] 'len' integer]: "
                    "with IDX: the "
                    "first and last position of each match in both strings, last match first",
                    "map['matches' [[[integer integer] [integer integer] integer] ...] 'len' "
                    "integer]: with "
                    "IDX and WITHMATCHLEN: the length of each match as well"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_LCS_TYPE, ERR_LCS_LEN_IDX,
                         ERR_LCS_TOO_LONG, ERR_LCS_TOO_BIG, ERR_LCS_NO_MEMORY),
        .complexity = "O(N*M/64) where N and M are the lengths of the strings.",
        .syntax = "key key [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]",
        .summary = "Returns the longest common subsequence of two strings, its length or its "
                   "matching ranges."),
};

const struct command_group lcs_commands = COMMAND_GROUP("string", rows);
