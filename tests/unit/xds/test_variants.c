/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic parameters (TP2): locators, which variant they lead to, and how it is told. */
#include <stdio.h>

#include "model/variant.h"
#include "xds_test.h"

#define PROD "+EDS/a.prod^local/a!a<env~prod=p"
#define TEST "+EDS/a.test^local/a!a<env~test=t"

/* ---- delta ---- */

static void
test_a_locator_is_answered_by_the_variant_with_its_constraints(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, PROD " " TEST " +EDS/b=1");
    xds_subscribe(&one->client, "EDS", "a<env~prod,zone~x b<env~prod c<env~prod");
    xds_expect(&one->client, "EDS[a<env~prod b] EDS[-c]");
    xds_change(&one->world, "+EDS/a.prod^local/a!a<env~prod=2 +EDS/a.test^local/a!a<env~test=2");
    xds_expect(&one->client, "EDS[a<env~prod]");
    xds_change(&one->world, "-EDS/a.prod");
    xds_ack_all(&one->client);
    xds_expect(&one->client, "EDS[-a<env~prod]");
}

static void
test_two_locators_of_one_name_are_two_subscriptions(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, PROD " " TEST);
    xds_subscribe(&one->client, "EDS", "a<env~prod a<env~test a<env~qa");
    xds_expect(&one->client, "EDS[a<env~prod a<env~test] EDS[-a<env~qa]");
    xds_unsubscribe(&one->client, "EDS", "a<env~prod");
    xds_change(&one->world, "+EDS/a.prod^local/a!a<env~prod=2 +EDS/a.test^local/a!a<env~test=2");
    xds_expect(&one->client, "EDS[a<env~test]");
    xds_subscribe(&one->client, "EDS", "a<env~prod");
    xds_expect(&one->client, "EDS[a<env~prod]");
}

/* TP2: what goes and what takes its place are one response. */
static void
test_a_variant_is_replaced_in_one_response(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, PROD);
    xds_subscribe(&one->client, "EDS", "a<env~prod,version~1");
    xds_expect(&one->client, "EDS[a<env~prod]");
    xds_change(&one->world, "+EDS/v1^local/a!a<env~prod,version~1=1 "
                            "+EDS/v2^local/a!a<env~prod,version~2=2 -EDS/a.prod");
    xds_expect(&one->client, "EDS[a<env~prod,version~1 -a<env~prod]");
    xds_change(&one->world, "-EDS/v1 -EDS/v2 +EDS/a=0");
    xds_expect(&one->client, "EDS[a -a<env~prod,version~1]");
    xds_change(&one->world, PROD);
    xds_expect(&one->client, "EDS[a<env~prod -a]");
}

/* Who uses names alone may know nothing of variants, and reads the name. */
static void
test_a_name_is_a_locator_without_parameters(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, PROD " +EDS/a.old^local/a!a<-env=o");
    xds_subscribe(&one->client, "EDS", "a");
    xds_expect(&one->client, "EDS[a]");
    xds_change(&one->world, "+EDS/a.old^local/a!a<-env=2");
    xds_expect(&one->client, "EDS[a]");
    xds_change(&one->world, "-EDS/a.old");
    xds_ack_all(&one->client);
    xds_expect(&one->client, "EDS[-a]");
    xds_change(&one->world, "+EDS/a.old^local/a!a<-env=3");
    xds_expect(&one->client, "EDS[a]");
    xds_subscribe(&one->client, "EDS", "a<");
    xds_expect(&one->client, "EDS[a<-env -a]");
}

static void
test_a_wildcard_brings_no_variants(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, "+CDS/a.prod^local/a!a<env~prod# +CDS/b#");
    xds_subscribe(&one->client, "CDS", "*<env~prod");
    xds_expect(&one->client, "CDS[b]");
    xds_subscribe(&one->client, "CDS", "a<env~prod a.prod");
    xds_expect(&one->client, "CDS[a<env~prod] CDS[-a.prod]");
    xds_change(&one->world, "+CDS/a.test^local/a!a<env~test#");
    xds_expect(&one->client, "");
}

static void
test_names_of_the_form_xdstp_have_variants(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, "+EDS/com.acme/a.prod^com.acme/a!x<env~prod "
                            "+EDS/com.acme/a.test^com.acme/a!x<env~test");
#define A "xdstp://com.acme/envoy.config.endpoint.v3.ClusterLoadAssignment/a"
    xds_subscribe(&one->client, "EDS", A "<env~prod " A "<env~test " A "<env~qa");
    xds_expect(&one->client, "EDS[" A "<env~prod " A "<env~test] EDS[-" A "<env~qa]");
    xds_unsubscribe(&one->client, "EDS", A "<env~prod");
    xds_change(&one->world, "-EDS/com.acme/a.test -EDS/com.acme/a.prod");
    xds_ack_all(&one->client);
    xds_expect(&one->client, "EDS[-" A "<env~test]");
}

static void
test_what_is_held_is_not_sent_again(void **state)
{
    xds_one *one = *state;
    char hash[UDPAI_CONTENT_HASH_HEX + 1], held[64];
    xds_change(&one->world, PROD " " TEST);
    snprintf(held, sizeof(held), "a=%s", xds_hash(&PROD[1], hash));
    XDS_SEND(&one->client, "EDS", .names = "a<env~prod", .held = held);
    xds_expect(&one->client, "");
    xds_change(&one->world, "+EDS/a.prod^local/a!a<env~prod=2");
    xds_expect(&one->client, "EDS[a<env~prod]");
    xds_client_reopen(&one->client);
    XDS_SEND(&one->client, "EDS", .names = "a<env~test", .held = held); /* of another one */
    xds_expect(&one->client, "EDS[a<env~test]");
}

static void
test_a_ttl_is_renewed_by_constraints(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, PROD "%5000");
    xds_subscribe(&one->client, "EDS", "a<env~prod");
    xds_expect(&one->client, "EDS[a<env~prod%]");
    xds_change(&one->world, "~EDS/a.prod^local/a!a<env~prod=p%9000");
    xds_expect(&one->client, "EDS[~a<env~prod%]");
}

static void
test_locators_that_cannot_be_are_missing(void **state)
{
    xds_one *one = *state;
    char many[1024] = "a<";
    for (size_t i = 0; i <= UDPAI_PARAMETERS_MAX; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "%sk%zu~v", i ? "," : "", i);
    xds_change(&one->world, PROD);
    xds_subscribe(&one->client, "EDS", many);
    xds_expect(&one->client, "EDS[-a]");
    xds_subscribe(&one->client, "EDS", "<env~prod");
    xds_expect(&one->client, "EDS[-]");
    xds_unsubscribe(&one->client, "EDS", many);
    xds_unsubscribe(&one->client, "EDS", "a<env~prod");
    xds_expect(&one->client, "");
}

static void
test_one_name_is_asked_for_so_often(void **state)
{
    xds_one *one = *state;
    char text[32];
    for (size_t i = 0; i <= UDPAI_LOCATORS_MAX; i++) {
        assert_false(one->client.stream.is_finished);
        snprintf(text, sizeof(text), "a<k~%zu", i);
        xds_subscribe(&one->client, "EDS", text);
    }
    fake_stream_run(&one->client.stream, &one->world.hub);
    xds_expect_end(&one->client, UDPA_ERR_LIMIT, "sets of dynamic parameters");
    udpa_bytes *message;
    while ((message = fake_stream_take(&one->client.stream)))
        udpa_bytes_unref(message);
}

/* As many parameters as may be, said as constraints, are more than constraints may be. */
static void
test_long_locators_are_told_whole(void **state)
{
    xds_one *one = *state;
    char text[2 * UDPAI_PARAMETERS_BYTES_MAX] = "a<";
    for (size_t i = 0; i < UDPAI_PARAMETERS_MAX; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%sk%02zu~%058d", i ? "," : "",
                 i, 7);
    size_t len = strlen(text);
    text[len] = ' ';
    memcpy(text + len + 1, "a<env~prod", sizeof("a<env~prod"));
    xds_change(&one->world, PROD);
    XDS_SEND(&one->client, "EDS", .names = text, .nonce = "");
    fake_stream_run(&one->client.stream, &one->world.hub);
    assert_int_equal(one->client.stream.written.n, 2);
    assert_true(udpa_bytes_size(one->client.stream.written.items[1]) > UDPAI_PARAMETERS_BYTES_MAX);
    udpa_bytes_unref(fake_stream_take(&one->client.stream));
    udpa_bytes_unref(fake_stream_take(&one->client.stream));
}

/* Endpoints go out once more behind a changed cluster, whatever they were asked for with. */
static void
test_endpoints_of_a_changed_cluster_are_sent_again(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, "+CDS/a " PROD);
    xds_subscribe(&one->client, "CDS", "*");
    xds_subscribe(&one->client, "EDS", "a<env~prod");
    xds_expect(&one->client, "CDS[a] EDS[a<env~prod]");
    xds_change(&one->world, "+CDS/a=2");
    xds_expect(&one->client, "CDS[a] EDS[a<env~prod]");
}

/* ---- the state of the world ---- */

static void
test_in_the_state_of_the_world_variants_are_wrapped(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, PROD " " TEST " +EDS/b=1");
    xds_ask_for(&one->client, "EDS", "a<env~prod a<env~test b<env~x");
    xds_expect(&one->client, "EDS[a<env~prod= a<env~test= b]");
    xds_ack(&one->client, "EDS");
    xds_ask_for(&one->client, "EDS", "a<env~test b<env~x");
    xds_expect(&one->client, "");
    xds_change(&one->world, "+EDS/a.prod^local/a!a<env~prod=2 +EDS/a.test^local/a!a<env~test=2");
    xds_expect(&one->client, "EDS[a<env~test=]");
    xds_ask_for(&one->client, "EDS", "a<env~test a<env~prod b<env~x");
    xds_expect(&one->client, "EDS[a<env~prod=]");
}

static void
test_a_state_holds_all_variants(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, "+CDS/a.prod^local/a!a<env~prod# +CDS/a.test^local/a!a<env~test# "
                            "+CDS/b#");
    xds_ask_for(&one->client, "CDS", "a<env~prod a<env~test b<");
    xds_expect(&one->client, "CDS[a<env~prod= a<env~test= b]");
    xds_ack(&one->client, "CDS");
    xds_change(&one->world, "-CDS/a.test");
    xds_expect(&one->client, "CDS[a<env~prod= b]");
    xds_ack(&one->client, "CDS");
    xds_ask_for(&one->client, "CDS", "b<");
    xds_expect(&one->client, "");
    xds_ask_for(&one->client, "CDS", "*<env~prod");
    xds_expect(&one->client, "CDS[b]");
}

static void
test_a_plain_name_of_the_state_of_the_world_is_sent_as_ever(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, PROD " +EDS/a.old^local/a!a<-env=o");
    xds_ask_for(&one->client, "EDS", "a");
    xds_expect(&one->client, "EDS[a]");
}

#define delta_test(test)                                                                           \
    cmocka_unit_test_setup_teardown(test, xds_one_setup_delta, xds_one_teardown)
#define sotw_test(test) cmocka_unit_test_setup_teardown(test, xds_one_setup_sotw, xds_one_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        delta_test(test_a_locator_is_answered_by_the_variant_with_its_constraints),
        delta_test(test_two_locators_of_one_name_are_two_subscriptions),
        delta_test(test_a_variant_is_replaced_in_one_response),
        delta_test(test_a_name_is_a_locator_without_parameters),
        delta_test(test_a_wildcard_brings_no_variants),
        delta_test(test_names_of_the_form_xdstp_have_variants),
        delta_test(test_what_is_held_is_not_sent_again),
        delta_test(test_a_ttl_is_renewed_by_constraints),
        delta_test(test_locators_that_cannot_be_are_missing),
        delta_test(test_one_name_is_asked_for_so_often),
        delta_test(test_long_locators_are_told_whole),
        delta_test(test_endpoints_of_a_changed_cluster_are_sent_again),
        sotw_test(test_in_the_state_of_the_world_variants_are_wrapped),
        sotw_test(test_a_state_holds_all_variants),
        sotw_test(test_a_plain_name_of_the_state_of_the_world_is_sent_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
