/* reply_form: see reply_form.h. Walks over a form and the nodes of a reply side by side. */
#include "tests/support/reply_form.h"

#include <string.h>

#include "store/base/ensure.h"

struct walk {
    const struct resp_node *end;
    int version;
};

/* ---- forms ----------------------------------------------------------------------------------- */

/* The end of the form that begins at `at`: a space, a bar, a bracket, a colon or the end. */
static const char *end_of_atom(const char *at)
{
    int depth = 0;
    for (const char *p = at;; p++) {
        if (*p == '\'') {
            p = strchr(p + 1, '\'');
            ensure(p != NULL, "no second quote in '%s'", at);
            continue;
        }
        ensure(*p != '\0' || depth == 0, "no closing bracket in '%s'", at);
        if (depth == 0 && strchr(" |]:", *p) != NULL) return p;
        depth += *p == '[';
        depth -= *p == ']';
    }
}

static const char *end_of_choice(const char *at)
{
    for (at = end_of_atom(at); *at == '|';)
        at = end_of_atom(at + 1);
    return at;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(end - at) == len && memcmp(at, word, len) == 0;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static bool has_text(const struct resp_node *node, const char *at, const char *end)
{
    return node->len == (size_t)(end - at) && memcmp(node->text, at, node->len) == 0;
}

static bool is_scalar(const struct walk *walk, const struct resp_node *node, const char *at,
                      const char *end)
{
    static const struct {
        const char *word;
        enum resp_reply_type resp2, resp3;
    } words[] = {
        { "simple", REPLY_STATUS, REPLY_STATUS },    { "bulk", REPLY_BULK, REPLY_BULK },
        { "integer", REPLY_INTEGER, REPLY_INTEGER }, { "double", REPLY_BULK, REPLY_DOUBLE },
        { "null", REPLY_NULL, REPLY_NULL },          { "null-array", REPLY_NULL, REPLY_NULL },
        { "verbatim", REPLY_BULK, REPLY_VERBATIM },  { "error", REPLY_ERROR, REPLY_ERROR },
    };
    if (*at == '\'') return node->type == REPLY_BULK && has_text(node, at + 1, end - 1);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (is_word(at, end, words[i].word))
            return node->type == (walk->version == 2 ? words[i].resp2 : words[i].resp3);
    return node->type == REPLY_STATUS && has_text(node, at, end);
}

/* ---- aggregates ------------------------------------------------------------------------------ */

static bool is_aggregate(const struct resp_node *node)
{
    return node->type == REPLY_ARRAY || node->type == REPLY_MAP || node->type == REPLY_SET ||
           node->type == REPLY_PUSH;
}

/* The node after this one and all nodes inside it. */
static const struct resp_node *skip(const struct resp_node *node)
{
    int64_t left = 1;
    for (; left > 0; node++)
        left += (is_aggregate(node) ? node->number : 0) - 1;
    return node;
}

static enum resp_reply_type aggregate_type(const struct walk *walk, const char *at,
                                           const char *bracket)
{
    if (at == bracket || walk->version == 2) return REPLY_ARRAY;
    if (is_word(at, bracket, "map")) return REPLY_MAP;
    if (is_word(at, bracket, "set")) return REPLY_SET;
    ensure(is_word(at, bracket, "push"), "unknown aggregate '%s'", at);
    return REPLY_PUSH;
}

static const struct resp_node *match(const struct walk *walk, const struct resp_node *node,
                                     const char *at, const char *end);

/* The items between brackets, once or, with "..." at their end, as often as there are nodes. */
static bool match_items(const struct walk *walk, const struct resp_node *node, const char *items,
                        const char *end)
{
    const struct resp_node *behind = skip(node);
    node++;
    for (const char *at = items; at < end;) {
        if (*at == ' ') {
            at++;
        } else if (*at == '.') { /* ... */
            if (node == behind) return true;
            at = items;
        } else {
            const char *item_end = end_of_choice(at);
            /* Repeated items may end only before the first of them. */
            if (node == behind) return at == items && strncmp(end - 3, "...", 3) == 0;
            node = match(walk, node, at, item_end);
            if (node == NULL) return false;
            at = item_end;
        }
    }
    return node == behind;
}

/* The node after the matching ones, or NULL. */
static const struct resp_node *match_atom(const struct walk *walk, const struct resp_node *node,
                                          const char *at, const char *end)
{
    if (is_word(at, end, "any")) return skip(node);
    if (end[-1] != ']') return is_scalar(walk, node, at, end) ? node + 1 : NULL;
    const char *bracket = strchr(at, '[');
    if (node->type != aggregate_type(walk, at, bracket)) return NULL;
    return match_items(walk, node, bracket + 1, end - 1) ? skip(node) : NULL;
}

static const struct resp_node *match(const struct walk *walk, const struct resp_node *node,
                                     const char *at, const char *end)
{
    while (at < end) {
        const char *atom_end = end_of_atom(at);
        const struct resp_node *behind = match_atom(walk, node, at, atom_end);
        if (behind != NULL) return behind;
        at = atom_end + 1;
    }
    return NULL;
}

bool reply_form_matches(const char *declared, const struct resp_reply *reply, int version)
{
    if (strncmp(declared, "RESP2 ", 6) == 0 || strncmp(declared, "RESP3 ", 6) == 0) {
        if (declared[4] != '0' + version) return false;
        declared += 6;
    }
    struct walk walk = { reply->nodes + reply->count, version };
    const struct resp_node *behind = match(&walk, reply->nodes, declared, end_of_choice(declared));
    return behind == walk.end;
}
