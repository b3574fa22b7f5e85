/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what: rules, and what they say of a peer. */
#include "base/alloc.h"
#include "model/acl.h"
#include "tests/harness/test.h"

#define CDS UDPAI_STR("type.googleapis.com/envoy.config.cluster.v3.Cluster")
#define EDS UDPAI_STR("type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment")
#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
#define LIST(field, ...)                                                                           \
    .field = (const udpai_str[]){__VA_ARGS__},                                                     \
    .n_##field = sizeof((const udpai_str[]){__VA_ARGS__}) / sizeof(udpai_str)

static const udpai_acl_rule rules[] = {
    {.name = T("shops"),
     LIST(identities, T("shop-*")),
     .actions = UDPAI_ACL_PUBLISH | UDPAI_ACL_SUBSCRIBE,
     LIST(prefixes, T("shop.acme"), T("common.acme/x"), T("deep.acme/a/b"))},
    {.name = T("endpoints of the bank"),
     LIST(identities, T("spiffe://acme/bank/*")),
     .actions = UDPAI_ACL_PUBLISH,
     LIST(types, T("*ClusterLoadAssignment")),
     LIST(prefixes, T("bank.acme")),
     LIST(on_behalf_of, T("bank"), T("old-*"))},
    {.name = T("everybody"),
     LIST(identities, T("*")),
     .actions = UDPAI_ACL_SUBSCRIBE,
     LIST(prefixes, T("public"))},
    {.name = T("operators"), LIST(identities, T("op")), .actions = UDPAI_ACL_ADMIN},
};

typedef struct fixture {
    udpai_acl *acl;
    udpai_identity *shop, *bank, *op;
} fixture;

static udpai_identity *
identity(const char *common_name, const char *uri)
{
    const udpai_str uris[] = {udpai_str_from(uri)};
    udpai_identity *made = NULL;
    assert_ok(udpai_identity_new(&made, &(udpai_identity_parts){
                                            .common_name = udpai_str_from(common_name),
                                            .uris = uris,
                                            .n_uris = uris[0].len != 0,
                                            .authenticated = true,
                                        }));
    return made;
}

static void
make(fixture *self, const udpai_acl_options *options)
{
    udpai_acl_options whole = *options;
    whole.rules = rules;
    whole.n_rules = UDPAI_ARRAY_LEN(rules);
    udpai_acl_unref(self->acl);
    assert_ok(udpai_acl_new(&self->acl, &whole));
}

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    make(self, &(udpai_acl_options){0});
    self->shop = identity("shop-1", "");
    self->bank = identity("", "spiffe://acme/bank/teller");
    self->op = identity("op", "");
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    udpai_acl_unref(self->acl);
    udpai_identity_unref(self->shop);
    udpai_identity_unref(self->bank);
    udpai_identity_unref(self->op);
    free(self);
    return 0;
}

/* The name of the rule that allows it, or the end of what is said against it. */
static void
expect(const fixture *self,
       const udpai_acl_subject *subject,
       const udpai_acl_question *question,
       const char *expected)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_acl_rule *rule = udpai_acl_decide(self->acl, subject, question, &error);
    if (rule) {
        assert_null(error);
        assert_str(rule->name, expected);
        return;
    }
    assert_non_null(error);
    assert_int_equal(udpa_error_code(error), UDPA_ERR_DENIED);
    if (!strstr(udpa_error_message(error), expected))
        fail_msg("'%s' is not in '%s'", expected, udpa_error_message(error));
}

#define ASK(self, who, what, type, of, ...)                                                        \
    expect((self), &(udpai_acl_subject){.identity = (self)->who},                                  \
           &(udpai_acl_question){                                                                  \
               .action = UDPAI_ACL_##what, .type_url = type, .name = UDPAI_STR(of)},               \
           __VA_ARGS__)

static void
a_rule_for_all_is_known(void **state)
{
    fixture *self = *state;
    udpai_acl *without = NULL;
    const udpai_acl_options options = {.rules = rules, .n_rules = 2}; /* the third one is */
    assert_true(udpai_acl_knows_all(self->acl));
    assert_ok(udpai_acl_new(&without, &options));
    assert_false(udpai_acl_knows_all(without));
    udpai_acl_unref(without);
}

static void
a_rule_allows_what_it_names(void **state)
{
    fixture *self = *state;
    ASK(self, shop, PUBLISH, CDS, "shop.acme/a", "shops");
    ASK(self, shop, SUBSCRIBE, EDS, "shop.acme.tills/a", "shops");
    ASK(self, shop, SUBSCRIBE, CDS, "common.acme/x/y", "shops");
    ASK(self, shop, SUBSCRIBE, CDS, "public/a", "everybody");
    ASK(self, bank, PUBLISH, EDS, "bank.acme/a", "endpoints of the bank");
    ASK(self, op, ADMIN, CDS, "udpa.node/n/node", "operators");
}

static void
nothing_else_is_allowed_and_the_nearest_rule_is_named(void **state)
{
    fixture *self = *state;
    ASK(self, shop, PUBLISH, CDS, "shop.acmecorp/a",
        "shop-1 may not publish 'shop.acmecorp/a' of type envoy.config.cluster.v3.Cluster: rule "
        "'shops', the nearest, is for other namespaces");
    ASK(self, shop, SUBSCRIBE, CDS, "common.acme/xy", "rule 'shops', the nearest, is for other n");
    ASK(self, shop, ADMIN, CDS, "udpa.node/n/node", "the nearest, is for other actions");
    ASK(self, bank, PUBLISH, CDS, "bank.acme/a",
        "spiffe://acme/bank/teller may not publish 'bank.acme/a' of type "
        "envoy.config.cluster.v3.Cluster: rule 'endpoints of the bank', the nearest, is for other "
        "types");
    ASK(self, bank, SUBSCRIBE, EDS, "bank.acme/a", "may not subscribe to 'bank.acme/a'");
    ASK(self, op, SUBSCRIBE, EDS, "bank.acme/a", "rule 'everybody', the nearest, is for other n");
}

static void
where_no_rule_is_for_everybody_it_is_said_that_none_is(void **state)
{
    fixture *self = *state;
    const udpai_acl_options options = {.rules = rules, .n_rules = 1};
    udpai_acl_unref(self->acl);
    assert_ok(udpai_acl_new(&self->acl, &options));
    ASK(self, op, PUBLISH, CDS, "a/b",
        "op may not publish 'a/b' of type "
        "envoy.config.cluster.v3.Cluster: no rule of the section "
        "'acl' is for this peer");
}

static void
ask_for(const fixture *self, const char *authority, const char *expected)
{
    expect(self, &(udpai_acl_subject){.identity = self->bank},
           &(udpai_acl_question){.action = UDPAI_ACL_PUBLISH,
                                 .type_url = EDS,
                                 .name = UDPAI_STR("bank.acme/a"),
                                 .authority = udpai_str_from(authority)},
           expected);
}

static void
nobody_speaks_for_another_but_by_a_rule(void **state)
{
    fixture *self = *state;
    ask_for(self, "", "endpoints of the bank");
    ask_for(self, "spiffe://acme/bank/teller", "endpoints of the bank");
    ask_for(self, "bank", "endpoints of the bank");
    ask_for(self, "old-bank", "endpoints of the bank");
    ask_for(
        self, "mallory",
        "rule 'endpoints of the bank' does not let it publish on behalf of authority 'mallory'");
}

static void
a_wildcard_is_asked_for_where_anything_of_it_may_be_seen(void **state)
{
    fixture *self = *state;
    udpai_acl_question question = {UDPAI_ACL_SUBSCRIBE, CDS, UDPAI_STR("org.acme"), true, {0}};
    const udpai_acl_subject shop = {.identity = self->shop};
    expect(self, &shop, &question, "may not subscribe to what is below 'org.acme'");
    question.name = UDPAI_STR("common.acme");
    expect(self, &shop, &question, "shops");
    question.name = UDPAI_STR("");
    expect(self, &shop, &question, "shops");
    question.is_wildcard = false;
    question.name = UDPAI_STR("common.acme/y");
    expect(self, &shop, &question, "is for other namespaces");
}

/* ---- who somebody is ---- */

static void
ask_as(const fixture *self, const udpai_acl_subject *subject, const char *expected)
{
    const udpai_acl_question question = {
        UDPAI_ACL_PUBLISH, CDS, UDPAI_STR("shop.acme/a"), false, {0}};
    expect(self, subject, &question, expected);
}

static void
what_a_node_says_counts_only_where_nobody_can_prove_anything(void **state)
{
    fixture *self = *state;
    const udpai_acl_subject claims = {.node_id = UDPAI_STR("shop-7")};
    ask_as(self, &claims, "a peer without a name may not publish");
    make(self, &(udpai_acl_options){.trusts_node_ids = true});
    ask_as(self, &claims, "shops");
    ask_as(self, &(udpai_acl_subject){self->op, UDPAI_STR("shop-7"), {0}}, "op may not publish");
}

static void
a_source_is_known_by_the_name_that_it_is_configured_with(void **state)
{
    fixture *self = *state;
    ask_as(self, &(udpai_acl_subject){.known_as = UDPAI_STR("shop-source")}, "shops");
    ask_as(self, &(udpai_acl_subject){.known_as = UDPAI_STR("core")}, "core may not publish");
}

static void
a_node_id_is_bound_where_that_is_asked_for(void **state)
{
    fixture *self = *state;
    udpai_acl_subject subject = {.identity = self->shop, .node_id = UDPAI_STR("other")};
    assert_ok(udpai_acl_check_node_id(self->acl, &subject, NULL));
    make(self, &(udpai_acl_options){.binds_node_id = true});
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_acl_check_node_id(self->acl, &subject, &error), UDPA_ERR_DENIED);
    assert_non_null(strstr(udpa_error_message(error), "'other', is none of the names"));
    subject.node_id = UDPAI_STR("shop-1");
    assert_ok(udpai_acl_check_node_id(self->acl, &subject, NULL));
    subject = (udpai_acl_subject){.node_id = UDPAI_STR("other")}; /* who shows no certificate */
    assert_ok(udpai_acl_check_node_id(self->acl, &subject, NULL));
}

/* ---- views ---- */

static void
expect_shown(const fixture *self, udpai_identity *who, udpai_str type, const char *name, bool shown)
{
    udpai_acl_view view;
    assert_ok(udpai_acl_view_of(self->acl, &(udpai_acl_subject){.identity = who}, &view));
    if (udpai_acl_view_shows(self->acl, view.rules.items, view.rules.n, type,
                             udpai_str_from(name)) != shown)
        fail_msg("%s", name);
    udpai_vector_done(&view.rules);
}

static void
a_view_shows_what_its_rules_do(void **state)
{
    fixture *self = *state;
    expect_shown(self, self->shop, CDS, "shop.acme/a", true);
    expect_shown(self, self->shop, CDS, "public/a", true);
    expect_shown(self, self->shop, CDS, "bank.acme/a", false);
    expect_shown(self, self->shop, CDS, "common.acme/y", false);
    expect_shown(self, self->shop, CDS, "deep.acme/a/b", true);
    expect_shown(self, self->shop, CDS, "deep.acme/a/b/c", true);
    expect_shown(self, self->shop, CDS, "deep.acme/a", false); /* what the prefix lies below */
    expect_shown(self, self->bank, EDS, "bank.acme/a", false); /* it may publish it */
    expect_shown(self, self->op, CDS, "udpa.node/n/node", true);
    expect_shown(self, self->shop, CDS, "udpa.node/n/node", false);
    expect_shown(self, NULL, CDS, "public/a", true);
    expect_shown(self, NULL, CDS, "shop.acme/a", false);
}

static void
too_many_rules_are_refused(void **state)
{
    (void)state;
    udpai_acl *acl = NULL;
    const udpai_acl_options options = {.rules = rules, .n_rules = UDPAI_ACL_RULES_MAX + 1};
    assert_int_equal(udpai_acl_new(&acl, &options), UDPA_ERR_LIMIT);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_rule_allows_what_it_names),
        CASE(a_rule_for_all_is_known),
        CASE(nothing_else_is_allowed_and_the_nearest_rule_is_named),
        CASE(where_no_rule_is_for_everybody_it_is_said_that_none_is),
        CASE(nobody_speaks_for_another_but_by_a_rule),
        CASE(a_wildcard_is_asked_for_where_anything_of_it_may_be_seen),
        CASE(what_a_node_says_counts_only_where_nobody_can_prove_anything),
        CASE(a_source_is_known_by_the_name_that_it_is_configured_with),
        CASE(a_node_id_is_bound_where_that_is_asked_for),
        CASE(a_view_shows_what_its_rules_do),
        CASE(too_many_rules_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
