/* SPDX-License-Identifier: Apache-2.0 */
/* Publications that are looked at on the pool before the node sees them, over real streams. The
 * inspector refuses the payload "bad", does not want to see "free", and waits at a gate. */
#include "pair.h"

#include <stdatomic.h>

#include "base/error.h"
#include "endpoint/endpoint.h"
#include "model/resource.h"

struct judge {
    test_pair pair;
    bool is_gated;
    uv_sem_t gate;
    uv_timer_t timer; /* opens the gate, or only turns the loop */
    unsigned n_ticks, opens_after;
    atomic_uint n_begun;
    unsigned n_seen; /* what the loop has seen of it */
    char from[64];   /* of whom the last one was that is inspected */
    unsigned n_removed;
    char last_removed[64];
};

static bool
has_payload(const udpa_resource *resource, const char *wanted)
{
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    return size == strlen(wanted) && memcmp(payload, wanted, size) == 0;
}

static bool
wants(void *userdata, const udpa_resource *resource)
{
    (void)userdata;
    return !has_payload(resource, "free") &&
           udpai_str_eq(udpai_resource_type_url(resource), UDPAI_STR(TEST_TYPE));
}

static udpa_err
inspect(void *userdata, const udpa_resource *resource, udpai_str from, udpa_error **ret_error)
{
    struct judge *judge = userdata;
    snprintf(judge->from, sizeof(judge->from), "%.*s", UDPAI_SHOWN(from));
    atomic_fetch_add(&judge->n_begun, 1);
    if (judge->is_gated)
        uv_sem_wait(&judge->gate);
    if (!has_payload(resource, "bad"))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%s': a.b[1]: must be good",
                      udpa_resource_name(resource));
}

static void
on_removed(void *userdata, const udpa_resource *resource)
{
    struct judge *judge = userdata;
    judge->n_removed++;
    snprintf(judge->last_removed, sizeof(judge->last_removed), "%s", udpa_resource_name(resource));
}

static void
on_tick(uv_timer_t *timer)
{
    struct judge *judge = timer->data;
    judge->n_seen = atomic_load(&judge->n_begun);
    if (judge->n_seen && ++judge->n_ticks == judge->opens_after)
        uv_sem_post(&judge->gate);
}

static void
begin(struct judge *judge)
{
    memset(judge, 0, sizeof(*judge));
    pair_begin(&judge->pair);
    assert_ok(uv_sem_init(&judge->gate, 0));
    assert_ok(uv_timer_init(&judge->pair.loop, &judge->timer));
    judge->timer.data = judge;
    assert_ok(uv_timer_start(&judge->timer, on_tick, 1, 1));
    judge->pair.inspector = (udpai_inspector){wants, inspect, on_removed, judge};
    pair_serve_node(&judge->pair);
    pair_dial(&judge->pair, judge->pair.port, NULL);
}

static void
end(struct judge *judge)
{
    if (judge->pair.client)
        pair_close(&judge->pair, &judge->pair.client);
    if (judge->pair.server)
        pair_close(&judge->pair, &judge->pair.server);
    uv_close((uv_handle_t *)&judge->timer, NULL);
    pair_end(&judge->pair);
    uv_sem_destroy(&judge->gate);
}

static void
publish(struct judge *judge, test_receipt *receipt, const char *name, const char *value)
{
    publish_one(receipt, &judge->pair, judge->pair.client, RESOURCE(name, .value = value));
}

static void
what_is_refused_leaves_what_was_before(void **state)
{
    (void)state;
    struct judge judge;
    test_receipt good = {0}, bad = {0};
    test_ear ear = {0};
    begin(&judge);
    ear_open(&ear, &judge.pair, judge.pair.server, NULL);
    publish(&judge, &good, "com.acme/a", "1");
    publish(&judge, &bad, "com.acme/a", "bad");
    pair_run_until(&judge.pair, &good.n_receipts, 1);
    pair_run_until(&judge.pair, &bad.n_receipts, 1);
    assert_int_equal(good.n_refused, 0);
    assert_int_equal(bad.n_refused, 1);
    assert_non_null(strstr(bad.refusal, "'com.acme/a': a.b[1]: must be good"));
    assert_int_equal(ear.n_additions, 1);
    assert_int_equal(ear.n_removals, 0);
    assert_string_equal(ear.last_payload, "1");
    end(&judge);
}

static void
what_comes_behind_it_waits_and_the_loop_does_not(void **state)
{
    (void)state;
    struct judge judge;
    test_receipt first = {0}, second = {0}, removal = {0};
    test_ear ear = {0};
    const char *name = "com.acme/a";
    begin(&judge);
    judge.is_gated = true;
    judge.opens_after = 20;
    ear_open(&ear, &judge.pair, judge.pair.server, NULL);
    publish(&judge, &first, name, "1");
    publish(&judge, &second, "com.acme/b", "free");
    publish_removal(&removal, &judge.pair, judge.pair.client, &name, 1);
    pair_run_until(&judge.pair, &judge.n_ticks, 19);
    assert_int_equal(first.n_receipts + second.n_receipts + removal.n_receipts, 0);
    assert_int_equal(ear.n_updates, 0);
    pair_run_until(&judge.pair, &removal.n_receipts, 1);
    assert_int_equal(first.n_receipts + second.n_receipts, 2);
    assert_int_equal(first.n_refused + second.n_refused + removal.n_refused, 0);
    assert_int_equal(atomic_load(&judge.n_begun), 1);
    /* a came and went; perhaps so fast that nobody was told */
    assert_int_equal(ear.n_additions, 1 + ear.n_removals);
    end(&judge);
}

static void
many_are_inspected_in_order(void **state)
{
    (void)state;

    enum {
        N = 201
    };
    struct judge judge;
    static test_receipt receipts[N];
    test_ear ear = {0};
    char value[16];
    begin(&judge);
    memset(receipts, 0, sizeof(receipts));
    ear_open(&ear, &judge.pair, judge.pair.server, NULL);
    for (size_t i = 0; i < N; i++) {
        snprintf(value, sizeof(value), "%zu", i);
        publish(&judge, &receipts[i], "com.acme/a",
                i % 5 == 3   ? "bad"
                : i % 7 == 6 ? "free"
                             : value);
    }
    pair_run_until(&judge.pair, &receipts[N - 1].n_receipts, 1);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(receipts[i].n_receipts, 1);
        assert_int_equal(receipts[i].n_refused, i % 5 == 3);
    }
    assert_string_equal(ear.last_payload, value);
    end(&judge);
}

static void
an_end_waits_for_what_is_inspected(void **state)
{
    (void)state;
    struct judge judge;
    test_receipt first = {0}, second = {0};
    begin(&judge);
    judge.is_gated = true;
    publish(&judge, &first, "com.acme/a", "1");
    publish(&judge, &second, "com.acme/b", "2");
    pair_run_until(&judge.pair, &judge.n_seen, 1);
    judge.n_ticks = 0;
    judge.opens_after = 50;
    pair_close(&judge.pair, &judge.pair.server);
    assert_true(judge.n_ticks >= 50);
    assert_int_equal(atomic_load(&judge.n_begun), 1);
    end(&judge);
}

static void
a_stream_may_end_meanwhile(void **state)
{
    (void)state;
    struct judge judge;
    test_receipt receipt = {0}, again = {0};
    begin(&judge);
    judge.is_gated = true;
    publish(&judge, &receipt, "com.acme/a", "1");
    pair_run_until(&judge.pair, &judge.n_seen, 1);
    pair_close(&judge.pair, &judge.pair.client);
    pair_dial(&judge.pair, judge.pair.port, NULL);
    publish(&judge, &again, "com.acme/a", "2");
    uv_sem_post(&judge.gate);
    uv_sem_post(&judge.gate);
    pair_run_until(&judge.pair, &again.n_receipts, 1);
    assert_int_equal(again.n_refused, 0);
    end(&judge);
}

static void
who_publishes_and_what_is_removed_is_told(void **state)
{
    (void)state;
    struct judge judge;
    test_receipt first = {0}, again = {0}, removal = {0};
    const char *name = "com.acme/a";
    begin(&judge);
    publish(&judge, &first, name, "1");
    pair_run_until(&judge.pair, &first.n_receipts, 1);
    assert_string_equal(judge.from, "client");
    publish(&judge, &again, name, "2");
    pair_run_until(&judge.pair, &again.n_receipts, 1);
    assert_int_equal(judge.n_removed, 0);
    publish_removal(&removal, &judge.pair, judge.pair.client, &name, 1);
    pair_run_until(&judge.pair, &judge.n_removed, 1);
    assert_string_equal(judge.last_removed, name);
    end(&judge);
    assert_int_equal(judge.n_removed, 1);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_leaves_what_was_before),
        cmocka_unit_test(what_comes_behind_it_waits_and_the_loop_does_not),
        cmocka_unit_test(many_are_inspected_in_order),
        cmocka_unit_test(an_end_waits_for_what_is_inspected),
        cmocka_unit_test(a_stream_may_end_meanwhile),
        cmocka_unit_test(who_publishes_and_what_is_removed_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
