/* policy: the table of policies, compared with a plain list of names. */
#include <stdlib.h>

#include "store/mem/mem.h"
#include "store/policy/policies.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct policies policies;

static struct bytes text(const char *text)
{
    return bytes_of(text, strlen(text));
}

/* Policies are distinguished by their ttl. */
static void set(const char *name, msec ttl)
{
    policies_set(&policies, text(name), &(struct policy){ .ttl = ttl });
    policies_check(&policies);
}

static msec of(const char *key)
{
    const struct policy *policy = policies_of(&policies, text(key), NULL);
    return policy != NULL ? policy->ttl : 0;
}

static msec get(const char *name)
{
    const struct policy *policy = policies_get(&policies, text(name));
    return policy != NULL ? policy->ttl : 0;
}

static void clear(void)
{
    ck_assert((mem_used() == 0) == (policies.count == 0));
    policies_drop(&policies);
    ck_assert_uint_eq(mem_used(), 0);
}

START_TEST(policy_name_may_end_in_star)
{
    static const char *const good[] = { "a", "*", "a*", "rv:*", "a b", "\xff", NULL };
    static const char *const bad[] = { "", "**", "*a", "a*b", "a**", "*a*", NULL };
    for (int i = 0; good[i] != NULL; i++)
        ck_assert_msg(policy_name_ok(text(good[i])), "%s", good[i]);
    for (int i = 0; bad[i] != NULL; i++)
        ck_assert_msg(!policy_name_ok(text(bad[i])), "%s", bad[i]);
    ck_assert(policy_name_ok(LIT("\0")));
    static char longest[POLICY_NAME_MAX + 1];
    ck_assert(policy_name_ok(bytes_of(longest, POLICY_NAME_MAX)));
    ck_assert(!policy_name_ok(bytes_of(longest, POLICY_NAME_MAX + 1)));
}
END_TEST

START_TEST(empty_table_finds_no_policy)
{
    ck_assert_ptr_null(policies_of(&policies, text("k"), NULL));
    ck_assert_ptr_null(policies_of(&policies, text(""), NULL));
    ck_assert_ptr_null(policies_get(&policies, text("k")));
    ck_assert(!policies_remove(&policies, text("k")));
    ck_assert_uint_eq(mem_used(), 0);
    policies_check(&policies);
}
END_TEST

START_TEST(exact_name_wins_then_longest_prefix)
{
    set("*", 1);
    set("user:*", 2);
    set("user:1*", 3);
    set("user:1", 4);
    set("user:12:x*", 5);
    ck_assert_int_eq(of(""), 1);
    ck_assert_int_eq(of("user"), 1);
    ck_assert_int_eq(of("user:"), 2);
    ck_assert_int_eq(of("user:2"), 2);
    ck_assert_int_eq(of("user:1"), 4);
    ck_assert_int_eq(of("user:10"), 3);
    ck_assert_int_eq(of("user:12:"), 3);
    ck_assert_int_eq(of("user:12:x"), 5);
    ck_assert_int_eq(of("user:12:xyz"), 5);
    clear();
}
END_TEST

START_TEST(exact_name_does_not_match_as_prefix)
{
    set("activities", 1);
    ck_assert_int_eq(of("activities"), 1);
    ck_assert_int_eq(of("activities2"), 0);
    ck_assert_int_eq(of("activitie"), 0);
    ck_assert_int_eq(of(""), 0);
    clear();
}
END_TEST

START_TEST(star_in_a_key_is_an_ordinary_byte)
{
    set("a*", 1);
    set("ab", 2);
    ck_assert_int_eq(of("a*"), 1);
    ck_assert_int_eq(of("a*b"), 1);
    ck_assert_int_eq(of("a**"), 1);
    ck_assert_int_eq(of("*"), 0);
    ck_assert_int_eq(of("ab*"), 1);
    ck_assert_int_eq(of("ab"), 2);
    clear();
}
END_TEST

START_TEST(lookup_returns_name_of_policy)
{
    struct bytes name;
    set("rv:*", 1);
    ck_assert_ptr_nonnull(policies_of(&policies, text("rv:7"), &name));
    ck_assert(bytes_equal(name, text("rv:*")));
    clear();
}
END_TEST

START_TEST(policy_is_replaced_and_removed_by_exact_name)
{
    set("a*", 1);
    set("a", 2);
    set("a*", 3);
    ck_assert_uint_eq(policies.count, 2);
    ck_assert_int_eq(get("a*"), 3);
    ck_assert_int_eq(get("a"), 2);
    ck_assert_int_eq(get("ab"), 0);
    ck_assert(!policies_remove(&policies, text("ab")));
    ck_assert(!policies_remove(&policies, text("")));
    ck_assert(policies_remove(&policies, text("a")));
    ck_assert(!policies_remove(&policies, text("a")));
    policies_check(&policies);
    ck_assert_int_eq(of("a"), 3);
    ck_assert(policies_remove(&policies, text("a*")));
    policies_check(&policies);
    clear();
}
END_TEST

START_TEST(policy_names_are_binary_safe)
{
    policies_set(&policies, LIT("a\0b*"), &(struct policy){ .ttl = 1 });
    policies_set(&policies, LIT("a\0c"), &(struct policy){ .ttl = 2 });
    policies_set(&policies, LIT("\xff\xfe*"), &(struct policy){ .ttl = 3 });
    policies_check(&policies);
    ck_assert_int_eq(policies_of(&policies, LIT("a\0b\0"), NULL)->ttl, 1);
    ck_assert_int_eq(policies_of(&policies, LIT("a\0c"), NULL)->ttl, 2);
    ck_assert_int_eq(policies_of(&policies, LIT("\xff\xfe\0"), NULL)->ttl, 3);
    ck_assert_ptr_null(policies_of(&policies, LIT("a"), NULL));
    clear();
}
END_TEST

START_TEST(nested_names_of_maximum_length_are_kept)
{
    static char name[POLICY_NAME_MAX];
    enum { STEP = 16 };
    memset(name, 'a', sizeof(name));
    for (size_t len = STEP; len <= sizeof(name); len += STEP)
        policies_set(&policies, bytes_of(name, len), &(struct policy){ .ttl = (msec)len });
    policies_check(&policies);
    ck_assert_int_eq(policies_of(&policies, bytes_of(name, sizeof(name)), NULL)->ttl,
                     POLICY_NAME_MAX);
    ck_assert_ptr_null(policies_of(&policies, bytes_of(name, STEP + 1), NULL));
    clear();
}
END_TEST

/* ---- against a list ---- */

enum { NAMES_MAX = 40, LONGEST = 6, ROUNDS = 30000 };

static struct {
    char name[LONGEST];
    size_t len;
    msec ttl;
} model[NAMES_MAX];
static size_t model_count;

static struct bytes model_name(size_t i)
{
    return bytes_of(model[i].name, model[i].len);
}

static size_t model_find(struct bytes name)
{
    size_t i = 0;
    while (i < model_count && !bytes_equal(model_name(i), name))
        i++;
    return i;
}

static void model_set(struct bytes name, msec ttl)
{
    size_t i = model_find(name);
    if (i == model_count) model_count++;
    memcpy(model[i].name, name.data, name.len);
    model[i].len = name.len;
    model[i].ttl = ttl;
}

static bool model_remove(struct bytes name)
{
    size_t i = model_find(name);
    if (i == model_count) return false;
    model[i] = model[--model_count];
    return true;
}

/* The rank of a name among the names that match a key; 0: it does not match. */
static size_t fit(struct bytes name, struct bytes key)
{
    if (bytes_equal(name, key) && name.data[name.len - 1] != '*') return SIZE_MAX;
    if (name.data[name.len - 1] != '*' || key.len < name.len - 1) return 0;
    return memcmp(name.data, key.data, name.len - 1) == 0 ? name.len : 0;
}

static msec model_of(struct bytes key)
{
    size_t best = 0;
    msec ttl = 0;
    for (size_t i = 0; i < model_count; i++) {
        size_t here = fit(model_name(i), key);
        if (here <= best) continue;
        best = here;
        ttl = model[i].ttl;
    }
    return ttl;
}

static int by_name(const void *a, const void *b)
{
    const size_t *one = a, *other = b;
    return bytes_compare(model_name(*one), model_name(*other));
}

struct walk {
    size_t order[NAMES_MAX], at;
};

static void expect_next(void *ctx, struct bytes name, const struct policy *policy)
{
    struct walk *walk = ctx;
    ck_assert_uint_lt(walk->at, model_count);
    size_t i = walk->order[walk->at++];
    ck_assert(bytes_equal(name, model_name(i)));
    ck_assert_int_eq(policy->ttl, model[i].ttl);
}

static void compare_walks(void)
{
    struct walk walk = { .at = 0 };
    for (size_t i = 0; i < model_count; i++)
        walk.order[i] = i;
    qsort(walk.order, model_count, sizeof(walk.order[0]), by_name);
    policies_each(&policies, expect_next, &walk);
    ck_assert_uint_eq(walk.at, model_count);
    ck_assert_uint_eq(policies.count, model_count);
}

static struct bytes draw(struct rng *rng, char *to, bool name)
{
    static const char letters[] = { 'a', 'b', '\xff', '\0', '*' };
    size_t len = rng_below(rng, LONGEST);
    for (size_t i = 0; i < len; i++)
        to[i] = letters[rng_below(rng, name ? 4 : 5)];
    if (name && (len == 0 || rng_chance(rng, 50))) to[len++] = '*';
    return bytes_of(to, len);
}

static void random_step(struct rng *rng, msec ttl)
{
    char buffer[LONGEST];
    struct bytes name = draw(rng, buffer, true);
    if (model_count < NAMES_MAX && rng_chance(rng, 55)) {
        model_set(name, ttl);
        policies_set(&policies, name, &(struct policy){ .ttl = ttl });
    } else {
        ck_assert(policies_remove(&policies, name) == model_remove(name));
    }
    name = draw(rng, buffer, true);
    ck_assert((policies_get(&policies, name) != NULL) == (model_find(name) < model_count));
    for (int i = 0; i < 5; i++) {
        struct bytes key = draw(rng, buffer, false), found;
        const struct policy *policy = policies_of(&policies, key, &found);
        ck_assert_int_eq(policy != NULL ? policy->ttl : 0, model_of(key));
        if (policy != NULL) ck_assert_ptr_eq(policies_get(&policies, found), policy);
    }
}

START_TEST(random_policies_match_model)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 1; round <= ROUNDS; round++) {
        random_step(&rng, round);
        policies_check(&policies);
        if (round % 16 == 0) compare_walks();
    }
    while (model_count > 0) {
        struct bytes name = model_name(0);
        ck_assert(policies_remove(&policies, name));
        model_remove(name);
        policies_check(&policies);
    }
    clear();
}
END_TEST

START_TEST(table_owns_the_names_of_its_targets)
{
    char dead[] = "dead", log[] = "log";
    struct policy policy = {
        .max_deliveries = 3,
        .dead_to = text(dead),
        .expired_to = text(log),
        .value_max = 5,
    };
    policies_set(&policies, text("a*"), &policy);
    memset(dead, 'x', sizeof(dead) - 1);
    memset(log, 'y', sizeof(log) - 1);
    const struct policy *kept = policies_get(&policies, text("a*"));
    ck_assert(bytes_equal(kept->dead_to, LIT("dead")));
    ck_assert(bytes_equal(kept->expired_to, LIT("log")));
    struct policy same = *kept;
    same.pending = true; /* set again with names that the table itself owns */
    policies_set(&policies, text("a*"), &same);
    policies_check(&policies);
    ck_assert(bytes_equal(policies_get(&policies, text("a*"))->expired_to, LIT("log")));
    ck_assert_uint_eq(policies.with[POLICY_EXPIRED], 1);
    ck_assert_uint_eq(policies.with[POLICY_MAXDELIVERIES], 1);
    clear();
}
END_TEST

static void set_log(const char *name, const char *target)
{
    policies_set(&policies, text(name), &(struct policy){ .expired_to = text(target) });
    policies_check(&policies);
}

START_TEST(key_is_a_target_while_a_policy_names_it)
{
    static const char *const targets[] = { "m", "a", "zz", "z", "b", "mm" };
    for (int i = 0; i < 6; i++)
        set_log((const char[]){ (char)('a' + i), '\0' }, targets[i]);
    set_log("other", "m");
    ck_assert(!policies_log_to(&policies, text("")));
    ck_assert(!policies_log_to(&policies, text("zzz")));
    ck_assert(policies_remove(&policies, text("a")));
    for (int i = 0; i < 6; i++)
        ck_assert(policies_log_to(&policies, text(targets[i])));
    set_log("other", "n");
    ck_assert(!policies_log_to(&policies, text("m")));
    ck_assert(policies_log_to(&policies, text("n")));
    set("other", 5);
    ck_assert(!policies_log_to(&policies, text("n")));
    clear();
}
END_TEST

START_TEST(target_of_dead_elements_is_written_to_but_no_log)
{
    policies_set(&policies, text("jobs:*"),
                 &(struct policy){ .max_deliveries = 3, .dead_to = text("dead") });
    set_log("session:*", "ended");
    policies_check(&policies);
    ck_assert(policies_write_to(&policies, text("dead")));
    ck_assert(policies_write_to(&policies, text("ended")));
    ck_assert(!policies_log_to(&policies, text("dead")));
    ck_assert(policies_remove(&policies, text("jobs:*")));
    policies_check(&policies);
    ck_assert(!policies_write_to(&policies, text("dead")));
    ck_assert(policies_write_to(&policies, text("ended")));
    clear();
}
END_TEST

START_TEST(back_off_doubles_up_to_its_maximum)
{
    struct random random;
    random_init(&random);
    struct policy policy = { .backoff = 100, .backoff_max = 1000 };
    const msec wanted[] = { 0, 100, 200, 400, 800, 1000, 1000 };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        ck_assert_int_eq(policy_backoff(&policy, i, &random), wanted[i]);
    ck_assert_int_eq(policy_backoff(&policy, UINT64_MAX, &random), 1000);
    policy.backoff_jitter = 10;
    bool differs = false;
    for (int i = 0; i < 1000; i++) {
        msec delay = policy_backoff(&policy, 2, &random);
        ck_assert(delay >= 180 && delay <= 220);
        ck_assert_int_le(policy_backoff(&policy, 9, &random), 1000);
        differs = differs || delay != 200;
    }
    ck_assert(differs);
    policy = (struct policy){ .backoff = POLICY_SPAN_MAX, .backoff_max = POLICY_SPAN_MAX };
    ck_assert_int_eq(policy_backoff(&policy, 99, &random), POLICY_SPAN_MAX);
    policy = (struct policy){ 0 };
    ck_assert_int_eq(policy_backoff(&policy, 3, &random), 0);
}
END_TEST

START_TEST(each_option_distinguishes_policies)
{
    const struct policy none = { 0 };
    const struct policy each[] = {
        { .retain = 1 },       { .max_deliveries = 1 }, { .dead_to = LIT("x") },
        { .backoff = 1 },      { .backoff_max = 1 },    { .backoff_jitter = 1 },
        { .log_value = true }, { .value_max = 1 },      { .expired_to = LIT("x") },
    };
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        ck_assert(!policy_equal(&each[i], &none));
        ck_assert(policy_equal(&each[i], &each[i]));
        ck_assert(policy_changes_keys(&each[i], NULL) == (i == 0));
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        policy_name_may_end_in_star,
        empty_table_finds_no_policy,
        exact_name_wins_then_longest_prefix,
        exact_name_does_not_match_as_prefix,
        star_in_a_key_is_an_ordinary_byte,
        lookup_returns_name_of_policy,
        policy_is_replaced_and_removed_by_exact_name,
        policy_names_are_binary_safe,
        nested_names_of_maximum_length_are_kept,
        table_owns_the_names_of_its_targets,
        key_is_a_target_while_a_policy_names_it,
        target_of_dead_elements_is_written_to_but_no_log,
        back_off_doubles_up_to_its_maximum,
        each_option_distinguishes_policies,
        random_policies_match_model,
        NULL,
    };
    return suite_of("policy", tests);
}
