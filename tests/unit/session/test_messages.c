/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and reports own what they hold, and a subscription's copy owns its text. */
#include "session/messages.h"

#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

static void
assert_subscriptions_equal(const udpai_subscription_message *a, const udpai_subscription_message *b)
{
    assert_true(udpai_str_eq(a->type_url, b->type_url));
    assert_true(udpai_str_eq(a->name_space, b->name_space));
    assert_true(udpai_str_eq(a->status_text, b->status_text));
    assert_int_equal(a->status_code, b->status_code);
    assert_int_equal(a->distance, b->distance);
    assert_int_equal(a->recovers, b->recovers);
    assert_int_equal(a->n_names, b->n_names);
    for (size_t i = 0; i < a->n_names; i++)
        assert_true(udpai_str_eq(a->names[i], b->names[i]));
    assert_int_equal(a->n_versions, b->n_versions);
    for (size_t i = 0; i < a->n_versions; i++) {
        assert_true(udpai_str_eq(a->versions[i].name, b->versions[i].name));
        assert_true(udpai_str_eq(a->versions[i].version, b->versions[i].version));
    }
    assert_int_equal(a->n_digests, b->n_digests);
    for (size_t i = 0; i < a->n_digests; i++) {
        assert_true(udpai_str_eq(a->digests[i].name, b->digests[i].name));
        assert_int_equal(a->digests[i].digest, b->digests[i].digest);
    }
    assert_int_equal(a->n_paths, b->n_paths);
    for (size_t i = 0; i < a->n_paths; i++) {
        assert_true(udpai_str_eq(a->paths[i].name, b->paths[i].name));
        assert_int_equal(a->paths[i].digest, b->paths[i].digest);
    }
}

static void
a_subscription_is_copied_deeply(void **state)
{
    (void)state;
    char text[] = "type space why name1 name2 v-name version d-name w-name";
    const udpai_str names[] = {{text + 15, 5}, {text, 0}, {text + 21, 5}};
    const udpai_held_version versions[] = {{{text + 27, 6}, {text + 34, 7}}};
    const udpai_held_digest digests[] = {{{text + 42, 6}, 5}}, paths[] = {{{text + 49, 6}, 6}};
    const udpai_subscription_message message = {
        {text, 4}, {text + 5, 5}, names, 3, versions, 1, digests,
        1,         paths,         1,     2, true,     7, {text + 11, 3},
    };
    udpai_subscription_message *copy = udpai_subscription_message_copy(&message);
    assert_non_null(copy);
    assert_subscriptions_equal(copy, &message);
    udpai_subscription_message *again = udpai_subscription_message_copy(copy);
    memset(text, 'x', sizeof(text)); /* the copies do not look at it */
    assert_str(copy->type_url, "type");
    assert_str(copy->names[2], "name2");
    assert_str(copy->paths[0].name, "w-name");
    assert_subscriptions_equal(again, copy);
    udpai_free(copy);
    assert_str(again->versions[0].version, "version");
    udpai_free(again);
}

static void
an_empty_subscription_is_copied(void **state)
{
    (void)state;
    const udpai_subscription_message message = {0};
    udpai_subscription_message *copy = udpai_subscription_message_copy(&message);
    assert_non_null(copy);
    assert_subscriptions_equal(copy, &message);
    udpai_free(copy);
}

static int n_released;

static void
release(void *target)
{
    assert_string_equal(target, "target");
    n_released++;
}

static udpa_err
fill_order(udpai_order *order)
{
    const udpai_settled_facts facts = {0};
    order->changes = udpai_change_set_new();
    order->settled = udpai_settled_new(&facts);
    order->subscription = udpai_subscription_message_copy(&(udpai_subscription_message){0});
    order->publication = udpai_publication_new();
    order->error = udpa_error_new(UDPA_ERR_CLOSED, NULL, "end");
    bool made = order->changes && order->settled && order->subscription && order->publication;
    return made ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
order_scenario(void *context)
{
    (void)context;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DIAL);
    if (!order)
        return UDPA_ERR_NOMEM;
    udpa_err err = fill_order(order);
    order->target = (void *)(uintptr_t) "target";
    order->release_target = release;
    assert_int_equal(order->kind, UDPAI_ORDER_DIAL);
    assert_null(udpai_order_free(order));
    return err;
}

static void
an_error_is_cut_to_what_it_may_name(void **state)
{
    (void)state;
    static char text[10000];
    memset(text, 'x', sizeof(text));
    udpai_str names[40], room[UDPAI_ECHOED_NAMES];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        names[i] = (udpai_str){text, i ? sizeof(text) : 5};
    const udpai_subscription_message message = {
        .type_url = names[1],
        .name_space = names[1],
        .names = names,
        .n_names = UDPAI_ARRAY_LEN(names),
        .status_code = 3,
        .status_text = names[1],
    };
    const udpai_subscription_message error = udpai_subscription_error_cut(&message, room);
    assert_int_equal(error.type_url.len, 512);
    assert_int_equal(error.name_space.len, 1024);
    assert_int_equal(error.n_names, UDPAI_ECHOED_NAMES);
    assert_int_equal(error.names[0].len, 5);
    assert_int_equal(error.names[UDPAI_ECHOED_NAMES - 1].len, 1024);
    assert_int_equal(error.status_code, 3);
    assert_int_equal(error.status_text.len, 4096);
}

static void
an_order_frees_all_it_holds(void **state)
{
    (void)state;
    unsigned long before = udpai_alloc_live();
    n_released = 0;
    long n = oom_torture(order_scenario, NULL);
    assert_int_equal(n_released, n); /* the first one had no memory for the order itself */
    assert_int_equal(udpai_alloc_live(), before);
    assert_null(udpai_order_free(NULL));
}

static udpa_err
report_scenario(void *context)
{
    (void)context;
    udpai_report *report = udpai_report_new(UDPAI_REPORT_STATUS);
    if (!report)
        return UDPA_ERR_NOMEM;
    const udpai_identity_parts identity = {.common_name = UDPAI_STR("cn")};
    const udpai_node_parts node = {.id = UDPAI_STR("id")};
    udpa_bytes *status = NULL;
    udpa_err err = udpai_identity_new(&report->identity, &identity);
    if (err == UDPA_OK)
        err = udpai_node_info_new(&report->info, &node);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&report->address, "a", 1);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&status, "s", 1);
    if (err == UDPA_OK && !udpai_vector_push(&report->statuses, status))
        err = UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        udpa_bytes_unref(status);
    report->publication = udpai_publication_new();
    report->subscription = udpai_subscription_message_copy(&(udpai_subscription_message){0});
    report->error = udpa_error_new(UDPA_ERR_CLOSED, NULL, "end");
    if (!report->publication || !report->subscription)
        err = UDPA_ERR_NOMEM;
    assert_null(udpai_report_free(report));
    return err;
}

static void
a_report_frees_all_it_holds(void **state)
{
    (void)state;
    unsigned long before = udpai_alloc_live();
    oom_torture(report_scenario, NULL);
    assert_int_equal(udpai_alloc_live(), before);
    assert_null(udpai_report_free(NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subscription_is_copied_deeply),
        cmocka_unit_test(an_empty_subscription_is_copied),
        cmocka_unit_test(an_error_is_cut_to_what_it_may_name),
        cmocka_unit_test(an_order_frees_all_it_holds),
        cmocka_unit_test(a_report_frees_all_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
