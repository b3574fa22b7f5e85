/* SPDX-License-Identifier: Apache-2.0 */
/* What an xDS client is shown and told, as the ACL says. */
#include "model/acl.h"
#include "xds_test.h"

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

typedef struct fixture {
    xds_world world;
    xds_client client;
} fixture;

static int
setup_with(void **state, bool binds_node_id)
{
    static const udpai_str shops[] = {T("shop-*")}, of_shops[] = {T("local/shop")},
                           everybody[] = {T("*")}, of_all[] = {T("local/all"), T("com.acme")};
    static const udpai_acl_rule rules[] = {
        {T("shops"), shops, 1, UDPAI_ACL_SUBSCRIBE, NULL, 0, of_shops, 1, NULL, 0},
        {T("everybody"), everybody, 1, UDPAI_ACL_SUBSCRIBE, NULL, 0, of_all, 2, NULL, 0},
    };
    const udpai_acl_options acl = {.rules = rules,
                                   .n_rules = UDPAI_ARRAY_LEN(rules),
                                   .trusts_node_ids = !binds_node_id,
                                   .binds_node_id = binds_node_id};
    fixture *self = calloc(1, sizeof(*self));
    udpai_hub_options options = fake_hub_options();
    assert_ok(udpai_acl_new(&options.acl, &acl));
    xds_world_init_with(&self->world, &options);
    udpai_acl_unref(options.acl);
    xds_settle(&self->world);
    xds_change(&self->world, "+CDS/local/shop/a=1!shop/a +CDS/local/all/b=1!all/b "
                             "+CDS/local/bank/c=1!bank/c");
    *state = self;
    return 0;
}

static int
setup(void **state)
{
    return setup_with(state, false);
}

static int
setup_bound(void **state)
{
    return setup_with(state, true);
}

static int
teardown(void **state)
{
    fixture *self = *state;
    xds_client_close(&self->client);
    xds_world_done(&self->world);
    free(self);
    return 0;
}

static void
ask_as(fixture *self, bool is_delta, const char *node_id, const char *names)
{
    xds_client_close(&self->client);
    xds_client_open(&self->client, &self->world, is_delta);
    XDS_SEND(&self->client, "CDS", .names = names, .node_id = node_id);
}

static void
a_wildcard_holds_what_may_be_seen(void **state)
{
    fixture *self = *state;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        ask_as(self, is_delta, "shop-1", "");
        xds_expect(&self->client, "CDS[all/b shop/a]");
        ask_as(self, is_delta, "bank-1", "");
        xds_expect(&self->client, "CDS[all/b]");
    }
}

static void
what_changes_is_told_to_those_who_may_see_it(void **state)
{
    fixture *self = *state;
    ask_as(self, true, "bank-1", "");
    xds_expect(&self->client, "CDS[all/b]");
    xds_ack_all(&self->client);
    xds_change(&self->world, "+CDS/local/shop/a=2!shop/a +CDS/local/bank/c=2!bank/c");
    xds_expect(&self->client, "");
    assert_int_equal(self->client.stream.session->n_denied, 0);
}

static void
a_name_that_is_not_for_it_is_told_to_be_missing(void **state)
{
    fixture *self = *state;
    ask_as(self, true, "bank-1", "bank/c all/b");
    xds_expect(&self->client, "CDS[-bank/c] CDS[all/b]");
    assert_int_equal(self->client.stream.session->n_denied, 1);
}

static void
a_wildcard_of_nothing_is_counted(void **state)
{
    fixture *self = *state;
    self->world.audience.default_namespace = UDPAI_STR("org.other");
    self->world.audience.n_namespaces = 0;
    ask_as(self, true, "bank-1", "");
    xds_expect(&self->client, "CDS[]");
    assert_int_equal(self->client.stream.session->n_denied, 1);
}

/* Everybody sees local/bank and nothing else. */
static void
open_the_bank(fixture *self)
{
    static const udpai_str everybody[] = {T("*")}, banks[] = {T("local/bank")};
    const udpai_acl_rule rule = {T("banks"), everybody, 1, UDPAI_ACL_SUBSCRIBE, NULL, 0, banks,
                                 1,          NULL,      0};
    const udpai_acl_options options = {.rules = &rule, .n_rules = 1, .trusts_node_ids = true};
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_ok(udpai_acl_new(&order->acl, &options));
    udpai_hub_order(self->world.hub.hub, order);
}

static void
other_rules_hold_at_once(void **state)
{
    fixture *self = *state;
    ask_as(self, false, "shop-1", "");
    xds_expect(&self->client, "CDS[all/b shop/a]");
    xds_ack_all(&self->client);
    open_the_bank(self);
    xds_expect(&self->client, "CDS[bank/c]");
}

/* In delta nobody says twice what he wants. */
static void
a_name_comes_when_other_rules_let_it(void **state)
{
    fixture *self = *state;
    ask_as(self, true, "bank-1", "bank/c shop/a bank/d");
    xds_expect(&self->client, "CDS[-bank/c -bank/d -shop/a]");
    xds_ack_all(&self->client);
    XDS_SEND(&self->client, "CDS", .unsubscribed = "bank/d");
    open_the_bank(self);
    xds_expect(&self->client, "CDS[bank/c]");
    xds_ack_all(&self->client);
    xds_change(&self->world, "+CDS/local/bank/c=2!bank/c +CDS/local/bank/d=1!bank/d");
    xds_expect(&self->client, "CDS[bank/c]");
}

static void
a_name_comes_into_the_state_when_other_rules_let_it(void **state)
{
    fixture *self = *state;
    ask_as(self, false, "bank-1", "bank/c all/b");
    xds_expect(&self->client, "CDS[all/b]");
    xds_ack_all(&self->client);
    open_the_bank(self);
    xds_expect(&self->client, "CDS[bank/c]");
}

/* ---- a Node that changes in mid-stream ---- */

static void
who_becomes_another_is_shown_what_that_one_is(void **state)
{
    fixture *self = *state;
    self->world.audience.name = UDPAI_STR("everybody");
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        ask_as(self, is_delta, "shop-1", "");
        xds_expect(&self->client, "CDS[all/b shop/a]");
        xds_ack_all(&self->client);
        XDS_SEND(&self->client, "CDS", .node_id = "bank-1", .says_node = true);
        xds_expect(&self->client, is_delta ? "CDS[-shop/a]" : "CDS[all/b]");
        xds_ack_all(&self->client);
        XDS_SEND(&self->client, "CDS", .node_id = "shop-2", .says_node = true);
        xds_expect(&self->client, is_delta ? "CDS[shop/a]" : "CDS[all/b shop/a]");
    }
}

static void
who_becomes_another_has_the_names_of_that_one(void **state)
{
    fixture *self = *state;
    self->world.audience.name = UDPAI_STR("everybody");
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        ask_as(self, is_delta, "bank-1", "shop/a all/b");
        xds_expect(&self->client, is_delta ? "CDS[-shop/a] CDS[all/b]" : "CDS[all/b]");
        xds_ack_all(&self->client);
        XDS_SEND(&self->client, "CDS", .names = is_delta ? NULL : "shop/a all/b",
                 .node_id = "shop-1", .says_node = true);
        xds_expect(&self->client, is_delta ? "CDS[shop/a]" : "CDS[all/b shop/a]");
    }
}

/* Where there is one audience for all, a stream is that of its first Node: no later one is read. */
static void
without_audiences_it_stays_what_it_was(void **state)
{
    fixture *self = *state;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        ask_as(self, is_delta, "bank-1", "");
        xds_expect(&self->client, "CDS[all/b]");
        xds_ack_all(&self->client);
        XDS_SEND(&self->client, "CDS", .node_id = "shop-1", .says_node = true);
        xds_expect(&self->client, "");
    }
}

static void
open_with_certificate(fixture *self, bool is_delta, udpai_identity *identity)
{
    xds_client_close(&self->client);
    xds_client_open(&self->client, &self->world, is_delta);
    udpai_stream_info info = self->client.stream.session->info;
    info.identity = identity;
    info.address = NULL;
    fake_stream_close(&self->client.stream);
    fake_stream_open(&self->client.stream, &self->world.hub, udpai_xds_session_new, &info);
}

static void
send_node(fixture *self, const char *node_id)
{
    XDS_SEND(&self->client, "CDS", .node_id = node_id, .says_node = true);
}

/* The id is checked whenever it is another, not in the beginning alone. */
static void
who_becomes_one_that_is_not_in_its_certificate_is_ended(void **state)
{
    fixture *self = *state;
    static const udpai_str uris[] = {T("shop-2")};
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    assert_ok(udpai_identity_new(&identity, &(udpai_identity_parts){
                                                .common_name = UDPAI_STR("shop-1"),
                                                .uris = uris,
                                                .n_uris = 1,
                                                .authenticated = true,
                                            }));
    self->world.audience.name = UDPAI_STR("everybody");
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        open_with_certificate(self, is_delta, identity);
        send_node(self, "shop-1");
        xds_expect(&self->client, "CDS[all/b shop/a]");
        xds_ack_all(&self->client);
        send_node(self, "shop-2"); /* another name of it */
        xds_expect(&self->client, "");
        send_node(self, "bank-1");
        xds_expect_end(&self->client, UDPA_ERR_DENIED,
                       "'bank-1', is none of the names in your certificate");
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_wildcard_holds_what_may_be_seen),
        CASE(what_changes_is_told_to_those_who_may_see_it),
        CASE(a_name_that_is_not_for_it_is_told_to_be_missing),
        CASE(a_wildcard_of_nothing_is_counted),
        CASE(other_rules_hold_at_once),
        CASE(a_name_comes_when_other_rules_let_it),
        CASE(a_name_comes_into_the_state_when_other_rules_let_it),
        CASE(who_becomes_another_has_the_names_of_that_one),
        CASE(without_audiences_it_stays_what_it_was),
        CASE(who_becomes_another_is_shown_what_that_one_is),
        cmocka_unit_test_setup_teardown(who_becomes_one_that_is_not_in_its_certificate_is_ended,
                                        setup_bound, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
