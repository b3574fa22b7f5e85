/* SPDX-License-Identifier: Apache-2.0 */
/* The list of cases, a run of them, and what is reported of it. */
#include "tools/conform/suite.h"

#include "fake_peer.h"
#include "tools/conform/report.h"

typedef struct seen {
    size_t n;
    char names[1000][96];
} seen;

static void
check_case(void *userdata, const udpai_case *that, unsigned way)
{
    seen *self = userdata;
    assert_true(self->n < UDPAI_ARRAY_LEN(self->names));
    char *name = self->names[self->n++];
    udpai_case_name(that, way, name, sizeof(self->names[0]));
    for (size_t i = 0; i + 1 < self->n; i++)
        assert_string_not_equal(self->names[i], name);
    assert_non_null(that->run);
    assert_true(strlen(that->rule) > 20 && strlen(that->section) > 2);
    /* Who needs an ability needs changes, but for names that can be given. */
    assert_true(!(that->needs & ~(unsigned)(UDPAI_NEEDS_CHANGES | UDPAI_CAN_XDSTP)) ||
                that->needs & UDPAI_NEEDS_CHANGES);
}

static void
each_case_has_a_name_of_its_own_and_a_rule(void **state)
{
    seen *self = calloc(1, sizeof(*self));
    (void)state;
    udpai_suite_visit(check_case, self);
    assert_true(self->n > 300);
    free(self);
}

static bool
is_initial(void *userdata, const char *name)
{
    (void)userdata;
    return strcmp(name, "sotw/aggregated/initial-cluster") == 0 ||
           strcmp(name, "sotw/per-type/name-added") == 0 ||
           strcmp(name, "envelope/v2-clusters") == 0;
}

static const char *answered = "theirs=1";

static void
serve(fake_peer *fake, fake_call *call, udpai_str request)
{
    fake->now_ms++;
    if (strstr(call->path, "v2"))
        fake_end(call, 0);
    else if (call->n_waiting == 1 && memmem(request.data, request.len, "theirs", 6))
        fake_answer(call, false, UDPAI_CLUSTER, "n1", answered, "");
}

static void
run_within(udpai_suite *suite, fake_peer *fake, uint64_t limit_ms)
{
    fake_peer_init(fake);
    fake->serve = serve;
    *suite = (udpai_suite){.is_selected = is_initial, .limit_ms = limit_ms};
    suite->stage.peer = &fake->peer;
    suite->stage.timeout_ms = suite->stage.quiet_ms = 10;
    udpai_world_init(&suite->stage.world, "conform", NULL);
    udpai_world_learn(&suite->stage.world, UDPAI_CLUSTER, UDPAI_STR("theirs"));
    udpai_suite_init(suite);
    assert_int_equal(udpai_suite_n_cases(suite), 3);
    udpai_suite_run(suite);
}

static void
run(udpai_suite *suite, fake_peer *fake)
{
    run_within(suite, fake, 0);
}

static void
report_text(udpai_strbuf *out, const udpai_results *results, bool is_strict)
{
    for (size_t i = 0; i < results->n; i++)
        udpai_report_text_one(out, &results->items[i], is_strict);
    udpai_report_text_sum(out, results, is_strict);
}

static void
report_tap(udpai_strbuf *out, const udpai_results *results, bool is_strict)
{
    udpai_report_tap_plan(out, results->n);
    for (size_t i = 0; i < results->n; i++)
        udpai_report_tap_one(out, &results->items[i], i + 1, is_strict);
}

static void
check_report(const udpai_suite *suite,
             void (*report)(udpai_strbuf *, const udpai_results *, bool),
             bool is_strict,
             const char *const *parts)
{
    udpai_strbuf out = {0};
    report(&out, &suite->results, is_strict);
    for (; *parts; parts++)
        if (!strstr(out.data, *parts))
            fail_msg("'%s' is not in '%s'", *parts, out.data);
    udpai_strbuf_done(&out);
}

static void
what_passes_falls_short_and_is_skipped_is_told(void **state)
{
    udpai_suite suite;
    fake_peer fake;
    (void)state;
    run(&suite, &fake);
    assert_int_equal(suite.results.n, 3);
    udpai_report_counts counts = udpai_report_count(&suite.results, false);
    assert_int_equal(counts.n_passed, 1);
    assert_int_equal(counts.n_skipped, 1);
    assert_int_equal(counts.n_fell_short, 1);
    assert_int_equal(counts.n_failed, 0);
    assert_int_equal(udpai_report_count(&suite.results, true).n_failed, 1);
    check_report(&suite, report_tap, false,
                 (const char *const[]){"1..3\n", "\nok 1 - sotw/aggregated/initial-cluster\n",
                                       "\nok 2 - sotw/per-type/name-added # SKIP no endpoint",
                                       "\nok 3 - envelope/v2-clusters (falls short", NULL});
    check_report(
        &suite, report_tap, true,
        (const char *const[]){"\nnot ok 3 - envelope/v2-clusters\n", "\n  level: should\n", NULL});
    check_report(&suite, udpai_report_junit, true,
                 (const char *const[]){"tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"",
                                       "classname=\"sotw.aggregated\" name=\"initial-cluster\"",
                                       "&gt; 3 cluster", NULL});
    check_report(&suite, udpai_report_json, false,
                 (const char *const[]){"\"result\": \"short\"", "\"result\": \"skip\"", NULL});
    check_report(&suite, report_text, false,
                 (const char *const[]){"short  envelope/v2-clusters",
                                       "3 cases: 1 passed, 0 failed, 1 fell short, 1 skipped\n",
                                       NULL});
    udpai_suite_done(&suite);
    fake_peer_done(&fake);
}

static void
a_payload_of_another_type_fails_any_case(void **state)
{
    udpai_suite suite;
    fake_peer fake;
    (void)state;
    answered = "!theirs=1";
    run(&suite, &fake);
    answered = "theirs=1";
    assert_int_equal(suite.results.items[0].verdict, UDPAI_FAILED);
    assert_non_null(strstr(suite.results.items[0].why,
                           "in a response with clusters the payload of 'theirs' is of type "
                           "'type.googleapis.com/envoy.config.listener.v3.Listener'"));
    udpai_suite_done(&suite);
    fake_peer_done(&fake);
}

static void
no_case_begins_when_the_time_is_over(void **state)
{
    udpai_suite suite;
    fake_peer fake;
    (void)state;
    run_within(&suite, &fake, 1000000);
    assert_int_equal(suite.n_out_of_time, 0);
    uint64_t took_ms = suite.results.items[0].took_ms;
    assert_true(took_ms > 0);
    udpai_suite_done(&suite);
    fake_peer_done(&fake);
    run_within(&suite, &fake, took_ms);
    assert_int_equal(suite.n_out_of_time, 2);
    assert_int_equal(suite.results.items[0].verdict, UDPAI_PASSED);
    assert_int_equal(suite.results.items[2].verdict, UDPAI_SKIPPED);
    assert_non_null(strstr(suite.results.items[2].why, "(--time-limit)"));
    udpai_suite_done(&suite);
    fake_peer_done(&fake);
}

static void
what_a_server_says_cannot_spoil_a_report(void **state)
{
    static const udpai_case that = {.name = "x", .section = "S", .rule = "R", .group = "g"};
    udpai_result result = {
        &that, "g/x", UDPAI_FAILED, (char[]){"a\x1b[1m<&\nb"}, (char[]){"< \"x\"\x01\n> y"}, 5};
    udpai_suite suite = {.results = {&result, 1, 1}};
    (void)state;
    check_report(&suite, report_text, false, (const char *const[]){"a?[1m<& b", NULL});
    check_report(&suite, report_tap, false,
                 (const char *const[]){"not ok 1 - g/x\n", "    < \"x\"?\n    > y\n  ...\n", NULL});
    check_report(
        &suite, udpai_report_junit, false,
        (const char *const[]){"message=\"a?[1m&lt;&amp;\nb\"", "&lt; &quot;x&quot;?", NULL});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_has_a_name_of_its_own_and_a_rule),
        cmocka_unit_test(what_passes_falls_short_and_is_skipped_is_told),
        cmocka_unit_test(a_payload_of_another_type_fails_any_case),
        cmocka_unit_test(no_case_begins_when_the_time_is_over),
        cmocka_unit_test(what_a_server_says_cannot_spoil_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
