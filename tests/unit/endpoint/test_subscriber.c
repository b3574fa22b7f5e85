/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribing: what is told, when it is complete, and answers that take their time. */
#include "pair.h"

static void
test_complete_without_anything(void **state)
{
    (void)state;
    test_pair pair;
    test_ear by_namespace = {0}, by_name = {0};
    pair_begin(&pair);
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    ear_open(&by_namespace, &pair, pair.client, NULL);
    ear_open(&by_name, &pair, pair.client, "com.acme/a");
    assert_int_equal(by_namespace.n_complete, 0);
    pair_run_until(&pair, &by_namespace.n_complete, 1);
    pair_run_until(&pair, &by_name.n_complete, 1);
    assert_int_equal(by_namespace.n_updates + by_name.n_updates, 0);
    pair_end(&pair);
}

static void
test_what_is_there_comes_first(void **state)
{
    (void)state;
    test_pair pair;
    test_ear first = {0}, second = {0}, alias = {0}, other = {0};
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    ear_open(&first, &pair, pair.client, NULL);
    publish_one(&receipt, &pair, pair.client,
                RESOURCE("com.acme/a", .value = "1", .aliases = {"com.acme/also-a"}));
    pair_run_until(&pair, &first.n_additions, 1);
    ear_open(&second, &pair, pair.client, "com.acme/a");
    ear_open(&alias, &pair, pair.client, "com.acme/also-a");
    ear_open(&other, &pair, pair.client, "com.acme/b");
    assert_int_equal(second.n_updates, 0); /* nothing is called back before it returns */
    pair_run_until(&pair, &second.n_complete, 1);
    pair_run_until(&pair, &alias.n_complete, 1);
    pair_run_until(&pair, &other.n_complete, 1);
    assert_int_equal(second.n_additions, 1);
    assert_int_equal(alias.n_additions, 1);
    assert_int_equal(other.n_additions, 0);
    pair_end(&pair);
}

static void
test_unchanged_is_not_told(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt one = {0}, same = {0}, two = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&one, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    publish_one(&same, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    pair_run_until(&pair, &same.n_receipts, 1);
    assert_int_equal(ear.n_additions, 1);
    publish_one(&two, &pair, pair.client, RESOURCE("com.acme/a", .value = "2"));
    pair_run_until(&pair, &two.n_receipts, 1);
    assert_int_equal(ear.n_additions, 2);
    pair_end(&pair);
}

/* ---- answers later ---- */

static void
test_deferred(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {.defers = true};
    test_receipt receipt = {0}, other = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &ear.n_updates, 1);
    udpa_update *update = ear.deferred;
    ear.defers = false;
    publish_one(&other, &pair, pair.client, RESOURCE("com.acme/b"));
    pair_run_until(&pair, &other.n_receipts, 1); /* others do not wait for it */
    assert_int_equal(receipt.n_receipts, 0);
    udpa_update_refuse(update, 0, UDPA_ERR_LIMIT, "there is no room for it");
    udpa_update_done(update);
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 1);
    assert_non_null(strstr(receipt.refusal, "there is no room for it"));
    pair_end(&pair);
}

static void
test_deferred_and_ended(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {.defers = true};
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &ear.n_updates, 1);
    udpa_unsubscribe(ear.subscription);
    udpa_update_done(ear.deferred);
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 0);
    pair_end(&pair);
}

static void
test_refusals_that_are_none(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {.defers = true};
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &ear.n_updates, 1);
    udpa_update_refuse(ear.deferred, 1, UDPA_ERR_INVAL, "there is no second one");
    udpa_update_refuse(ear.deferred, 0, UDPA_OK, "fine");
    udpa_update_done(ear.deferred);
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 0);
    pair_end(&pair);
}

/* ---- inside callbacks ---- */

static void
end_it(test_ear *ear)
{
    udpa_unsubscribe(ear->subscription);
}

static void
test_unsubscribing_inside_an_update(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ending = {.also = end_it}, lasting = {0};
    test_receipt one = {0}, two = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ending, &pair, pair.server, NULL);
    ear_open(&lasting, &pair, pair.server, NULL);
    publish_one(&one, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &one.n_receipts, 1);
    publish_one(&two, &pair, pair.client, RESOURCE("com.acme/b"));
    pair_run_until(&pair, &two.n_receipts, 1);
    assert_int_equal(ending.n_updates, 1);
    assert_int_equal(lasting.n_additions, 2);
    udpa_unsubscribe(NULL);
    pair_end(&pair);
}

static void
answer_it(test_ear *ear)
{
    udpa_update_refuse(ear->deferred, 0, UDPA_ERR_LIMIT, "there is no room for it");
    udpa_update_done(ear->deferred);
}

static void
test_answering_inside_an_update(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {.defers = true, .also = answer_it};
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 1);
    assert_non_null(strstr(receipt.refusal, "there is no room for it"));
    pair_end(&pair);
}

static void
close_it(test_ear *ear)
{
    udpa_subscription *subscription;
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_endpoint *endpoint = ear->pair->server;
    ear->pair->server = NULL;
    udpa_endpoint_close(endpoint, pair_count_closed, ear->pair);
    options.type_url = TEST_TYPE;
    options.update = ear_fn;
    assert_int_equal(udpa_subscribe(&subscription, endpoint, &options, &error), UDPA_ERR_CLOSED);
}

static void
test_closing_inside_an_update(void **state)
{
    (void)state;
    test_pair pair;
    test_ear closing = {.also = close_it}, other = {0};
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&closing, &pair, pair.server, NULL);
    ear_open(&other, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &pair.n_closed, 1);
    assert_int_equal(closing.n_updates, 1);
    assert_int_equal(other.n_updates, 0); /* nothing more was called back */
    pair_end(&pair);
}

/* ---- mistakes ---- */

struct mistake {
    const char *type_url, *name_space, *name;
    bool has_no_callback;
    size_t struct_size;
    const char *words;
};

static void
test_mistakes(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {.words = "type_url"},
        {.type_url = "", .words = "type_url"},
        {.type_url = "test.Thing", .has_no_callback = true, .words = "callback"},
        {.type_url = "test.\xff", .words = "not UTF-8"},
        {.type_url = "test.Thing", .struct_size = 8, .words = "struct_size"},
        {.type_url = "test.Thing", .name_space = "Com.Acme", .words = "Com.Acme"},
        {.type_url = "test.Thing", .name = "no-namespace", .words = "no-namespace"},
        {.type_url = "test.Thing",
         .name_space = "com.acme",
         .name = "com.acme/a",
         .words = "not both"},
    };
    test_pair pair;
    test_ear ear = {0};
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(mistakes); i++) {
        udpa_subscription *subscription = NULL;
        udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        options.struct_size -= mistakes[i].struct_size;
        options.type_url = mistakes[i].type_url;
        options.name_space = mistakes[i].name_space;
        options.names = &mistakes[i].name;
        options.n_names = mistakes[i].name ? 1 : 0;
        options.update = mistakes[i].has_no_callback ? NULL : ear_fn;
        options.userdata = &ear;
        assert_int_equal(udpa_subscribe(&subscription, pair.client, &options, &error),
                         UDPA_ERR_INVAL);
        assert_null(subscription);
        if (!strstr(udpa_error_message(error), mistakes[i].words))
            fail_msg("'%s' does not say '%s'", udpa_error_message(error), mistakes[i].words);
    }
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete_without_anything),
        cmocka_unit_test(test_what_is_there_comes_first),
        cmocka_unit_test(test_unchanged_is_not_told),
        cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_deferred_and_ended),
        cmocka_unit_test(test_refusals_that_are_none),
        cmocka_unit_test(test_unsubscribing_inside_an_update),
        cmocka_unit_test(test_answering_inside_an_update),
        cmocka_unit_test(test_closing_inside_an_update),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests_name("endpoint subscriber", tests, NULL, NULL);
}
