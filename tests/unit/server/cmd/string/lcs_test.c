/* LCS, compared with a plain table of lengths and the traceback of Redis. */
#include <stdio.h>

#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { LEN_MAX = 200, ROUNDS = 400, REPLY_MAX = 64 * 1024 };

static struct server_world world;
static struct rng rng;

static unsigned lengths[LEN_MAX + 1][LEN_MAX + 1];

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    rng_init(&rng, test_seed());
}

static void end(void)
{
    server_world_drop(&world);
}

static void fill(struct bytes a, struct bytes b)
{
    for (size_t i = 0; i <= a.len; i++) {
        for (size_t j = 0; j <= b.len; j++) {
            if (i == 0 || j == 0)
                lengths[i][j] = 0;
            else if (a.data[i - 1] == b.data[j - 1])
                lengths[i][j] = lengths[i - 1][j - 1] + 1;
            else
                lengths[i][j] =
                    lengths[i - 1][j] > lengths[i][j - 1] ? lengths[i - 1][j] : lengths[i][j - 1];
        }
    }
}

/* The expected subsequence, and its matches as IDX WITHMATCHLEN replies them. */
struct wanted {
    char text[LEN_MAX], parts[REPLY_MAX];
    size_t parts_len;
    unsigned count;
};

static void add_part(struct wanted *wanted, size_t i, size_t j, size_t len)
{
    wanted->parts_len +=
        (size_t)snprintf(wanted->parts + wanted->parts_len, REPLY_MAX - wanted->parts_len,
                         "*3\r\n*2\r\n:%zu\r\n:%zu\r\n*2\r\n:%zu\r\n:%zu\r\n:%zu\r\n", i,
                         i + len - 1, j, j + len - 1, len);
    ck_assert_uint_lt(wanted->parts_len, REPLY_MAX);
    wanted->count++;
}

static void walk_back(struct wanted *wanted, struct bytes a, struct bytes b)
{
    size_t i = a.len, j = b.len, run = 0, left = lengths[i][j];
    wanted->parts_len = 0;
    wanted->count = 0;
    while (i > 0 && j > 0) {
        if (a.data[i - 1] == b.data[j - 1]) {
            wanted->text[--left] = a.data[i - 1];
            run++;
            i--;
            j--;
            continue;
        }
        if (run > 0) add_part(wanted, i, j, run);
        run = 0;
        if (lengths[i - 1][j] > lengths[i][j - 1])
            i--;
        else
            j--;
    }
    if (run > 0) add_part(wanted, i, j, run);
}

static void ck_reply(const char *line, struct bytes wanted)
{
    struct bytes reply = server_world_send(&world, 0, line);
    ck_assert_msg(bytes_equal(reply, wanted), "%s: %.*s instead of %.*s", line, (int)reply.len,
                  reply.data, (int)wanted.len, wanted.data);
}

static void ck_pair(struct bytes a, struct bytes b)
{
    static struct wanted wanted;
    static char reply[REPLY_MAX + 64];
    const struct bytes set[] = { LIT("MSET"), LIT("a"), a, LIT("b"), b };
    server_world_call(&world, 0, 5, set);
    fill(a, b);
    walk_back(&wanted, a, b);

    unsigned length = lengths[a.len][b.len];
    int len = snprintf(reply, sizeof(reply), ":%u\r\n", length);
    ck_reply("LCS a b LEN", bytes_of(reply, (size_t)len));
    len = snprintf(reply, sizeof(reply), "$%u\r\n%.*s\r\n", length, (int)length, wanted.text);
    ck_reply("LCS a b", bytes_of(reply, (size_t)len));
    len = snprintf(reply, sizeof(reply), "*4\r\n$7\r\nmatches\r\n*%u\r\n%.*s$3\r\nlen\r\n:%u\r\n",
                   wanted.count, (int)wanted.parts_len, wanted.parts, length);
    ck_reply("LCS a b IDX WITHMATCHLEN", bytes_of(reply, (size_t)len));
}

static size_t some_text(char *to, unsigned letters)
{
    size_t len = rng_below(&rng, LEN_MAX + 1);
    for (size_t i = 0; i < len; i++)
        to[i] = (char)('a' + rng_below(&rng, letters));
    return len;
}

START_TEST(every_form_of_the_reply_follows_the_table)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        char a[LEN_MAX], b[LEN_MAX];
        unsigned letters = (unsigned)rng_between(&rng, 1, 26);
        size_t a_len = some_text(a, letters), b_len = some_text(b, letters);
        ck_pair(bytes_of(a, a_len), bytes_of(b, b_len));
    }
    end();
}
END_TEST

START_TEST(carries_are_right_for_rows_of_whole_words_and_one_bit_more)
{
    static const size_t lens[] = { 1, 63, 64, 65, 127, 128, 129, 192, 193 };
    char same[LEN_MAX], mixed[LEN_MAX];
    begin();
    memset(same, 'a', sizeof(same));
    for (size_t i = 0; i < sizeof(mixed); i++)
        mixed[i] = i % 3 == 0 ? 'b' : 'a';
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        ck_pair(bytes_of(same, lens[i]), bytes_of(same, lens[i]));
        ck_pair(bytes_of(mixed, lens[i]), bytes_of(same, LEN_MAX));
        ck_pair(bytes_of(same, LEN_MAX), bytes_of(mixed, lens[i]));
    }
    end();
}
END_TEST

START_TEST(minmatchlen_leaves_out_short_matches)
{
    begin();
    server_world_send(&world, 0, "MSET a ohmytext b mynewtext");
    ck_reply("LCS a b IDX MINMATCHLEN 4",
             LIT("*4\r\n$7\r\nmatches\r\n*1\r\n*2\r\n*2\r\n:4\r\n:7\r\n*2\r\n:5\r\n:8\r\n"
                 "$3\r\nlen\r\n:6\r\n"));
    ck_reply("LCS a b MINMATCHLEN 4", LIT("$6\r\nmytext\r\n"));
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        every_form_of_the_reply_follows_the_table,
        carries_are_right_for_rows_of_whole_words_and_one_bit_more,
        minmatchlen_leaves_out_short_matches,
        NULL,
    };
    return suite_of("lcs", tests);
}
