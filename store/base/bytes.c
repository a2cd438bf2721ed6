/* bytes: see bytes.h. The matcher accepts the patterns that Redis' stringmatchlen accepts. */
#include "store/base/bytes.h"

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0) return order;
    return (a.len > b.len) - (a.len < b.len);
}

/* Does the element of the pattern at *at (not a star) match c? Moves *at past the element. Sets
 * have four quirks of Redis: an unclosed set ends with the pattern; "[a-]" is unclosed and a range
 * from 'a' to ']'; the ends of a range may come in either order; bytes compare as signed. */
static bool match_one(struct bytes pattern, size_t *at, char c)
{
    size_t i = *at + 1;
    char p = pattern.data[*at];
    if (p != '[') {
        bool any = p == '?';
        if (p == '\\' && i < pattern.len) p = pattern.data[i++];
        *at = i;
        return any || p == c;
    }
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

bool bytes_match(struct bytes pattern, struct bytes text)
{
    /* An empty text matches only "" and "*". Redis' matcher rejects even "*" here, but its callers
     * treat "*" as "everything" before they call it. */
    if (text.len == 0) return pattern.len == 0 || bytes_equal(pattern, LIT("*"));

    /* Retry only from the last star. That is enough because every other element matches exactly one
     * byte: if the part before the last star matched earlier, it need not match elsewhere. This
     * bounds the time to O(pattern * text). */
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
