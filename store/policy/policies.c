/* policies: a radix tree of names. There is a node wherever names differ or a name ends. The '*' of
 * a prefix is stored as an ordinary byte, the last of its name; one walk down the tree along a key
 * therefore passes every prefix of the key. */
#include "store/policy/policies.h"

#include "store/base/ensure.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"
#include "store/policy/policy_rows.h"

struct rule {
    struct policy policy; /* its names are in `names` */
    struct policy_stats stats;
    char *names;              /* owned */
    struct rule *prev, *next; /* in the list of pending policies */
    uint64_t pass;            /* if pending: number of the first pass that applies it */
    uint32_t name_len;
    char name[]; /* the full name */
};

/* Invariant: a node other than the root has a label, and a rule or at least two children. */
struct policy_node {
    struct rule *rule;             /* the policy whose name ends here, or NULL */
    struct policy_node **children; /* ordered by the first bytes of their labels, all different */
    uint32_t child_count;
    uint32_t label_len;
    char label[]; /* in the names of this subtree it follows the parent's label */
};

struct policy_target {
    struct blob *name; /* owned */
    size_t uses;
};

static void policy_targets_drop(struct policy_targets *targets)
{
    while (targets->count > 0)
        blob_free(targets->names[--targets->count].name);
    mem_free(targets->names);
    *targets = (struct policy_targets){ .names = NULL };
}

/* Finds the name, or the index to insert it at. */
static bool find_target(const struct policy_targets *targets, struct bytes name, size_t *index)
{
    size_t low = 0, high = targets->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = bytes_compare(blob_view(targets->names[middle].name), name);
        if (order == 0) {
            *index = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *index = low;
    return false;
}

static void policy_targets_add(struct policy_targets *targets, struct bytes name)
{
    size_t index;
    if (find_target(targets, name, &index)) {
        targets->names[index].uses++;
        return;
    }
    targets->names =
        mem_grow(targets->names, targets->count, &targets->cap, sizeof(*targets->names));
    struct policy_target *at = &targets->names[index];
    memmove(at + 1, at, (targets->count - index) * sizeof(*at));
    *at = (struct policy_target){ .name = blob_new(name), .uses = 1 };
    targets->count++;
}

/* Subtracts one from the number of policies of a name, which must be there. The last one removes
 * the name. O(n) */
static void policy_targets_remove(struct policy_targets *targets, struct bytes name)
{
    size_t index;
    bool found = find_target(targets, name, &index);
    ensure(found, "no target '%.*s'", (int)name.len, name.data);
    struct policy_target *at = &targets->names[index];
    if (--at->uses > 0) return;
    blob_free(at->name);
    targets->count--;
    memmove(at, at + 1, (targets->count - index) * sizeof(*at));
    if (targets->count == 0) policy_targets_drop(targets);
}

bool policy_targets_have(const struct policy_targets *targets, struct bytes name)
{
    size_t index;
    return find_target(targets, name, &index);
}

static void policy_targets_check(const struct policy_targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        const struct policy_target *here = &targets->names[i];
        ensure(here->uses > 0, "target %zu is unused", i);
        ensure(i == 0 || bytes_compare(blob_view(here[-1].name), blob_view(here->name)) < 0,
               "target %zu is out of order", i);
    }
}

static struct bytes label_of(const struct policy_node *node)
{
    return bytes_of(node->label, node->label_len);
}

static struct bytes name_of(const struct rule *rule)
{
    return bytes_of(rule->name, rule->name_len);
}

static void pending_remove(struct policies *policies, struct rule *rule)
{
    *(rule->prev != NULL ? &rule->prev->next : &policies->first_pending) = rule->next;
    *(rule->next != NULL ? &rule->next->prev : &policies->last_pending) = rule->prev;
    policies->pending--;
}

void policies_begin_pass(struct policies *policies)
{
    policies->pass++;
}

bool policies_in_pass(const struct policies *policies, const struct policy *policy)
{
    const struct rule *rule =
        (const struct rule *)(const void *)policy; /* policy is its first member */
    return policy->pending && rule->pass <= policies->pass;
}

const struct policy *policies_first_in_pass(const struct policies *policies, struct bytes *name)
{
    const struct rule *rule = policies->first_pending;
    if (rule == NULL || !policies_in_pass(policies, &rule->policy)) return NULL;
    if (name != NULL) *name = name_of(rule);
    return &rule->policy;
}

static void count_target(struct policy_targets *targets, struct bytes name, bool adds)
{
    if (name.len == 0) return;
    if (adds)
        policy_targets_add(targets, name);
    else
        policy_targets_remove(targets, name);
}

static void count_options(struct policies *policies, const struct policy *policy, bool adds)
{
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        if (policy_has(policy, option)) policies->with[option] += adds ? 1 : SIZE_MAX;
    count_target(&policies->log_targets, policy->expired_to, adds);
    count_target(&policies->dead_targets, policy->dead_to, adds);
}

static void rule_free(struct policies *policies, struct rule *rule)
{
    if (rule->policy.pending) pending_remove(policies, rule);
    policies->count--;
    count_options(policies, &rule->policy, false);
    mem_free(rule->names);
    mem_free(rule);
}

/* Makes a node whose label is `above` followed by `label`. */
static struct policy_node *node_new(struct bytes above, struct bytes label)
{
    size_t len = above.len + label.len;
    struct policy_node *node = mem_zalloc(sizeof(*node) + len);
    node->label_len = (uint32_t)len;
    if (above.len > 0) memcpy(node->label, above.data, above.len);
    if (label.len > 0) memcpy(node->label + above.len, label.data, label.len);
    return node;
}

static void resize_children(struct policy_node *node, uint32_t count)
{
    if (count > 0) {
        node->children = mem_realloc(node->children, count * sizeof(struct policy_node *));
    } else {
        mem_free(node->children);
        node->children = NULL;
    }
    node->child_count = count;
}

/* Recursive: the depth is at most the length of the longest name. */
static void free_subtree(struct policies *policies, struct policy_node *node)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        free_subtree(policies, node->children[i]);
    resize_children(node, 0);
    if (node->rule != NULL) rule_free(policies, node->rule);
    mem_free(node);
}

void policies_drop(struct policies *policies)
{
    if (policies->root != NULL) free_subtree(policies, policies->root);
    policy_targets_drop(&policies->log_targets);
    policy_targets_drop(&policies->dead_targets);
    *policies = (struct policies){ .root = NULL };
}

/* Finds the child whose label begins with this byte, or the index to insert it at. */
static bool find_child(const struct policy_node *node, char first, uint32_t *index)
{
    uint32_t low = 0, high = node->child_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        unsigned char there = (unsigned char)node->children[middle]->label[0];
        if (there == (unsigned char)first) {
            *index = middle;
            return true;
        }
        if (there < (unsigned char)first)
            low = middle + 1;
        else
            high = middle;
    }
    *index = low;
    return false;
}

static struct policy_node *child_of(const struct policy_node *node, char first)
{
    uint32_t index;
    return find_child(node, first, &index) ? node->children[index] : NULL;
}

static void insert_child(struct policy_node *node, uint32_t index, struct policy_node *child)
{
    uint32_t after = node->child_count - index;
    resize_children(node, node->child_count + 1);
    ensure(node->children != NULL, "%u children without room", node->child_count);
    struct policy_node **at = &node->children[index];
    memmove(at + 1, at, after * sizeof(*at));
    *at = child;
}

/* Moves rule and children, but not the label. */
static void move_contents(struct policy_node *to, struct policy_node *from)
{
    to->rule = from->rule;
    to->children = from->children;
    to->child_count = from->child_count;
}

/* Merges a node that has no rule and one child with that child. */
static void join_only_child(struct policies *policies, struct policy_node **link)
{
    struct policy_node *upper = *link;
    if (upper == policies->root || upper->rule != NULL || upper->child_count != 1) return;
    struct policy_node *lower = upper->children[0];
    *link = node_new(label_of(upper), label_of(lower));
    move_contents(*link, lower);
    resize_children(upper, 0);
    mem_free(upper);
    mem_free(lower);
}

/* Returns the node of exactly this name, created if needed. */
static struct policy_node *node_for(struct policies *policies, struct bytes name)
{
    struct bytes none = { NULL, 0 };
    if (policies->root == NULL) policies->root = node_new(none, none);
    struct policy_node **link = &policies->root;
    while (name.len > 0) {
        uint32_t index;
        if (!find_child(*link, name.data[0], &index)) {
            struct policy_node *child = node_new(none, name);
            insert_child(*link, index, child);
            return child;
        }
        link = &(*link)->children[index];
        struct bytes label = label_of(*link);
        size_t len = 1;
        while (len < label.len && len < name.len && label.data[len] == name.data[len])
            len++;
        if (len < label.len) { /* split it: its first `len` bytes become a new parent */
            struct policy_node *old = *link;
            struct policy_node *upper = node_new(none, bytes_of(label.data, len));
            struct policy_node *lower = node_new(none, bytes_without(label, len));
            move_contents(lower, old);
            mem_free(old);
            insert_child(upper, 0, lower);
            *link = upper;
        }
        name = bytes_without(name, len);
    }
    return *link;
}

void policies_set(struct policies *policies, struct bytes name, const struct policy *policy)
{
    ensure(policy_name_ok(name), "a policy's name of %zu bytes", name.len);
    struct policy_node *node = node_for(policies, name);
    struct rule *rule = node->rule;
    if (rule == NULL) {
        rule = node->rule = mem_zalloc(sizeof(*rule) + name.len);
        rule->name_len = (uint32_t)name.len;
        memcpy(rule->name, name.data, name.len);
        policies->count++;
    }
    if (rule->policy.pending) pending_remove(policies, rule);
    count_options(policies, &rule->policy, false);
    char *old = rule->names; /* `policy` may point into them */
    rule->policy = *policy;
    rule->policy.stats = &rule->stats;
    size_t names_len = policy_move_names(&rule->policy, NULL);
    rule->names = mem_alloc(names_len + 1);
    policy_move_names(&rule->policy, rule->names);
    mem_free(old);
    count_options(policies, &rule->policy, true);
    if (!rule->policy.pending) return;

    rule->pass = policies->pass + 1;
    rule->next = NULL;
    rule->prev = policies->last_pending;
    *(rule->prev != NULL ? &rule->prev->next : &policies->first_pending) = rule;
    policies->last_pending = rule;
    policies->pending++;
}

const struct policy *policies_get(const struct policies *policies, struct bytes name)
{
    const struct policy_node *node = policies->root;
    while (node != NULL && name.len > 0) {
        node = child_of(node, name.data[0]);
        if (node == NULL || !bytes_begin_with(name, label_of(node))) return NULL;
        name = bytes_without(name, node->label_len);
    }
    return node != NULL && node->rule != NULL ? &node->rule->policy : NULL;
}

bool policies_remove(struct policies *policies, struct bytes name)
{
    struct policy_node **link = &policies->root, **above = NULL;
    uint32_t index = 0;
    while (*link != NULL && name.len > 0) {
        if (!find_child(*link, name.data[0], &index)) return false;
        above = link;
        link = &(*link)->children[index];
        if (!bytes_begin_with(name, label_of(*link))) return false;
        name = bytes_without(name, (*link)->label_len);
    }
    struct policy_node *node = *link;
    if (node == NULL || node->rule == NULL) return false;

    rule_free(policies, node->rule);
    node->rule = NULL;
    if (node->child_count > 0) {
        join_only_child(policies, link);
    } else {
        ensure(above != NULL, "a rule without a name");
        struct policy_node **at = &(*above)->children[index];
        memmove(at, at + 1, ((*above)->child_count - index - 1) * sizeof(struct policy_node *));
        resize_children(*above, (*above)->child_count - 1);
        free_subtree(policies, node);
        join_only_child(policies, above);
    }
    if (policies->count == 0) policies_drop(policies);
    return true;
}

const struct policy *policies_of(const struct policies *policies, struct bytes key,
                                 struct bytes *name)
{
    const struct policy_node *node = policies->root;
    const struct rule *rule = NULL;
    while (node != NULL) {
        const struct policy_node *star = child_of(node, '*');
        if (star != NULL) rule = star->rule;
        if (key.len == 0) {
            if (node->rule != NULL) rule = node->rule;
            break;
        }
        node = child_of(node, key.data[0]);
        if (node == NULL) break;
        /* A prefix may end inside the label, whose last byte is its '*' then. */
        struct bytes label = label_of(node), prefix = bytes_of(label.data, label.len - 1);
        bool is_prefix = label.data[prefix.len] == '*' && bytes_begin_with(key, prefix);
        if (is_prefix) rule = node->rule; /* not NULL, because '*' ends a name */
        if (is_prefix || !bytes_begin_with(key, label)) break;
        key = bytes_without(key, node->label_len);
    }
    if (rule == NULL) return NULL;
    if (name != NULL) *name = name_of(rule);
    return &rule->policy;
}

typedef void visitor(void *ctx, struct bytes name, const struct policy *policy);

static void visit_rules(const struct policy_node *node, visitor *visit, void *ctx)
{
    if (node->rule != NULL) visit(ctx, name_of(node->rule), &node->rule->policy);
    for (uint32_t i = 0; i < node->child_count; i++)
        visit_rules(node->children[i], visit, ctx);
}

void policies_each(const struct policies *policies, visitor *visit, void *ctx)
{
    if (policies->root != NULL) visit_rules(policies->root, visit, ctx);
}

static void reset_stats(void *ctx, struct bytes name, const struct policy *policy)
{
    (void)ctx;
    (void)name;
    *policy->stats = (struct policy_stats){ 0 };
}

void policies_reset_stats(const struct policies *policies)
{
    policies_each(policies, reset_stats, NULL);
}

struct totals {
    size_t count, with[POLICY_OPTIONS], pending;
};

static void check_policy_node(const struct policies *policies, const struct policy_node *node,
                              size_t depth, struct totals *totals)
{
    depth += node->label_len;
    ensure(node == policies->root || node->rule != NULL || node->child_count >= 2,
           "node at depth %zu has no rule and fewer than two children", depth);
    if (node->rule != NULL) {
        struct bytes name = name_of(node->rule);
        const struct policy *policy = &node->rule->policy;
        totals->count++;
        totals->pending += policy->pending;
        for (unsigned option = 0; option < POLICY_OPTIONS; option++)
            totals->with[option] += policy_has(policy, option);
        ensure(policy->expired_to.len == 0 || policies_log_to(policies, policy->expired_to),
               "'%.*s' is no target", (int)policy->expired_to.len, policy->expired_to.data);
        ensure(policy->dead_to.len == 0 || policies_write_to(policies, policy->dead_to),
               "'%.*s' is no target", (int)policy->dead_to.len, policy->dead_to.data);
        ensure(policy_name_ok(name), "malformed name of %zu bytes", name.len);
        ensure(name.len == depth, "name of %zu bytes at depth %zu", name.len, depth);
        ensure(policies_get(policies, name) == policy, "name '%.*s' is not found", (int)name.len,
               name.data);
        ensure(name.data[name.len - 1] != '*' || node->child_count == 0, "'%.*s' has children",
               (int)name.len, name.data);
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct policy_node *child = node->children[i];
        ensure(child->label_len > 0, "child %u has no label", i);
        unsigned char here = (unsigned char)child->label[0];
        unsigned char before = i > 0 ? (unsigned char)node->children[i - 1]->label[0] : 0;
        ensure(i == 0 || before < here, "child %u begins with byte %u, its predecessor with %u", i,
               here, before);
        check_policy_node(policies, child, depth, totals);
    }
}

void policies_check(const struct policies *policies)
{
    struct totals totals = { 0 };
    if (policies->root != NULL) check_policy_node(policies, policies->root, 0, &totals);

    size_t listed = 0;
    const struct rule *before = NULL;
    for (const struct rule *rule = policies->first_pending; rule != NULL; rule = rule->next) {
        ensure(rule->policy.pending && rule->prev == before, "pending rule %zu: wrong link",
               listed);
        ensure(before == NULL || before->pass <= rule->pass, "pending rule %zu: pass %llu", listed,
               (unsigned long long)rule->pass);
        before = rule;
        listed++;
    }
    ensure(before == policies->last_pending, "wrong end of the list of %zu pending rules", listed);
    ensure(listed == totals.pending && listed == policies->pending,
           "%zu pending, %zu listed, count %zu", totals.pending, listed, policies->pending);

    ensure(totals.count == policies->count, "%zu policies, count %zu", totals.count,
           policies->count);
    for (unsigned option = 0; option < POLICY_OPTIONS; option++)
        ensure(totals.with[option] == policies->with[option], "%zu policies with %s, count %zu",
               totals.with[option], policy_rows[option].name, policies->with[option]);
    policy_targets_check(&policies->log_targets);
    policy_targets_check(&policies->dead_targets);
    ensure(policies->log_targets.count <= totals.with[POLICY_EXPIRED], "%zu targets of logs",
           policies->log_targets.count);
    ensure(policies->dead_targets.count <= totals.with[POLICY_MAXDELIVERIES],
           "%zu targets of deliveries", policies->dead_targets.count);
    ensure((policies->root == NULL) == (policies->count == 0), "%zu policies and %s root",
           policies->count, policies->root == NULL ? "no" : "a");
}
