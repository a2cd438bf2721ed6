/* bytes: order and glob patterns of byte strings, without characters, encodings or terminators. */
#include "store/base/bytes.h"

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0) return order;
    return (a.len > b.len) - (a.len < b.len);
}

/* The set that begins behind '[' at *at: does c belong to it? Leaves *at behind the set. As in
 * Redis: a set that is not closed ends with the pattern, "[a-]" is a range up to ']' in a set that
 * is not closed, the ends of a range may stand in either order, and bytes compare as signed. */
static bool match_set(struct bytes pattern, size_t *at, char c)
{
    size_t i = *at;
    bool negated = i < pattern.len && pattern.data[i] == '^';
    bool found = false;
    for (i += negated; i < pattern.len && pattern.data[i] != ']'; i++) {
        signed char low = (signed char)pattern.data[i];
        signed char high = low;
        if (low == '\\' && i + 1 < pattern.len) {
            low = high = (signed char)pattern.data[++i];
        } else if (i + 2 < pattern.len && pattern.data[i + 1] == '-') {
            high = (signed char)pattern.data[i += 2];
        }
        signed char byte = (signed char)c;
        found |= low <= high ? low <= byte && byte <= high : high <= byte && byte <= low;
    }
    *at = i < pattern.len ? i + 1 : i;
    return found != negated;
}

/* Does the one element of the pattern at *at (not a star) match c? Leaves *at behind it. */
static bool match_one(struct bytes pattern, size_t *at, char c)
{
    char p = pattern.data[(*at)++];
    if (p == '?') return true;
    if (p == '[') return match_set(pattern, at, c);
    if (p == '\\' && *at < pattern.len) p = pattern.data[(*at)++];
    return p == c;
}

bool bytes_match(struct bytes pattern, struct bytes text)
{
    /* Redis' matcher never matches an empty text with anything but an empty pattern; its callers
     * take "*" for "everything" before they ask. */
    if (text.len == 0) return pattern.len == 0 || bytes_equal(pattern, LIT("*"));

    /* Every element but the star takes exactly one byte, so it is enough to retry from the last
     * star: O(pattern * text). */
    size_t p = 0, t = 0, star = SIZE_MAX, resume = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.data[p] == '*') {
            star = ++p;
            resume = t;
        } else if (p < pattern.len && match_one(pattern, &p, text.data[t])) {
            t++;
        } else if (star != SIZE_MAX) {
            p = star;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.data[p] == '*')
        p++;
    return p == pattern.len;
}
