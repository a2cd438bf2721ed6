/* score: see score.h. A number that at most 9 decimals describe is printed with these decimals, any
 * other one with 17 significant digits, which always read back as the same double (Steele and
 * White, "How to Print Floating-Point Numbers Accurately", 1990). Very large and very small numbers
 * are left to store/base/number. */
#include "server/disk/effect/score.h"

#include <math.h>
#include <string.h>

#include "store/base/number.h"

enum {
    SIGNIFICANT = 17,
    FRACTION_BITS = 52,
    DECIMALS_MAX = 22,       /* 10^22 * SMALLEST has 17 digits */
    PARSED_DECIMALS_MAX = 19 /* 10^19 fits 64 bits */
};

#define SMALLEST      1e-6
#define EXACT_INTEGER 9007199254740992.0 /* 2^53: from here on there are no fractions */

/* All of these literals are exact as doubles. */
static const uint64_t powers_of_ten[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19
};

__extension__ typedef unsigned __int128 wide;

/* Prints digits * 10^-decimals; digits > 0. Returns the length. */
static size_t print_fixed(char *to, uint64_t digits, unsigned decimals)
{
    while (decimals > 0 && digits % 10 == 0) {
        digits /= 10;
        decimals--;
    }
    char text[NUMBER_INT64_MAX_CHARS];
    size_t count = number_print_uint64(text, digits), len = 0;
    if (decimals == 0) {
        memcpy(to, text, count);
        return count;
    }
    if (count > decimals) {
        len = count - decimals;
        memcpy(to, text, len);
        to[len] = '.';
        memcpy(to + len + 1, text + len, decimals);
        return count + 1;
    }
    memcpy(to, "0.", 2);
    len = 2 + decimals - count;
    memset(to + 2, '0', decimals - count);
    memcpy(to + len, text, count);
    return len + count;
}

/* Returns value * 10^decimals, rounded. With value = m * 2^e, this is m * 5^decimals *
 * 2^(e + decimals). For all callers e + decimals <= 0, so it is a shift to the right. */
static uint64_t scaled(double value, unsigned decimals)
{
    uint64_t bits, five = 1;
    memcpy(&bits, &value, sizeof(bits));
    int exponent = (int)(bits >> FRACTION_BITS) - 1023 - FRACTION_BITS;
    uint64_t fraction = (bits & ((UINT64_C(1) << FRACTION_BITS) - 1)) | UINT64_C(1)
                                                                            << FRACTION_BITS;
    for (unsigned i = 0; i < decimals; i++)
        five *= 5;
    wide product = (wide)fraction * five;
    int shift = -(exponent + (int)decimals);
    return shift == 0 ? (uint64_t)product
                      : (uint64_t)((product + ((wide)1 << (shift - 1))) >> shift);
}

size_t score_print(char *to, double score)
{
    double size = fabs(score);
    if (!(size >= SMALLEST && size < EXACT_INTEGER)) return number_print_double(to, score);
    int64_t whole = (int64_t)score;
    if ((double)whole == score) return number_print_int64(to, whole);
    size_t sign = score < 0;
    *to = '-';
    /* Try whether at most 9 decimals are enough. One division proves it: the quotient of two
     * exactly represented integers is rounded once, just as strtod rounds (Clinger, "How to Read
     * Floating Point Numbers Accurately", 1990). If the quotient equals the score, the text reads
     * back as the score. */
    for (unsigned few = 3; few <= 9; few += 3) {
        double power = (double)powers_of_ten[few], scaled_up = size * power;
        if (scaled_up >= EXACT_INTEGER) break;
        uint64_t rounded = (uint64_t)(scaled_up + 0.5);
        if (rounded > 0 && (double)rounded / power == size)
            return sign + print_fixed(to + sign, rounded, few);
    }

    unsigned decimals = 1;
    double shifted = size;
    while (shifted < 1e15 && decimals < DECIMALS_MAX) {
        shifted *= 10;
        decimals++;
    }
    uint64_t digits = scaled(size, decimals);
    /* The products above were rounded, so the loop may have gone one step too far. */
    if (digits >= powers_of_ten[SIGNIFICANT]) digits = scaled(size, --decimals);
    return sign + print_fixed(to + sign, digits, decimals);
}

/* Returns digits / 10^decimals, rounded once to the nearest, ties to even. digits > 0. */
static double quotient(uint64_t digits, unsigned decimals)
{
    int up = __builtin_clzll(digits) + 63;
    wide dividend = (wide)digits << up, divisor = powers_of_ten[decimals];
    wide exact = dividend / divisor;
    bool rest = exact * divisor != dividend;
    /* At least 63 bits, since the dividend has 127 and the divisor at most 64. */
    uint64_t high = (uint64_t)(exact >> 64);
    int bits = high != 0 ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)exact);
    int drop = bits - (FRACTION_BITS + 1);
    uint64_t kept = (uint64_t)(exact >> drop);
    wide dropped = exact - ((wide)kept << drop), half = (wide)1 << (drop - 1);
    if (dropped > half || (dropped == half && (rest || (kept & 1)))) kept++;
    return ldexp((double)kept, drop - up);
}

/* Parses decimals in the form that score_print writes. Returns false for another form. */
static bool parse_decimals(const char *text, size_t len, double *score)
{
    size_t at = len > 0 && text[0] == '-', digits = 0, dot = len;
    uint64_t sum = 0;
    for (size_t i = at; i < len; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit <= 9) {
            sum = sum * 10 + digit;
            digits += sum > 0;
        } else if (text[i] == '.' && dot == len && i > at) {
            dot = i;
        } else {
            return false;
        }
        if (digits > SIGNIFICANT + 1) return false;
    }
    size_t decimals = dot < len ? len - dot - 1 : 0;
    if (sum == 0 || decimals > PARSED_DECIMALS_MAX) return false;
    double size = quotient(sum, (unsigned)decimals);
    *score = at > 0 ? -size : size;
    return true;
}

bool score_parse(const char *text, size_t len, double *score)
{
    if (len > 16 && parse_decimals(text, len, score)) return true;
    return number_parse_double(text, len, score);
}
