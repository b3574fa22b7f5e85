/* SPDX-License-Identifier: Apache-2.0 */
/* What a checker was asked for, and what it has answered, as a resource. */
#include "reports/health_table.h"

#include <stdio.h>

#include "health_test.h"
#include "tests/harness/oom.h"
#include "udpa/health/v1/health.pb-c.h"

typedef Udpa__Health__V1__EndpointHealth health_message;

static udpai_health_table *table, *before;
static udpai_health_taken taken;

static int
teardown(void **state)
{
    (void)state;
    table = udpai_health_table_free(table);
    before = udpai_health_table_free(before);
    wire_free_all();
    return 0;
}

/* "a=10.0.0.1:80,10.0.0.2:80|/run/x b=10.0.0.1:80": clusters, with endpoints; "|" begins another
 * locality. */
static udpai_str
locality_of(char *endpoints, char zone)
{
    const char zone_name[] = {zone, '\0'};
    udpai_str locality = W_MESSAGE(1, W_TEXT(1, "here"), W_TEXT(2, zone_name));
    char *endpoint;
    while ((endpoint = strsep(&endpoints, ",")))
        locality = W_JOIN(locality, health_endpoint(2, endpoint));
    return wire_bytes(3, locality);
}

static udpai_str
specifier(const char *words)
{
    char text[512], *rest = text, *word, *locality;
    udpai_str whole = W_NOTHING;
    snprintf(text, sizeof(text), "%s", words);
    while ((word = strsep(&rest, " "))) {
        udpai_str cluster = W_TEXT(1, strsep(&word, "="));
        for (char zone = 'a'; (locality = strsep(&word, "|")); zone++)
            cluster = W_JOIN(cluster, locality_of(locality, zone));
        whole = W_JOIN(whole, wire_bytes(1, cluster));
    }
    return whole;
}

static udpa_err
try_table(udpai_str bytes, udpai_health_table **ret_table, udpa_error **ret_error)
{
    udpa_bytes *copy = NULL;
    udpa_err err = udpa_bytes_new(&copy, bytes.data, bytes.len);
    if (err == UDPA_OK)
        err = udpai_health_table_new(ret_table, copy, ret_error);
    udpa_bytes_unref(copy);
    return err;
}

static void
ask(const char *words)
{
    udpai_health_table_free(before);
    before = table;
    table = NULL;
    assert_ok(try_table(specifier(words), &table, NULL));
    if (before)
        udpai_health_table_inherit(table, before);
}

static void
answer(int64_t now_us, udpai_str message)
{
    assert_ok(udpai_health_table_answer(table, before, message, now_us, &taken, NULL));
}

static udpai_str
of_cluster(const char *name, udpai_str said)
{
    return W_MESSAGE(2, W_TEXT(1, name), wire_bytes(2, said));
}

/* "10.0.0.1:80=1@5 |/run/x=2@7": what is composed of a cluster; "|" where another locality begins.
 */
static void
expect(const char *cluster, const char *wanted)
{
    char text[512] = "";
    size_t index = udpai_health_table_find(table, udpai_str_from(cluster));
    assert_int_not_equal(index, SIZE_MAX);
    udpa_bytes *bytes = udpai_health_table_compose(table, index, UDPAI_STR("local/c"));
    health_message *message = udpa__health__v1__endpoint_health__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(message);
    assert_string_equal(message->cluster, "local/c");
    for (size_t i = 0; i < message->n_localities; i++) {
        assert_string_equal(message->localities[i]->region, "here");
        for (size_t k = 0; k < message->localities[i]->n_endpoints; k++) {
            const Udpa__Health__V1__CheckedEndpoint *endpoint =
                message->localities[i]->endpoints[k];
            size_t len = strlen(text);
            snprintf(text + len, sizeof(text) - len, "%s%s%s:%u=%d@%d", len ? " " : "",
                     k == 0 && i > 0 ? "|" : "", endpoint->address, endpoint->port,
                     endpoint->health_status, (int)(endpoint->since->nanos / 1000));
        }
    }
    assert_string_equal(text, wanted);
    udpa__health__v1__endpoint_health__free_unpacked(message, NULL);
    udpa_bytes_unref(bytes);
}

static bool
is_due(const char *cluster, uint64_t now_ms)
{
    return udpai_health_table_is_due(table, udpai_health_table_find(table, udpai_str_from(cluster)),
                                     now_ms);
}

static void
pass_on(const char *cluster, uint64_t now_ms)
{
    udpai_health_table_passed_on(table, udpai_health_table_find(table, udpai_str_from(cluster)),
                                 now_ms);
}

static void
answers_are_kept_in_the_order_of_the_question(void **state)
{
    (void)state;
    ask("a=x:2,x:1|/run/x b=x:1");
    assert_int_equal(udpai_health_table_n_clusters(table), 2);
    assert_str(udpai_health_table_cluster(table, 1), "b");
    answer(5, of_cluster("a", W_JOIN(health_said(2, "/run/x", 2), health_said(2, "x:1", 1))));
    assert_int_equal(taken.n_taken, 2);
    expect("a", "x:1=1@5 |/run/x:0=2@5");
    answer(6, of_cluster("a", W_JOIN(health_said(2, "x:2", 4), health_said(2, "x:1", 1),
                                     health_said(2, "/run/x", 1))));
    expect("a", "x:2=4@6 x:1=1@5 |/run/x:0=1@6");
    expect("b", "");
}

static void
what_is_left_out_is_not_said_any_more(void **state)
{
    (void)state;
    ask("a=x:1,x:2 b=x:1");
    answer(1, W_JOIN(of_cluster("a", W_JOIN(health_said(2, "x:1", 1), health_said(2, "x:2", 1))),
                     of_cluster("b", health_said(2, "x:1", 2))));
    pass_on("a", 0);
    answer(2, of_cluster("a", health_said(2, "x:2", 1)));
    expect("a", "x:2=1@1");
    assert_true(is_due("a", 1));
    expect("b", "x:1=2@1");
}

static void
the_old_list_speaks_of_every_cluster(void **state)
{
    (void)state;
    ask("a=x:1,x:2 b=x:1 c=x:3");
    answer(1, W_JOIN(health_said(1, "x:1", 1), health_said(1, "x:9", 1)));
    expect("a", "x:1=1@1");
    expect("b", "x:1=1@1");
    expect("c", "");
    assert_int_equal(taken.n_taken, 1);
    assert_int_equal(taken.n_unasked, 1);
    assert_str(taken.address, "x");
    assert_int_equal(taken.port, 9);
}

static void
what_was_not_asked_is_counted(void **state)
{
    (void)state;
    ask("a=x:1");
    answer(1, W_JOIN(of_cluster("other", health_said(2, "x:1", 1)),
                     of_cluster("a", W_JOIN(health_said(2, "x:2", 1), health_said(2, "x:3", 1)))));
    assert_int_equal(taken.n_unasked, 3);
    assert_int_equal(taken.n_taken, 0);
    assert_str(taken.cluster, "other");
    assert_false(is_due("a", 0));
    expect("a", "");
}

static void
a_late_answer_is_no_offence(void **state)
{
    (void)state;
    ask("a=x:1,x:2 gone=x:1");
    ask("a=x:2");
    answer(1, W_JOIN(of_cluster("gone", health_said(2, "x:1", 1)),
                     of_cluster("a", W_JOIN(health_said(2, "x:1", 1), health_said(2, "x:2", 1)))));
    assert_int_equal(taken.n_unasked, 0);
    assert_int_equal(taken.n_taken, 1);
    answer(1, of_cluster("gone", health_said(2, "x:7", 1)));
    assert_int_equal(taken.n_unasked, 1);
    ask("a=x:2"); /* and now that is long ago */
    answer(1, of_cluster("gone", health_said(2, "x:1", 1)));
    assert_int_equal(taken.n_unasked, 1);
}

static void
what_is_still_asked_is_inherited(void **state)
{
    (void)state;
    ask("a=x:1,x:2 b=x:1");
    answer(1, of_cluster("a", W_JOIN(health_said(2, "x:1", 1), health_said(2, "x:2", 2))));
    pass_on("a", 100);
    ask("c=x:1 a=x:2,x:3");
    expect("a", "x:2=2@1");
    expect("c", "");
    assert_true(udpai_health_table_was_passed_on(table, 1));
    assert_false(udpai_health_table_was_passed_on(table, 0));
    assert_false(is_due("a", 1000000)); /* nobody has said anything since */
    answer(9, of_cluster("a", W_JOIN(health_said(2, "x:2", 2), health_said(2, "x:3", 1))));
    expect("a", "x:2=2@1 x:3=1@9");
    assert_true(is_due("a", 101));
}

static void
it_is_due_when_it_changes_or_is_half_expired(void **state)
{
    (void)state;
    udpai_str good = of_cluster("a", health_said(2, "x:1", 1));
    ask("a=x:1");
    uint64_t half = udpai_health_table_ttl_ms(table) / 2;
    assert_int_equal(udpai_health_table_ttl_ms(table), 3 * 1000 + 10000);
    assert_false(is_due("a", 50));
    answer(1, good);
    assert_true(is_due("a", 50));
    pass_on("a", 50);
    assert_false(is_due("a", 50 + 10 * half));
    answer(2, good);
    assert_false(is_due("a", 50 + half - 1));
    assert_true(is_due("a", 50 + half));
    pass_on("a", 50 + half);
    answer(3, of_cluster("a", health_said(2, "x:1", 2)));
    assert_true(is_due("a", 50 + half));
}

static void
intervals_have_bounds(void **state)
{
    (void)state;

    static const struct {
        uint64_t seconds, nanos, ms; /* 0: refused */
    } cases[] = {
        {0, 300000000, 300}, {5, 0, 5000},         {0, 1, 1},     {86400, 0, 86400000},
        {0, 0, 0},           {86400, 1, 86400001}, {86401, 0, 0}, {(uint64_t)-1, 0, 0},
        {1, 1000000000, 0},  {1, (uint64_t)-5, 0},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpa_err err =
            try_table(W_MESSAGE(2, W_VARINT(1, cases[i].seconds), W_VARINT(2, cases[i].nanos)),
                      &table, &error);
        assert_int_equal(err, cases[i].ms ? UDPA_OK : UDPA_ERR_INVAL);
        if (err == UDPA_OK)
            assert_int_equal(udpai_health_table_interval_ms(table), cases[i].ms);
        else
            assert_non_null(strstr(udpa_error_message(error), "interval"));
        table = udpai_health_table_free(table);
    }
}

static void
specifiers_that_cannot_be_are_refused(void **state)
{
    (void)state;

    const struct {
        udpai_str bytes;
        const char *words;
    } cases[] = {
        {W_JOIN(specifier("a=x:1"), specifier("b=x:1"), specifier("a=x:2")), "'a' twice"},
        {W_MESSAGE(1, W_VARINT(9, 1)), "cluster_name"},
        {UDPAI_STR("\x0a\x05"), ""},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_not_equal(try_table(cases[i].bytes, &table, &error), UDPA_OK);
        assert_non_null(strstr(udpa_error_message(error), cases[i].words));
        assert_null(table);
    }
}

static void
an_address_in_two_places_is_answered_in_both(void **state)
{
    (void)state;
    ask("a=x:1,x:2|x:1");
    answer(3, of_cluster("a", health_said(2, "x:1", 2)));
    expect("a", "x:1=2@3 |x:1=2@3");
    assert_int_equal(taken.n_taken, 1);
}

static void
addresses_that_no_answer_can_name_are_passed_over(void **state)
{
    (void)state;
    udpai_str internal = W_MESSAGE(2, W_MESSAGE(1, W_MESSAGE(3, W_TEXT(1, "listener"))));
    assert_ok(try_table(W_MESSAGE(1, W_TEXT(1, "a"),
                                  W_MESSAGE(3, W_MESSAGE(1, W_TEXT(1, "here")), internal,
                                            health_endpoint(2, "x:1"))),
                        &table, NULL));
    answer(1, of_cluster("a", health_said(2, "x:1", 1)));
    expect("a", "x:1=1@1");
}

static udpa_err
live_without_memory(void *context)
{
    udpai_health_table *first = NULL, *second = NULL;
    const udpai_str *messages = context;
    udpa_err err = try_table(messages[0], &first, NULL);
    if (err == UDPA_OK)
        err = udpai_health_table_answer(first, NULL, messages[1], 1, &taken, NULL);
    if (err == UDPA_OK)
        err = try_table(messages[0], &second, NULL);
    if (err == UDPA_OK) {
        udpai_health_table_inherit(second, first);
        udpa_bytes *bytes = udpai_health_table_compose(second, 0, UDPAI_STR("local/a"));
        err = bytes ? UDPA_OK : UDPA_ERR_NOMEM;
        udpa_bytes_unref(bytes);
    }
    udpai_health_table_free(first);
    udpai_health_table_free(second);
    return err;
}

static void
without_memory_nothing_leaks(void **state)
{
    (void)state;
    udpai_str messages[] = {
        specifier("a=x:1,x:2,x:3,x:4,x:5|x:6 b=x:1 c=x:1 d=x:1 e=x:1 f=x:1"),
        of_cluster("a", W_JOIN(health_said(2, "x:1", 1), health_said(2, "x:6", 2))),
    };
    oom_torture(live_without_memory, messages);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(answers_are_kept_in_the_order_of_the_question, teardown),
        cmocka_unit_test_teardown(what_is_left_out_is_not_said_any_more, teardown),
        cmocka_unit_test_teardown(the_old_list_speaks_of_every_cluster, teardown),
        cmocka_unit_test_teardown(what_was_not_asked_is_counted, teardown),
        cmocka_unit_test_teardown(a_late_answer_is_no_offence, teardown),
        cmocka_unit_test_teardown(what_is_still_asked_is_inherited, teardown),
        cmocka_unit_test_teardown(it_is_due_when_it_changes_or_is_half_expired, teardown),
        cmocka_unit_test_teardown(intervals_have_bounds, teardown),
        cmocka_unit_test_teardown(specifiers_that_cannot_be_are_refused, teardown),
        cmocka_unit_test_teardown(an_address_in_two_places_is_answered_in_both, teardown),
        cmocka_unit_test_teardown(addresses_that_no_answer_can_name_are_passed_over, teardown),
        cmocka_unit_test_teardown(without_memory_nothing_leaks, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
