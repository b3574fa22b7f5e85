/* SPDX-License-Identifier: Apache-2.0 */
/* What resources look like on the wire: for peers that know our extensions, and for those that know
 * the public protocol alone. That no field of ours reaches the latter is checked for every message
 * that any test of this folder reads (session_test.c). */
#include "one_peer.h"

#include "model/secret_type.h"

#include "udpa/service/discovery/v1/discovery.pb-c.h"

typedef Udpa__Service__Discovery__V1__UdpaMessage udpa_message;

/* With all that there is to say of it. */
static udpa_resource *
full_resource(const char *name, const char *version)
{
    return RESOURCE(name, .type = TEST_CDS, .value = version, .version = version,
                    .authority = "acme", .generation = 12, .is_signed = true, .do_not_cache = true,
                    .hops = {{"n1", "acme"}, {"n2", "n1"}}, .aliases = {"com.acme/alias"});
}

static udpa_message *
take_message(void)
{
    udpa_bytes *bytes = peer_take_raw(&peer);
    udpa_message *message = udpa__service__discovery__v1__udpa_message__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(message);
    udpa_bytes_unref(bytes);
    return message;
}

/* ---- with our extensions ---- */

static void
an_extended_peer_is_told_everything(void **state)
{
    (void)state;
    session_set(&hub, UDPAI_CHANGE_SET, full_resource("com.acme/a", "1"), NULL);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "com.acme", "''");
    udpa_message *message = take_message();
    const Udpa__Service__Discovery__V1__DeltaPublish *delta = message->publish->delta;
    assert_string_equal(delta->type_url, TEST_CDS);
    assert_int_equal(delta->n_resources, 1);
    const Udpa__Service__Discovery__V1__Resource *resource = delta->resources[0];
    assert_string_equal(resource->origin_info->authority, "acme");
    assert_int_equal(resource->origin_info->generation, 12);
    assert_string_equal(resource->origin_info->signature->key_id, "key");
    assert_int_equal(resource->n_aliases, 1);
    assert_string_equal(resource->aliases[0], "com.acme/alias");
    assert_int_equal(resource->n_hops, 2);
    assert_string_equal(resource->hops[1]->node_id, "n2");
    assert_string_equal(resource->hops[1]->authority, "n1");
    assert_true(resource->do_not_cache);
    udpa__service__discovery__v1__udpa_message__free_unpacked(message, NULL);
    peer_expect(&peer, "publish{C@com.acme !}");
    peer_close(&peer);
}

/* The payload of the only resource of the next message, which the caller frees. */
static udpa_message *
take_payload(const Udpa__Service__Discovery__V1__Resource **ret_resource)
{
    udpa_message *message = take_message();
    assert_int_equal(message->publish->delta->n_resources, 1);
    *ret_resource = message->publish->delta->resources[0];
    return message;
}

/* Of one type it is a secret, of the other by configuration; neither has a ttl for a reader, for
 * with one an empty payload would be a refresh. */
static void
a_reader_is_sent_no_secrets(void **state)
{
    (void)state;
    const udpai_str further = UDPAI_STR("x/acme.Password");

    static const struct {
        const char *type;
        bool is_secret;
    } types[] = {
        {UDPAI_TYPE_SECRET, true}, {"type.googleapis.com/acme.Password", true}, {TEST_CDS, false}};

    assert_ok(udpai_secret_types_set(&further, 1));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        session_set(&hub, UDPAI_CHANGE_SET,
                    RESOURCE("com.acme/a", .type = types[i].type, .value = "word", .version = "v1",
                             .ttl_ms = 5000, .hops = {{"n1", "acme"}}),
                    NULL);
    peer_open(&peer, &hub, PEER_READER);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++) {
        const Udpa__Service__Discovery__V1__Resource *sent;
        peer_send(&peer, W_MESSAGE(1, W_TEXT(1, types[i].type), W_TEXT(2, "com.acme/a")));
        udpa_message *message = take_payload(&sent);
        assert_string_equal(sent->name, "com.acme/a");
        assert_string_equal(sent->version, "v1");
        assert_string_equal(sent->resource->type_url, types[i].type);
        assert_int_equal(sent->resource->value.len == 0, types[i].is_secret);
        assert_int_equal(sent->ttl == NULL, types[i].is_secret);
        udpa__service__discovery__v1__udpa_message__free_unpacked(message, NULL);
        udpa_bytes_unref(peer_take_raw(&peer)); /* complete */
    }
    assert_ok(udpai_secret_types_set(NULL, 0));
}

static void
an_alias_answers_with_its_resource(void **state)
{
    (void)state;
    session_set(&hub, UDPAI_CHANGE_SET, full_resource("com.acme/a", "1"), NULL);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "", "com.acme/alias com.acme/none");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C -com.acme/none ?} publish{C !}");
    session_change(&hub, "-C:com.acme/a");
    peer_expect(&peer, "publish{C -com.acme/alias ?}"); /* as it was asked */
    peer_close(&peer);
}

static void
a_refresh_goes_as_one(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1%5000");
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1%5000 ?} publish{C !}");
    session_change(&hub, "~C:com.acme/a=1%6000");
    peer_expect(&peer, "publish{C ~com.acme/a=1%6000 ?}");
    session_change(&hub, "~C:com.acme/a=1%7000 +C:com.acme/b=1");
    fake_hub_advance(&hub, 500); /* what is left, when it goes out */
    peer_expect(&peer, "publish{C ~com.acme/a=1%6500 C:com.acme/b=1 ?}");
    peer_close(&peer);
}

static void
what_is_lazy_comes_by_name(void **state)
{
    (void)state;
    session_set(
        &hub, UDPAI_CHANGE_SET,
        RESOURCE("com.acme/a", .type = TEST_CDS, .value = "1", .version = "1", .lazy = true), NULL);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    peer_subscribe(&peer, "C", "", "com.acme/a");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    peer_close(&peer);
}

/* ---- the public protocol alone ---- */

/* It would take it for a resource of another type, which it has not asked for. */
static void
a_public_peer_is_sent_no_redirects(void **state)
{
    (void)state;
    session_set(&hub, UDPAI_CHANGE_SET,
                RESOURCE("com.acme/a", .type = UDPAI_TYPE_LOCATOR, .value = "q", .version = "1",
                         .redirected_type = TEST_CDS),
                NULL);
    session_change(&hub, "+C:com.acme/b=1");
    peer_open(&peer, &hub, PEER_PAPER);
    peer_subscribe(&peer, "C", "com.acme", "''");
    peer_expect(&peer, "publish{ C:com.acme/b=1 ?}");
    peer_close(&peer);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "com.acme", "''");
    udpa_message *message = take_message();
    assert_int_equal(message->publish->delta->n_resources, 2);
    assert_string_equal(message->publish->delta->resources[0]->redirected_type, TEST_CDS);
    udpa__service__discovery__v1__udpa_message__free_unpacked(message, NULL);
    peer_expect(&peer, "publish{C@com.acme !}");
    peer_close(&peer);
}

static void
a_public_peer_gets_no_complete_and_no_scope(void **state)
{
    (void)state;
    session_set(&hub, UDPAI_CHANGE_SET, full_resource("com.acme/a", "1"), NULL);
    peer_open(&peer, &hub, PEER_PAPER);
    peer_subscribe(&peer, "C", "com.acme", "''");
    peer_expect(&peer, "publish{ C:com.acme/a=1 ?}");
    peer_subscribe(&peer, "C", "com.acme", "com.acme/gone");
    peer_expect(&peer, "publish{ -com.acme/gone ?}");
    peer_close(&peer);
}

static void
a_public_peer_gets_no_subscription_error(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_PAPER);
    peer_subscribe(&peer, "C", "com.acme", "no-slash org.other/x");
    peer_subscribe(&peer, "", "", "''");
    peer_expect(&peer, "");
    assert_false(peer.stream.is_finished);
    peer_close(&peer);
}

static void
a_public_peer_gets_refreshes_of_a_ttl_only(void **state)
{
    (void)state;
    session_set(&hub, UDPAI_CHANGE_SET, full_resource("com.acme/a", "1"), NULL);
    session_change(&hub, "+C:com.acme/b=1%5000");
    peer_open(&peer, &hub, PEER_PAPER);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{ C:com.acme/a=1 C:com.acme/b=1%5000 ?}");
    session_set(&hub, UDPAI_CHANGE_REFRESH, full_resource("com.acme/a", "1"), NULL);
    peer_expect(&peer, ""); /* another way, which it knows nothing of */
    session_change(&hub, "~C:com.acme/b=1%9000");
    peer_expect(&peer, "publish{ ~C:com.acme/b=1%9000 ?}");
    peer_close(&peer);
}

static void
a_public_management_node_gets_no_extension_either(void **state)
{
    (void)state;
    session_set(&hub, UDPAI_CHANGE_SET, full_resource("com.acme/a", "1"), NULL);
    peer_open_silent(&peer, &hub, PEER_PAPER, NULL);
    peer_expect(&peer, "node{node}");
    udpai_str node = W_JOIN(W_TEXT(1, "m"), W_TEXT(10, UDPAI_FEATURE_NODE)),
              any = W_JOIN(W_TEXT(1, UDPAI_TYPE_NODE), wire_bytes(2, node)),
              message = W_MESSAGE(3, W_MESSAGE(2, W_MESSAGE(1, wire_bytes(3, any))));
    fake_stream_receive(&peer.stream, message.data, message.len);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{ C:com.acme/a=1}");
    peer_close(&peer);
}

static void
what_we_ask_a_public_peer_is_public(void **state)
{
    (void)state;
    peer_open_dialled(&peer, &hub, PEER_PAPER, true);
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "com.acme", "''");
    peer_expect(&peer, "subscribe{C@com.acme ''}");
    peer_publish(&peer, "", "n", "C:com.acme/a=1 ?");
    session_judge(&peer, "0");
    peer_expect(&peer, "receipt{n}");
    peer_close(&peer);
}

/* ---- namesakes ---- */

/* A removal has no type there: what else has the name is said again behind it, in the same publish.
 */
static void
namesakes_are_sent_again_behind_a_removal(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +E:com.acme/a=2 +L:com.acme/a=3 +C:com.acme/b=4");
    peer_open(&peer, &hub, PEER_PAPER);
    peer_subscribe(&peer, "C", "", "''");
    peer_subscribe(&peer, "E", "", "''");
    peer_subscribe(&peer, "L", "", "com.acme/a");
    peer_expect(&peer, "publish{ C:com.acme/a=1 C:com.acme/b=4 ?} publish{ E:com.acme/a=2 ?} "
                       "publish{ L:com.acme/a=3 ?}");
    session_change(&hub, "-C:com.acme/a");
    peer_expect(&peer, "publish{ E:com.acme/a=2 L:com.acme/a=3 -com.acme/a ?}");
    session_change(&hub, "-C:com.acme/b");
    peer_expect(&peer, "publish{ -com.acme/b ?}");
    peer_close(&peer);
}

static void
namesakes_that_go_together_are_not_sent_again(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +E:com.acme/a=2");
    peer_open(&peer, &hub, PEER_PAPER);
    peer_subscribe(&peer, "C", "", "''");
    peer_subscribe(&peer, "E", "", "''");
    peer_expect(&peer, "publish{ C:com.acme/a=1 ?} publish{ E:com.acme/a=2 ?}");
    session_change(&hub, "-C:com.acme/a -E:com.acme/a");
    peer_expect(&peer, "publish{ -com.acme/a ?} publish{ -com.acme/a ?}");
    peer_close(&peer);
}

/* Two who see the same clusters, but not the same else: neither is sent what is the other's. */
static void
namesakes_are_of_the_one_who_is_sent_them(void **state)
{
    (void)state;
    test_peer poor;
    session_change(&hub, "+C:com.acme/a=1 +E:com.acme/a=2 +C:com.acme/b=1 +E:com.acme/b=2");
    peer_open(&peer, &hub, PEER_PAPER);
    peer_open(&poor, &hub, PEER_PAPER);
    peer_subscribe(&peer, "C", "", "''");
    peer_subscribe(&peer, "E", "", "''");
    peer_subscribe(&poor, "C", "", "''");
    peer_expect(&peer, "publish{ C:com.acme/a=1 C:com.acme/b=1 ?} "
                       "publish{ E:com.acme/a=2 E:com.acme/b=2 ?}");
    peer_expect(&poor, "publish{ C:com.acme/a=1 C:com.acme/b=1 ?}");
    session_change(&hub, "-C:com.acme/a");
    peer_expect(&peer, "publish{ E:com.acme/a=2 -com.acme/a ?}");
    peer_expect(&poor, "publish{ -com.acme/a ?}");
    session_change(&hub, "-C:com.acme/b");
    udpai_hub_run(hub.hub); /* the other one first */
    peer_expect(&poor, "publish{ -com.acme/b ?}");
    peer_expect(&peer, "publish{ E:com.acme/b=2 -com.acme/b ?}");
    peer_close(&poor);
    peer_close(&peer);
}

/* ---- shared ---- */

static void
peers_of_one_form_share_the_bytes(void **state)
{
    (void)state;
    test_peer other;
    session_change(&hub, "+C:com.acme/a=1");
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_open(&other, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "", "''");
    peer_subscribe(&other, "C", "", "''");
    udpa_bytes *a = peer_take_raw(&peer), *b = peer_take_raw(&other);
    assert_int_equal(udpa_bytes_size(a), udpa_bytes_size(b));
    assert_memory_equal(udpa_bytes_data(a), udpa_bytes_data(b), udpa_bytes_size(a));
    udpa_bytes_unref(a);
    udpa_bytes_unref(b);
    peer_expect(&peer, "publish{C !}");
    peer_expect(&other, "publish{C !}");
    session_change(&hub, "+C:com.acme/a=2");
    peer_expect_one(&peer, "publish{C C:com.acme/a=2 ?}");
    assert_true(other.stream.is_writing); /* the same run served both */
    peer_expect(&other, "publish{C C:com.acme/a=2 ?}");
    peer_expect(&peer, "");
    peer_close(&other);
    peer_close(&peer);
}

/* ---- removals that were said ---- */

static void
a_removal_goes_with_what_was_said_of_it(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_NODE);
    session_change(&hub, "+T:com.acme/a=1 +T:com.acme/b=1");
    peer_subscribe(&peer, "T", "com.acme", "''");
    peer_expect(&peer, "publish{T T:com.acme/a=1 T:com.acme/b=1} publish{T@com.acme !}");
    session_end(&hub, "T:com.acme/a", 8, NULL);
    peer_expect(&peer, "publish{T -com.acme/a!8}");
    session_change(&hub, "-T:com.acme/b");
    peer_expect(&peer, "publish{T -com.acme/b}");
    session_change(&hub, "+T:com.acme/a=2");
    peer_expect(&peer, "publish{T T:com.acme/a=2}");
    session_change(&hub, "-T:com.acme/a"); /* that was of what it was before */
    peer_expect(&peer, "publish{T -com.acme/a}");
    peer_close(&peer);
}

/* It was not offered what came from it, and may have it from elsewhere, too. */
static void
who_it_came_from_is_told_what_another_has_said(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_NODE);
    peer_subscribe(&peer, "T", "com.acme", "''");
    peer_expect(&peer, "publish{T@com.acme !}");
    session_set(&hub, UDPAI_CHANGE_SET, RESOURCE("com.acme/a", .value = "1", .version = "1"),
                "peer");
    session_set(&hub, UDPAI_CHANGE_SET, RESOURCE("com.acme/b", .value = "1", .version = "1"),
                "peer");
    peer_expect(&peer, "");
    session_end(&hub, "T:com.acme/a", 8, "another");
    peer_expect(&peer, "publish{T -com.acme/a!8}");
    session_end(&hub, "T:com.acme/b", 9, "peer");
    peer_expect(&peer, "");
    peer_close(&peer);
}

static void
who_comes_back_is_told_what_was_said(void **state)
{
    (void)state;
    session_settle_except(&hub, "com.acme", false);
    session_end(&hub, "T:com.acme/gone", 8, NULL);
    peer_open(&peer, &hub, PEER_NODE);
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, TEST_TYPE), W_TEXT(2, ""),
                               W_MESSAGE(3, W_TEXT(1, "com.acme/gone"), W_TEXT(2, "1")),
                               W_MESSAGE(3, W_TEXT(1, "com.acme/unknown"), W_TEXT(2, "1"))));
    peer_expect(&peer, "publish{T -com.acme/gone!8}");
    session_settle(&hub);
    peer_expect(&peer, "publish{T -com.acme/unknown} publish{T !}");
    peer_close(&peer);
}

/* What it has by this one is all that it says, and it may have more by others. */
static void
a_node_that_comes_is_told_all_that_was_said(void **state)
{
    (void)state;
    session_end(&hub, "T:com.acme/gone", 8, NULL);
    session_end(&hub, "T:org/gone", 8, NULL);
    session_end(&hub, "T:com.acme/back", 8, NULL);
    session_change(&hub, "+T:com.acme/back=2");
    peer_open(&peer, &hub, PEER_NODE);
    peer_subscribe(&peer, "T", "com.acme", "''");
    peer_expect(&peer, "publish{T T:com.acme/back=2} publish{T -com.acme/gone!8} "
                       "publish{T@com.acme !}");
    peer_close(&peer);
    peer_open(&peer, &hub, PEER_ENDPOINT); /* which has nothing but what it was sent */
    peer_subscribe(&peer, "T", "com.acme", "''");
    peer_expect(&peer, "publish{T T:com.acme/back=2 ?} publish{T@com.acme !}");
    peer_close(&peer);
}

/* Another authority's takes its place; others may have the first one's from elsewhere. */
static void
it_goes_with_what_takes_its_place(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_NODE);
    session_change(&hub, "+T:com.acme/a=1");
    peer_subscribe(&peer, "T", "com.acme", "''");
    peer_expect(&peer, "publish{T T:com.acme/a=1} publish{T@com.acme !}");
    session_end(&hub, "T:com.acme/a=1", 8, NULL);
    peer_expect(&peer, "publish{T T:com.acme/a=1 -com.acme/a!8}");
    peer_close(&peer);
}

static void
it_is_an_hour_that_it_is_remembered(void **state)
{
    (void)state;
    session_end(&hub, "T:com.acme/gone", 8, NULL);
    fake_hub_advance(&hub, 3600 * 1000);
    session_end(&hub, "T:com.acme/other", 8, NULL);
    peer_open(&peer, &hub, PEER_NODE);
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, TEST_TYPE), W_TEXT(2, ""),
                               W_MESSAGE(3, W_TEXT(1, "com.acme/gone"), W_TEXT(2, "1"))));
    peer_expect(&peer, "publish{T -com.acme/other!8 -com.acme/gone} publish{T !}");
    peer_close(&peer);
}

static void
the_public_protocol_has_no_generations(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_PAPER);
    session_change(&hub, "+T:com.acme/a=1");
    peer_subscribe(&peer, "T", "", "''");
    peer_expect(&peer, "publish{ T:com.acme/a=1 ?}");
    session_end(&hub, "T:com.acme/a=1", 8, NULL);
    peer_expect(&peer, ""); /* it is the same */
    session_end(&hub, "T:com.acme/a", 8, NULL);
    peer_expect(&peer, "publish{ -com.acme/a ?}");
    peer_close(&peer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_removal_goes_with_what_was_said_of_it, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(who_it_came_from_is_told_what_another_has_said, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(who_comes_back_is_told_what_was_said, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_node_that_comes_is_told_all_that_was_said, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(it_goes_with_what_takes_its_place, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(it_is_an_hour_that_it_is_remembered, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(the_public_protocol_has_no_generations, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(an_extended_peer_is_told_everything, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(an_alias_answers_with_its_resource, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_reader_is_sent_no_secrets, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_refresh_goes_as_one, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(what_is_lazy_comes_by_name, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_public_peer_is_sent_no_redirects, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_public_peer_gets_no_complete_and_no_scope, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_public_peer_gets_no_subscription_error, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_public_peer_gets_refreshes_of_a_ttl_only, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_public_management_node_gets_no_extension_either,
                                        begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(what_we_ask_a_public_peer_is_public, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(namesakes_are_sent_again_behind_a_removal, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(namesakes_that_go_together_are_not_sent_again, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(namesakes_are_of_the_one_who_is_sent_them, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(peers_of_one_form_share_the_bytes, begin_alone, end_anyhow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
