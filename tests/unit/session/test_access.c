/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may ask for, and is shown, as the ACL says. */
#include "one_peer.h"

#include "base/alloc.h"
#include "model/acl.h"
#include "session/access_question.h"

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const udpai_str shops[] = {T("shop-*")}, everybody[] = {T("*")}, of_shops[] = {T("shop")},
                       public[] = {T("public")}, clusters[] = {T("*Cluster")};
static const udpai_acl_rule rules[] = {
    {.name = T("shops"),
     .identities = shops,
     .n_identities = 1,
     .actions = UDPAI_ACL_SUBSCRIBE,
     .types = clusters,
     .n_types = 1,
     .prefixes = of_shops,
     .n_prefixes = 1},
    {.name = T("everybody"),
     .identities = everybody,
     .n_identities = 1,
     .actions = UDPAI_ACL_SUBSCRIBE,
     .prefixes = public,
     .n_prefixes = 1},
};

/* As a name, of which a slash, a star, blanks and other alphabets would be no part. */
static void
a_question_is_a_name(void **state)
{
    (void)state;
    static const char name[] =
        UDPAI_ACCESS_PREFIX "publish/envoy.config.cluster.v3.Cluster/"
                            "spiffe:%2F%2Fa%2Fb%20%2A%25%C3%A4/acme~/com.acme/x";
    static udpai_access_question question, read;
    char *composed = NULL;
    question.action = UDPAI_ACL_PUBLISH;
    question.type_name = UDPAI_STR("envoy.config.cluster.v3.Cluster");
    question.peer = UDPAI_STR("spiffe://a/b *%\xc3\xa4");
    question.authority = UDPAI_STR("acme~");
    question.name = UDPAI_STR("com.acme/x");
    assert_ok(udpai_access_question_compose(&question, &composed));
    assert_string_equal(composed, name);
    assert_true(udpai_access_question_parse(udpai_str_from(composed), &read));
    assert_true(udpai_str_eq(read.peer, question.peer));
    assert_str(read.authority, "acme~");
    assert_str(read.name, "com.acme/x");
    udpai_free(composed);
}

static void
begin_with(const udpai_acl_options *options)
{
    udpai_acl_options whole = *options;
    udpai_hub_options hub_options = fake_hub_options();
    whole.rules = rules;
    whole.n_rules = UDPAI_ARRAY_LEN(rules);
    assert_ok(udpai_acl_new(&hub_options.acl, &whole));
    session_hub_init_with(&hub, &hub_options);
    udpai_acl_unref(hub_options.acl);
    session_change(&hub, "+C:shop/a=1 +E:shop/a=1 +C:public/b=1 +C:bank/c=1");
}

static void
open_as(const char *id, const udpai_stream_info *info)
{
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, info);
    peer_expect(&peer, "node{node}");
    peer_send_node(&peer, id);
}

static int
begin_trusting(void **state)
{
    (void)state;
    begin_with(&(udpai_acl_options){.trusts_node_ids = true});
    return 0;
}

static int
begin_dry(void **state)
{
    (void)state;
    begin_with(&(udpai_acl_options){.trusts_node_ids = true, .is_dry_run = true});
    return 0;
}

static int
begin_withholding(void **state)
{
    static const udpai_str withheld_types[] = {UDPAI_STR(TEST_CDS)};
    udpai_hub_options hub_options = fake_hub_options();
    (void)state;
    hub_options.withheld_types = withheld_types;
    hub_options.n_withheld_types = 1;
    hub_options.withheld = of_shops;
    hub_options.n_withheld = 1;
    session_hub_init_with(&hub, &hub_options);
    session_change(&hub, "+C:shop/a=1 +E:shop/a=1 +C:public/b=1");
    return 0;
}

static int
begin_alone_with_clusters(void **state)
{
    (void)begin_alone(state);
    session_change(&hub, "+C:shop/a=1");
    return 0;
}

static int
begin_bound(void **state)
{
    (void)state;
    begin_with(&(udpai_acl_options){.binds_node_id = true});
    return 0;
}

static void
a_wildcard_holds_what_may_be_seen(void **state)
{
    (void)state;
    open_as("shop-1", NULL);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:shop/a=1 C:public/b=1 ?} publish{C !}");
    session_change(&hub, "+C:bank/c=2 +C:shop/a=2");
    peer_expect(&peer, "publish{C C:shop/a=2 ?}");
    peer_subscribe(&peer, "E", "", "''"); /* of this type the rule for shops is not */
    peer_expect(&peer, "publish{E !}");
}

static void
others_see_less(void **state)
{
    (void)state;
    open_as("bank-1", NULL);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:public/b=1 ?} publish{C !}");
}

static void
what_may_not_be_asked_for_is_refused(void **state)
{
    (void)state;
    open_as("shop-1", NULL);
    peer_subscribe(&peer, "C", "", "bank/c shop/a");
    peer_expect(&peer, "error{C bank/c 7'shop-1 may not subscribe to 'bank/c' of type "
                       "envoy.config.cluster.v3.Cluster: rule 'shops', the nearest, is for other "
                       "namespaces'} publish{C C:shop/a=1 ?} publish{C !}");
    peer_subscribe(&peer, "C", "bank", "''");
    peer_expect(&peer, "error{C@bank '' 7'shop-1 may not subscribe to what is below 'bank' of type "
                       "envoy.config.cluster.v3.Cluster: rule 'shops', the nearest, is for other "
                       "namespaces'} publish{C@bank !}");
    peer_subscribe(&peer, "C", "udpa.node", "''"); /* of nodes */
    peer_expect(&peer,
                "error{C@udpa.node '' 7'shop-1 may not subscribe to what is below 'udpa.node' of "
                "type envoy.config.cluster.v3.Cluster: rule 'shops', the nearest, is for other "
                "actions'} publish{C@udpa.node !}");
    assert_int_equal(peer.stream.session->n_denied, 3);
}

static void
a_dry_run_refuses_nothing_and_counts(void **state)
{
    (void)state;
    open_as("bank-1", NULL);
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "publish{C C:shop/a=1 ?} publish{C !}");
    assert_int_equal(peer.stream.session->n_denied, 1);
}

/* It may subscribe before it says who it is. */
static void
one_that_was_dialled_is_shown_more_when_it_is_known(void **state)
{
    (void)state;
    const udpai_stream_info dialled = {.link = 7};
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, &dialled);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "node{node} publish{ C:public/b=1 ?}");
    peer_send_node(&peer, "shop-1");
    peer_expect(&peer, "publish{C C:shop/a=1 ?}");
}

static void
who_says_another_is_somebody_else_is_shown_less(void **state)
{
    (void)state;
    open_as("shop-1", NULL);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:shop/a=1 C:public/b=1 ?} publish{C !}");
    peer_send_node(&peer, "bank-1");
    peer_expect(&peer, "publish{C -shop/a ?}");
}

static void
a_node_id_that_is_not_in_the_certificate_ends_the_stream(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    assert_ok(udpai_identity_new(&identity, &(udpai_identity_parts){
                                                .common_name = UDPAI_STR("shop-1"),
                                                .authenticated = true,
                                            }));
    const udpai_stream_info info = {.identity = identity};
    open_as("shop-2", &info);
    peer_expect_end(&peer, UDPA_ERR_DENIED, "'shop-2', is none of the names in your certificate");
    fake_stream_close(&peer.stream);
    open_as("shop-1", &info);
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "publish{C C:shop/a=1 ?} publish{C !}");
}

/* The id is checked whenever it is another, not in the beginning alone. */
static void
a_later_node_id_that_is_not_in_the_certificate_ends_the_stream(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    assert_ok(udpai_identity_new(&identity, &(udpai_identity_parts){
                                                .common_name = UDPAI_STR("shop-1"),
                                                .authenticated = true,
                                            }));
    const udpai_stream_info info = {.identity = identity};
    open_as("shop-1", &info);
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "publish{C C:shop/a=1 ?} publish{C !}");
    peer_send_node(&peer, "shop-2");
    peer_expect_end(&peer, UDPA_ERR_DENIED, "'shop-2', is none of the names in your certificate");
}

static void
give_rules(const udpai_acl_options *options)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_non_null(order);
    assert_ok(udpai_acl_new(&order->acl, options));
    udpai_hub_order(hub.hub, order);
}

static void
other_rules_hold_at_once(void **state)
{
    (void)state;
    static const udpai_str banks[] = {T("bank")};
    const udpai_acl_rule rule = {.name = T("banks"),
                                 .identities = everybody,
                                 .n_identities = 1,
                                 .actions = UDPAI_ACL_SUBSCRIBE,
                                 .prefixes = banks,
                                 .n_prefixes = 1};
    open_as("shop-1", NULL);
    peer_subscribe(&peer, "C", "", "'' shop/a");
    peer_expect(&peer, "publish{C C:shop/a=1 C:public/b=1 ?} publish{C !}");
    give_rules(&(udpai_acl_options){.rules = &rule, .n_rules = 1});
    peer_expect(&peer, "publish{C C:bank/c=1 ?} publish{C -public/b -shop/a ?}");
    session_change(&hub, "+C:shop/a=2 +C:bank/c=2");
    peer_expect(&peer, "publish{C C:bank/c=2 ?}");
    give_rules(&(udpai_acl_options){
        .rules = rules, .n_rules = UDPAI_ARRAY_LEN(rules), .trusts_node_ids = true});
    peer_expect(&peer, "publish{C C:public/b=1 C:shop/a=2 ?} publish{C -bank/c ?}");
}

static void
whom_other_rules_do_not_know_is_ended(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    assert_ok(udpai_identity_new(&identity, &(udpai_identity_parts){
                                                .common_name = UDPAI_STR("shop-1"),
                                                .authenticated = true,
                                            }));
    const udpai_stream_info info = {.identity = identity};
    open_as("shop-2", &info);
    give_rules(&(udpai_acl_options){
        .rules = rules, .n_rules = UDPAI_ARRAY_LEN(rules), .binds_node_id = true});
    peer_expect_end(&peer, UDPA_ERR_DENIED, "'shop-2', is none of the names in your certificate");
}

/* He is told what he is not shown any more, and then he goes. */
static void
whom_no_rule_is_for_any_more_is_ended(void **state)
{
    (void)state;
    static const udpai_str shop_2[] = {T("shop-2")};
    const udpai_acl_rule other = {.name = T("other"),
                                  .identities = shop_2,
                                  .n_identities = 1,
                                  .actions = UDPAI_ACL_SUBSCRIBE};
    open_as("shop-1", NULL);
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "publish{C C:shop/a=1 ?} publish{C !}");
    give_rules(&(udpai_acl_options){.rules = &other, .n_rules = 1, .trusts_node_ids = true});
    peer_expect(&peer, "publish{C -shop/a ?}");
    peer_expect_end(&peer, UDPA_ERR_DENIED, "none is for this peer any more");
    fake_stream_close(&peer.stream);
    /* One that comes without any rule stays: it is refused what it asks for. */
    open_as("shop-1", NULL);
    give_rules(&(udpai_acl_options){.rules = &other, .n_rules = 1, .trusts_node_ids = true});
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "error{C shop/a 7'shop-1 may not subscribe to 'shop/a' of type "
                       "envoy.config.cluster.v3.Cluster: no rule of the section 'acl' is for this "
                       "peer'} publish{C !}");
    assert_false(peer.stream.is_finished);
}

/* He does not take what he is told. */
static void
whom_no_rule_is_for_has_no_time(void **state)
{
    (void)state;
    open_as("shop-1", NULL);
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "publish{C C:shop/a=1 ?} publish{C !}");
    give_rules(&(udpai_acl_options){.trusts_node_ids = true});
    udpai_hub_run(hub.hub);
    assert_true(peer.stream.is_writing);
    udpai_wheel_advance(&hub.wheel, hub.wheel.now_ms + 2999);
    assert_false(peer.stream.is_finished);
    udpai_wheel_advance(&hub.wheel, hub.wheel.now_ms + 1);
    assert_true(peer.stream.is_finished);
    assert_int_equal(udpa_error_code(peer.stream.status), UDPA_ERR_DENIED);
}

static const udpai_stream_info above = {.link = 7};

/* Also when other rules hold. */
static void
those_above_are_not_shown_what_is_withheld(void **state)
{
    (void)state;
    open_as("top", &above);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:public/b=1 ?} publish{C !}");
    session_change(&hub, "+C:shop/a=2 +C:shop/c=1");
    peer_expect(&peer, "");
    peer_subscribe(&peer, "E", "", "''"); /* another type */
    peer_expect(&peer, "publish{E E:shop/a=1 ?} publish{E !}");
    give_rules(&(udpai_acl_options){.trusts_node_ids = true, .is_dry_run = true});
    session_change(&hub, "+C:shop/a=3 +C:public/b=2");
    peer_expect(&peer, "publish{C C:public/b=2 ?}");
}

#define WITHHELD(name)                                                                             \
    "7'what single clients report of '" name "' is not passed on by this node: subscribe to "      \
    "udpa.load.v1.ClusterLoad, its aggregates'"

static void
those_above_are_told_that_it_is_withheld(void **state)
{
    (void)state;
    open_as("top", &above);
    peer_subscribe(&peer, "C", "shop", "''");
    peer_expect(&peer, "error{C@shop '' " WITHHELD("shop") "} publish{C@shop !}");
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "error{C shop/a " WITHHELD("shop/a") "} publish{C !}");
    assert_int_equal(peer.stream.session->n_denied, 2);
}

static void
others_are_shown_all(void **state)
{
    (void)state;
    open_as("top", NULL);
    peer_subscribe(&peer, "C", "shop", "''");
    peer_expect(&peer, "publish{C C:shop/a=1 ?} publish{C@shop !}");
}

/* ---- copies with secrets ---- */

static void
open_copier(const char *id, bool is_secure)
{
    peer_open_silent(&peer, &hub, PEER_COPIER, &(udpai_stream_info){.is_secure = is_secure});
    peer_expect(&peer, "node{node}");
    peer_send_node(&peer, id);
}

static void
no_copy_of_secrets_is_sent_in_the_clear(void **state)
{
    (void)state;
    open_copier("top", false);
    peer_expect_end(&peer, UDPA_ERR_DENIED, "a copy with secrets is sent by TLS alone");
    fake_stream_close(&peer.stream);
    open_copier("top", true);
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "publish{C C:shop/a=1 ?} publish{C !}");
}

static void
who_may_not_administer_copies_no_secrets(void **state)
{
    (void)state;
    open_copier("shop-1", true);
    peer_expect_end(&peer, UDPA_ERR_DENIED,
                    "a copy with secrets takes the action ADMIN: shop-1 may not");
    fake_stream_close(&peer.stream);
    const udpai_acl_rule all = {.name = T("all"),
                                .identities = everybody,
                                .n_identities = 1,
                                .actions = UDPAI_ACL_SUBSCRIBE | UDPAI_ACL_ADMIN};
    give_rules(&(udpai_acl_options){.rules = &all, .n_rules = 1, .trusts_node_ids = true});
    open_copier("shop-1", true);
    peer_subscribe(&peer, "C", "", "shop/a");
    peer_expect(&peer, "publish{C C:shop/a=1 ?} publish{C !}");
    give_rules(&(udpai_acl_options){
        .rules = rules, .n_rules = UDPAI_ARRAY_LEN(rules), .trusts_node_ids = true});
    peer_expect_end(&peer, UDPA_ERR_DENIED, "a copy with secrets takes the action ADMIN");
}

#define CASE(test, begin) cmocka_unit_test_setup_teardown(test, begin, end_anyhow)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_a_name),
        CASE(no_copy_of_secrets_is_sent_in_the_clear, begin_alone_with_clusters),
        CASE(who_may_not_administer_copies_no_secrets, begin_trusting),
        CASE(a_wildcard_holds_what_may_be_seen, begin_trusting),
        CASE(others_see_less, begin_trusting),
        CASE(what_may_not_be_asked_for_is_refused, begin_trusting),
        CASE(a_dry_run_refuses_nothing_and_counts, begin_dry),
        CASE(one_that_was_dialled_is_shown_more_when_it_is_known, begin_trusting),
        CASE(who_says_another_is_somebody_else_is_shown_less, begin_trusting),
        CASE(other_rules_hold_at_once, begin_trusting),
        CASE(whom_other_rules_do_not_know_is_ended, begin_trusting),
        CASE(whom_no_rule_is_for_any_more_is_ended, begin_trusting),
        CASE(whom_no_rule_is_for_has_no_time, begin_trusting),
        CASE(those_above_are_not_shown_what_is_withheld, begin_withholding),
        CASE(those_above_are_told_that_it_is_withheld, begin_withholding),
        CASE(others_are_shown_all, begin_withholding),
        CASE(a_node_id_that_is_not_in_the_certificate_ends_the_stream, begin_bound),
        CASE(a_later_node_id_that_is_not_in_the_certificate_ends_the_stream, begin_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
