/* SPDX-License-Identifier: Apache-2.0 */
/* Who may publish what, as the ACL says: publishers and sources. */
#include "tests/unit/federation/federation_test.h"

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const udpai_str acme[] = {T("com.acme")}, alice[] = {T("alice")}, source[] = {T("a")},
                       everybody[] = {T("*")};
static const udpai_acl_rule rules[] = {
    {.name = T("alice"),
     .identities = alice,
     .n_identities = 1,
     .actions = UDPAI_ACL_PUBLISH,
     .prefixes = acme,
     .n_prefixes = 1},
    {.name = T("source a"),
     .identities = source,
     .n_identities = 1,
     .actions = UDPAI_ACL_PUBLISH,
     .on_behalf_of = everybody,
     .n_on_behalf_of = 1},
};

static void
start(fed_bed *bed, bool is_dry_run)
{
    const udpai_acl_options options = {
        .rules = rules, .n_rules = UDPAI_ARRAY_LEN(rules), .is_dry_run = is_dry_run};
    assert_ok(udpai_acl_new(&bed->config.acl, &options));
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_CONTINUE, false}, {'b', "", UDPAI_CONTINUE, false});
    fed_start(bed);
    udpai_acl_unref(bed->config.acl);
}

static void
a_publisher_may_what_its_rule_says(void **state)
{
    fed_bed *bed = *state;
    start(bed, false);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "alice"});
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    assert_value(bed, "CDS", "x", "1");
    assert_string_equal(
        fed_publish_at(bed, session, "CDS", "org.other/y=1"),
        "alice may not publish 'org.other/y' of type envoy.config.cluster.v3.Cluster: rule "
        "'alice', the nearest, is for other namespaces");
    assert_value(bed, "CDS", "org.other/y", "");
    assert_int_equal(udpai_node_n_denied(bed->node), 1);
}

static void
others_may_nothing(void **state)
{
    fed_bed *bed = *state;
    start(bed, false);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "alice", .name = "mallory"});
    assert_non_null(strstr(fed_publish_at(bed, session, "CDS", "x=1"), "mallory may not publish"));
    session = fed_arrive(bed, &(fed_peer){.id = "alice"}); /* only says so */
    assert_non_null(strstr(fed_publish_at(bed, session, "CDS", "x=1"),
                           "a peer without a name may not publish"));
    assert_value(bed, "CDS", "x", "");
}

static const char *
put_as(fed_bed *bed, uint64_t session, const char *authority)
{
    return fed_put(bed, session,
                   RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1",
                            .authority = authority),
                   false);
}

static void
nobody_speaks_for_another(void **state)
{
    fed_bed *bed = *state;
    start(bed, false);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "alice"});
    assert_string_equal(put_as(bed, session, "alice"), "");
    assert_non_null(strstr(put_as(bed, session, "bank"),
                           "rule 'alice' does not let it publish on behalf of authority 'bank'"));
    assert_value(bed, "CDS", "x", ""); /* nor is what it had said before its word any more */
}

/* Other rules hold meanwhile: what it may not say any more goes, and a refresh does not keep it. */
static void
a_refresh_keeps_nothing_that_is_refused(void **state)
{
    fed_bed *bed = *state;
    start(bed, false);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "alice"});
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "~x=1"), "");
    const udpai_acl_options none = {.n_rules = 0};
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &none));
    udpai_node_set_acl(bed->node, acl);
    udpai_acl_unref(acl);
    assert_value(bed, "CDS", "x", "");
    assert_non_null(strstr(fed_publish_at(bed, session, "CDS", "~x=1"), "is not held here"));
    assert_value(bed, "CDS", "x", "");
}

/* It is known by the name that the configuration gives it. */
static void
a_source_has_rules_too(void **state)
{
    fed_bed *bed = *state;
    start(bed, false);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1"), "");
    assert_string_equal(put_as(bed, bed->sessions[0], "bank"), "");
    assert_non_null(strstr(fed_publish(bed, 'b', "CDS", "y=1"), "b may not publish"));
    assert_value(bed, "CDS", "y", "");
}

/* What it sends is what the configuration says: whose, and where. */
static void
an_xds_server_needs_none(void **state)
{
    fed_bed *bed = *state;
    bed->sources[1].kind = UDPAI_SOURCE_XDS;
    start(bed, false);
    fed_connect_as(bed, 'b', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'b');
    assert_string_equal(fed_publish(bed, 'b', "CDS", "y=1"), "");
    assert_value(bed, "CDS", "y", "1");
}

static void
a_dry_run_refuses_nothing_and_counts(void **state)
{
    fed_bed *bed = *state;
    start(bed, true);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "mallory"});
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(udpai_node_n_denied(bed->node), 1);
}

/* ---- other rules ---- */

static udpai_acl *
rules_for(const udpai_acl_rule *some, size_t n, bool is_dry_run)
{
    udpai_acl *acl = NULL;
    const udpai_acl_options options = {.rules = some, .n_rules = n, .is_dry_run = is_dry_run};
    assert_ok(udpai_acl_new(&acl, &options));
    return acl;
}

static void
what_other_rules_refuse_goes(void **state)
{
    static const udpai_str all[] = {T("com.acme"), T("org.acme")};
    static const udpai_acl_rule both = {.name = T("both"),
                                        .identities = alice,
                                        .n_identities = 1,
                                        .actions = UDPAI_ACL_PUBLISH,
                                        .prefixes = all,
                                        .n_prefixes = 2};
    fed_bed *bed = *state;
    start(bed, false);
    fed_rule(bed, rules_for(&both, 1, false));
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "alice"});
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1 org.acme/y=1"), "");
    fed_rule(bed, rules_for(rules, 2, true)); /* a dry run takes nothing away */
    assert_value(bed, "CDS", "org.acme/y", "1");
    fed_leave(bed, session, false); /* who he was is known as long as there is something of his */
    fed_rule(bed, rules_for(rules, 2, false));
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "org.acme/y", "");
    fed_rule(bed, rules_for(NULL, 0, false));
    assert_value(bed, "CDS", "x", "");
}

static void
sources_are_judged_again_too(void **state)
{
    fed_bed *bed = *state;
    bed->sources[1].kind = UDPAI_SOURCE_XDS;
    start(bed, false);
    fed_connect(bed, 'a');
    fed_connect_as(bed, 'b', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'b');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1"), "");
    assert_string_equal(fed_publish(bed, 'b', "CDS", "y=1"), "");
    fed_rule(bed, rules_for(rules, 1, false));
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "1"); /* a server of xDS needs no rule */
    (void)fed_orders(bed);
    fed_rule(bed, rules_for(rules, 2, false));
    assert_orders(bed, "hangup a");
}

/* Nothing would bring it on the same stream. */
static void
what_rules_took_from_a_source_is_asked_for_with_other_rules(void **state)
{
    fed_bed *bed = *state;
    start(bed, false);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1"), "");
    (void)fed_orders(bed);
    fed_rule(bed, rules_for(rules, 1, false));
    assert_value(bed, "CDS", "x", "");
    assert_orders(bed, ""); /* these rules do not bring it back */
    fed_rule(bed, rules_for(rules, 2, false));
    assert_orders(bed, "hangup a");
    fed_close(bed, 'a');
    assert_orders(bed, "dial a"); /* at once: it has not failed */
    fed_connect(bed, 'a');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1"), "");
    assert_value(bed, "CDS", "x", "1");
    (void)fed_orders(bed);
    fed_rule(bed, rules_for(rules, 2, false)); /* of this stream nothing was rejected */
    assert_orders(bed, "");
}

static void
what_was_rejected_when_it_came_is_asked_for_with_other_rules(void **state)
{
    fed_bed *bed = *state;
    start(bed, false);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_orders(bed);
    assert_non_null(strstr(fed_publish(bed, 'b', "CDS", "y=1"), "b may not publish"));
    fed_rule(bed, rules_for(rules, 2, true)); /* a dry run lets it in, too */
    assert_orders(bed, "hangup b");
}

/* Only the name that stands for a peer is kept. */
static void
whose_names_are_not_known_yet_stays_until_he_comes(void **state)
{
    static const udpai_str uri[] = {T("spiffe://acme.test/alice")};
    static const udpai_acl_rule by_uri = {
        .name = T("uri"), .identities = uri, .n_identities = 1, .actions = UDPAI_ACL_PUBLISH};
    const fed_peer peer = {.id = "n", .name = "alice", .uri = "spiffe://acme.test/alice"},
                   bare = {.id = "n", .name = "alice"};
    fed_bed *bed = *state;
    bed->config.is_durable = true;
    start(bed, false);
    fed_rule(bed, rules_for(&by_uri, 1, false));
    uint64_t session = fed_arrive(bed, &peer);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    bed->config.acl = rules_for(&by_uri, 1, false);
    fed_restart(bed);
    fed_rule(bed, rules_for(&by_uri, 1, false));
    assert_value(bed, "CDS", "x", "1");
    session = fed_arrive(bed, &bare); /* by another certificate, without the URI */
    assert_non_null(strstr(fed_publish_at(bed, session, "CDS", "y=1"), "may not publish"));
    assert_value(bed, "CDS", "x", "");
    udpai_acl_unref(bed->config.acl);
}

static void
a_name_that_is_known_is_judged_at_once(void **state)
{
    fed_bed *bed = *state;
    bed->config.is_durable = true;
    start(bed, false);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n/%2F", .name = "alice"});
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    bed->config.acl = rules_for(rules, 2, false);
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "1");
    fed_rule(bed, rules_for(&rules[1], 1, false));
    assert_value(bed, "CDS", "x", "");
    udpai_acl_unref(bed->config.acl);
}

/* Rules that have changed while the node was down. */
static void
what_was_kept_of_a_source_is_judged_when_it_comes(void **state)
{
    fed_bed *bed = *state;
    bed->config.is_durable = true;
    start(bed, false);
    fed_connect(bed, 'a');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1"), "");
    bed->config.acl = rules_for(rules, 2, false);
    fed_restart(bed);
    fed_connect(bed, 'a');
    assert_value(bed, "CDS", "x", "1");
    udpai_acl_unref(bed->config.acl);
    bed->config.acl = rules_for(rules, 1, true);
    fed_restart(bed);
    fed_connect(bed, 'a');
    assert_value(bed, "CDS", "x", "1"); /* a dry run takes nothing away */
    udpai_acl_unref(bed->config.acl);
    bed->config.acl = rules_for(rules, 1, false);
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "1");
    fed_connect(bed, 'a');
    assert_value(bed, "CDS", "x", "");
    (void)fed_orders(bed);
    fed_rule(bed, rules_for(rules, 2, false));
    assert_orders(bed, "hangup a");
    udpai_acl_unref(bed->config.acl);
}

static void
what_was_kept_of_who_has_no_certificate_is_judged_when_he_comes(void **state)
{
    static const udpai_str some[] = {T("n")}, elsewhere[] = {T("org.acme")};
    udpai_acl_rule rule = {
        .name = T("n"), .identities = some, .n_identities = 1, .actions = UDPAI_ACL_PUBLISH};
    udpai_acl_options options = {.rules = &rule, .n_rules = 1, .trusts_node_ids = true};
    fed_bed *bed = *state;
    bed->config.is_durable = true;
    start(bed, false);
    bed->config.acl = NULL;
    assert_ok(udpai_acl_new(&bed->config.acl, &options));
    fed_restart(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n"});
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    udpai_acl_unref(bed->config.acl);
    rule.prefixes = elsewhere;
    rule.n_prefixes = 1;
    assert_ok(udpai_acl_new(&bed->config.acl, &options));
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "1");
    session = fed_arrive(bed, &(fed_peer){.id = "n"});
    assert_non_null(strstr(fed_publish_at(bed, session, "CDS", "y=1"), "may not publish"));
    assert_value(bed, "CDS", "x", "");
    udpai_acl_unref(bed->config.acl);
}

static void
the_word_of_the_revoked_goes(void **state)
{
    const fed_peer peer = {.id = "n", .name = "alice"}, other = {.id = "m", .name = "alice"};
    fed_bed *bed = *state;
    start(bed, false);
    uint64_t first = fed_arrive(bed, &peer), second = fed_arrive(bed, &other);
    assert_string_equal(fed_publish_at(bed, first, "CDS", "x=1"), "");
    assert_string_equal(fed_publish_at(bed, second, "CDS", "y=1"), "");
    fed_leave(bed, second, false); /* a stream that just ends takes nothing away */
    fed_leave(bed, first, true);
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "1");
}

static void
who_has_come_by_another_certificate_keeps_his_word(void **state)
{
    const fed_peer peer = {.id = "n", .name = "alice"};
    fed_bed *bed = *state;
    start(bed, false);
    uint64_t first = fed_arrive(bed, &peer);
    assert_string_equal(fed_publish_at(bed, first, "CDS", "x=1"), "");
    uint64_t second = fed_arrive(bed, &peer);
    fed_leave(bed, first, true);
    assert_value(bed, "CDS", "x", "1");
    assert_string_equal(fed_publish_at(bed, second, "CDS", "x=2"), "");
    /* Another node of his, and somebody else with that id, are not him. */
    (void)fed_arrive(bed, &(fed_peer){.id = "m", .name = "alice"});
    (void)fed_arrive(bed, &(fed_peer){.id = "n", .name = "bob"});
    fed_leave(bed, second, true);
    assert_value(bed, "CDS", "x", "");
}

/* To say where a resource comes from, one must be allowed to publish it. */
static void
who_delegates_must_be_allowed_what_he_delegates(void **state)
{
    fed_bed *bed = *state;
    static const char delegation[] = "type.googleapis.com/udpa.config.v1.ResourceProvider";
    static const udpai_str types[] = {T("*ResourceProvider"), T("*Cluster")};
    const udpai_acl_rule rule = {.name = T("alice"),
                                 .identities = alice,
                                 .n_identities = 1,
                                 .actions = UDPAI_ACL_PUBLISH,
                                 .types = types,
                                 .n_types = 2,
                                 .prefixes = acme,
                                 .n_prefixes = 1};
    assert_ok(udpai_acl_new(&bed->config.acl, &(udpai_acl_options){.rules = &rule, .n_rules = 1}));
    fed_start(bed);
    udpai_acl_unref(bed->config.acl);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "alice"});
    assert_string_equal(
        fed_publish_at(bed, session, delegation, "com.acme/x/envoy.config.cluster.v3.Cluster=1"),
        "");
    assert_non_null(strstr(
        fed_publish_at(bed, session, delegation, "com.acme/x/envoy.config.listener.v3.Listener=1"),
        "alice may not publish 'com.acme/x' of type "
        "envoy.config.listener.v3.Listener"));
    assert_non_null(strstr(
        fed_publish_at(bed, session, delegation, "org.other/x/envoy.config.cluster.v3.Cluster=1"),
        "alice may not publish"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_publisher_may_what_its_rule_says),
        fed_test(others_may_nothing),
        fed_test(who_delegates_must_be_allowed_what_he_delegates),
        fed_test(nobody_speaks_for_another),
        fed_test(a_refresh_keeps_nothing_that_is_refused),
        fed_test(a_source_has_rules_too),
        fed_test(an_xds_server_needs_none),
        fed_test(a_dry_run_refuses_nothing_and_counts),
        fed_test(what_other_rules_refuse_goes),
        fed_test(sources_are_judged_again_too),
        fed_test(what_rules_took_from_a_source_is_asked_for_with_other_rules),
        fed_test(what_was_rejected_when_it_came_is_asked_for_with_other_rules),
        fed_test(whose_names_are_not_known_yet_stays_until_he_comes),
        fed_test(a_name_that_is_known_is_judged_at_once),
        fed_test(what_was_kept_of_a_source_is_judged_when_it_comes),
        fed_test(what_was_kept_of_who_has_no_certificate_is_judged_when_he_comes),
        fed_test(the_word_of_the_revoked_goes),
        fed_test(who_has_come_by_another_certificate_keeps_his_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
