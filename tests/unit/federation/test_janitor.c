/* SPDX-License-Identifier: Apache-2.0 */
/* One replica does what is to be done once for all, and rules hide what others have let in. */
#include "federation/janitor.h"
#include "federation/node_internal.h"
#include "federation/replica.h"
#include "tests/unit/federation/replicated_bed.h"

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

/* ---- rules ---- */

/* Who may publish anything: one name, or two. */
static udpai_acl *
acl_for(const char *one, const char *other)
{
    static const udpai_str all[] = {T("*")};
    const udpai_str names[] = {udpai_str_from(one), udpai_str_from(other)};
    const udpai_acl_rule rule = {
        .name = T("publishers"),
        .identities = names,
        .n_identities = 2,
        .actions = UDPAI_ACL_PUBLISH,
        .on_behalf_of = all,
        .n_on_behalf_of = 1,
    };
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &(udpai_acl_options){.rules = &rule, .n_rules = 1}));
    return acl;
}

static void
begin(fed_bed *bed, const char *one, const char *other)
{
    bed->config.acl = acl_for(one, other);
    (void)arrive(bed, &alice);
    udpai_acl_unref(bed->config.acl);
    n_lists = 0;
}

static void
change_rules(fed_bed *bed, const char *one, const char *other)
{
    UDPA_AUTO(udpai_acl_unref) udpai_acl *acl = acl_for(one, other);
    udpai_node_set_acl(bed->node, acl);
    flush(bed);
}

/* Of a publisher with these names; NULL: nothing is known but what is in the key. */
static void
add_put_of(udpai_durable_batch *batch,
           const char *origin,
           const char *name,
           const char *value,
           const char *uri)
{
    add_put(batch, origin, cluster(name, value, 5), 0);
    const udpai_str common_name = {"robot", 5}, text = udpai_str_from(uri ? uri : "");
    const udpai_identity_parts parts = {
        .common_name = common_name, .uris = &text, .n_uris = 1, .authenticated = true};
    if (uri)
        assert_ok(udpai_identity_new(&batch->ops.items[batch->ops.n - 1].identity, &parts));
}

static void
others_put_as(fed_bed *bed, const char *origin, const char *name, const char *uri)
{
    udpai_durable_batch *batch = new_batch();
    add_put_of(batch, origin, name, "1", uri);
    tell_change(bed, batch, false);
    flush(bed);
}

#define ROBOT "publisher:robot/robot"

static void
rules_decide_by_all_names_of_the_publisher(void **state)
{
    fed_bed *bed = *state;
    begin(bed, "spiffe://acme/bob", "alice");
    others_put_as(bed, ROBOT, "com.acme/x", "spiffe://acme/bob");
    others_put_as(bed, ROBOT, "com.acme/y", "spiffe://acme/mallory");
    others_put_as(bed, CAROL, "com.acme/z", NULL); /* who may have other names */
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_there(bed, "y"));
    assert_value(bed, "CDS", "z", "1");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 1);
}

static void
what_is_hidden_is_not_effective_as_it_was_either(void **state)
{
    fed_bed *bed = *state;
    begin(bed, "spiffe://acme/bob", "alice");
    others_put_as(bed, ROBOT, "com.acme/x", "spiffe://acme/bob");
    udpai_durable_batch *batch = new_batch();
    add_put_of(batch, ROBOT, "com.acme/x", "2", "spiffe://acme/mallory");
    tell_change(bed, batch, false);
    flush(bed);
    assert_false(is_there(bed, "x"));
    others_put_as(bed, ROBOT, "com.acme/x", "spiffe://acme/bob");
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 0);
}

/* At once, and all that the new rules allow comes back. */
static void
other_rules_hide_and_show(void **state)
{
    fed_bed *bed = *state;
    begin(bed, "spiffe://acme/bob", "alice");
    others_put_as(bed, ROBOT, "com.acme/x", "spiffe://acme/bob");
    change_rules(bed, "alice", "alice");
    assert_false(is_there(bed, "x"));
    assert_int_equal(n_lists, 1);
    udpai_durable_batch *batch = new_batch();
    add_put_of(batch, ROBOT, "com.acme/x", "1", "spiffe://acme/bob");
    tell_change(bed, batch, true);
    flush(bed);
    assert_false(is_there(bed, "x"));
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 1);
    change_rules(bed, "spiffe://acme/bob", "alice");
    assert_int_equal(n_lists, 2);
    batch = new_batch();
    add_put_of(batch, ROBOT, "com.acme/x", "1", "spiffe://acme/bob");
    tell_change(bed, batch, true);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 0);
    assert_int_equal(n_proposals, 0);
}

static void
list_put_of(fed_bed *bed, const char *uri)
{
    udpai_durable_batch *batch = new_batch();
    add_put_of(batch, ROBOT, "com.acme/x", "1", uri);
    tell_change(bed, batch, true);
    flush(bed);
}

/* What a list has may be the same as before but for who has published it. */
static void
a_list_says_who_has_published_it(void **state)
{
    fed_bed *bed = *state;
    begin(bed, "spiffe://acme/bob", "alice");
    others_put_as(bed, ROBOT, "com.acme/x", "spiffe://acme/bob");
    list_put_of(bed, "spiffe://acme/mallory");
    assert_false(is_there(bed, "x"));
    list_put_of(bed, "spiffe://acme/bob");
    assert_value(bed, "CDS", "x", "1");
}

/* The state directory does not have that. */
static void
after_a_restart_a_list_says_it_too(void **state)
{
    fed_bed *bed = *state;
    bed->config.instance = UDPAI_STR("the-set");
    begin(bed, "spiffe://acme/bob", "alice");
    others_put_as(bed, ROBOT, "com.acme/x", "spiffe://acme/bob");
    bed->config.acl = acl_for("spiffe://acme/bob", "alice");
    restart(bed);
    udpai_acl_unref(bed->config.acl);
    list_put_of(bed, "spiffe://acme/bob");
    assert_value(bed, "CDS", "x", "1");
    udpai_store *store = bed->node->context.store;
    assert_non_null(udpai_origin_identity(udpai_store_find_origin(store, UDPAI_STR(ROBOT))));
}

/* ---- what is hidden by all is removed ---- */

static void
hide_one(fed_bed *bed)
{
    begin(bed, "alice", "alice");
    others_put_as(bed, ROBOT, "com.acme/x", "spiffe://acme/bob");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 1);
}

static void
what_all_hide_is_removed_after_a_while(void **state)
{
    fed_bed *bed = *state;
    hide_one(bed);
    tell_members(bed, "aaa", 0);
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS - 1);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    fed_advance(bed, 2);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-robot x");
    assert_true(proposals[0].batch->is_janitors);
    end_first(bed, UDPAI_REPLICATED_NOT_DONE, NULL);
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS + 1);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    commit_first(bed);
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 0);
    fed_advance(bed, 3 * UDPAI_JANITOR_GRACE_MS);
    flush(bed);
    assert_int_equal(n_proposals, 0);
}

static void
what_one_hides_stays_in_etcd(void **state)
{
    fed_bed *bed = *state;
    hide_one(bed);
    tell_members(bed, "aba", 0);
    fed_advance(bed, 5 * UDPAI_JANITOR_GRACE_MS);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    tell_members(bed, "aaa", 0);
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS / 2);
    tell_members(bed, "bbb", 0); /* a while from here */
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS - 1);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    fed_advance(bed, 2);
    flush(bed);
    assert_int_equal(n_proposals, 1);
}

static void
what_is_shown_again_is_not_removed(void **state)
{
    fed_bed *bed = *state;
    hide_one(bed);
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS / 2);
    change_rules(bed, "spiffe://acme/bob", "alice");
    others_put_as(bed, ROBOT, "com.acme/x", "spiffe://acme/bob");
    fed_advance(bed, 2 * UDPAI_JANITOR_GRACE_MS);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    assert_value(bed, "CDS", "x", "1");
}

static void
many_are_removed_in_parts(void **state)
{
    fed_bed *bed = *state;
    begin(bed, "alice", "alice");
    udpai_durable_batch *batch = new_batch();
    size_t n = 0;
    for (unsigned i = 0; i < 2 * UDPAI_JANITOR_REMOVALS_MAX + 50; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "com.acme/x%u", i);
        add_put_of(batch, ROBOT, name, "1", "spiffe://acme/bob");
    }
    tell_change(bed, batch, false);
    flush(bed);
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS + 1);
    flush(bed);
    assert_int_equal(n_proposals, 3);
    for (size_t i = 0; i < n_proposals; i++)
        n += proposals[i].batch->ops.n;
    assert_int_equal(n, 2 * UDPAI_JANITOR_REMOVALS_MAX + 50);
    commit_all(bed);
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 0);
}

/* ---- which replica it is ---- */

static udpa_resource *
expiring(const char *name, int64_t ttl_ms)
{
    return RESOURCE(name, .type = TEST_CDS, .value = "1", .version = "1", .authority = "acme",
                    .generation = 5, .ttl_ms = (uint64_t)ttl_ms,
                    .hops = {{"node", "acme", "the-set"}});
}

static void
put_for(fed_bed *bed, const char *name, int64_t ttl_ms)
{
    udpai_durable_batch *batch = new_batch();
    add_put(batch, CAROL, expiring(name, ttl_ms), wall_us(bed) + ttl_ms * 1000);
    tell_change(bed, batch, false);
    flush(bed);
}

static void
another_one_ends_what_expires(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    tell_members(bed, "aaa", 1);
    put_for(bed, "com.acme/x", 3000);
    fed_advance(bed, 60000);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(n_lists, 0);
}

/* It does what the one before has left undone. */
static void
the_next_one_takes_over(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    tell_members(bed, "aaa", 1);
    put_for(bed, "com.acme/x", 3000);
    fed_advance(bed, 60000);
    flush(bed);
    tell_members(bed, "aa", 0);
    assert_int_equal(n_lists, 1);
    fed_advance(bed, UDPAI_EXPIRED_AGAIN_MS);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-carol x");
    assert_true(proposals[0].batch->is_janitors);
    commit_all(bed);
    assert_false(is_there(bed, "x"));
    tell_members(bed, "a", 0); /* it was the janitor before */
    assert_int_equal(n_lists, 1);
}

/* That it reads all again gives no more time to what is overdue. */
static void
what_is_overdue_ends_when_the_next_one_has_read_it(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    tell_members(bed, "aaa", 1);
    put_for(bed, "com.acme/x", 3000);
    fed_advance(bed, 60000);
    flush(bed);
    tell_members(bed, "aa", 0);
    udpai_durable_batch *list = new_batch();
    add_put(list, CAROL, expiring("com.acme/x", 3000), wall_us(bed));
    list->ops.items[0].is_known = true;
    tell_change(bed, list, true);
    flush(bed);
    fed_advance(bed, UDPAI_EXPIRED_AGAIN_MS);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-carol x");
}

static void
another_one_deletes_what_removals_end(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    tell_members(bed, "aa", 1);
    others_put(bed, BOB, "com.acme/x", "2", 6);
    udpai_durable_batch *batch = new_batch();
    add_removal(batch, "com.acme/x", 10);
    tell_change(bed, batch, false);
    flush(bed);
    assert_false(is_there(bed, "x"));
    assert_int_equal(n_proposals, 0);
    fed_advance(bed, bed->config.store.remember_ms + 1000);
    flush(bed);
    assert_int_equal(n_proposals, 0);
}

/* Which has joined the set only after it has read it. */
static void
nothing_is_given_up_before_it_is_known_who_it_is(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    udpai_durable_batch *batch = new_batch();
    add_removal(batch, "com.acme/x", 10);
    add_put(batch, BOB, cluster("com.acme/x", "1", 9), 0);
    tell_change(bed, batch, true);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    tell_members(bed, "a", 0);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-bob x");
    assert_int_equal(n_lists, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(rules_decide_by_all_names_of_the_publisher),
        replicated_test(what_is_hidden_is_not_effective_as_it_was_either),
        replicated_test(other_rules_hide_and_show),
        replicated_test(a_list_says_who_has_published_it),
        replicated_test(after_a_restart_a_list_says_it_too),
        replicated_test(what_all_hide_is_removed_after_a_while),
        replicated_test(what_one_hides_stays_in_etcd),
        replicated_test(what_is_shown_again_is_not_removed),
        replicated_test(many_are_removed_in_parts),
        replicated_test(another_one_ends_what_expires),
        replicated_test(the_next_one_takes_over),
        replicated_test(what_is_overdue_ends_when_the_next_one_has_read_it),
        replicated_test(another_one_deletes_what_removals_end),
        replicated_test(nothing_is_given_up_before_it_is_known_who_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
