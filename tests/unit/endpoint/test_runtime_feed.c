/* SPDX-License-Identifier: Apache-2.0 */
/* A layer by RTDS: what a peer publishes to the endpoint that subscribes for it. */
#include <udpa/runtime.h>

#include "pair.h"
#include "tests/harness/oom.h"
#include "tests/harness/wire.h"

#define RUNTIME "type.googleapis.com/envoy.service.runtime.v3.Runtime"
#define NAME "com.acme/runtime"

struct world {
    test_pair pair;
    udpa_runtime *runtime;
    unsigned n_changed;
};

static void
on_changed(void *userdata, const udpa_runtime_snapshot *now)
{
    (void)now;
    ((struct world *)userdata)->n_changed++;
}

static udpa_err
make(struct world *world, udpa_endpoint *endpoint, const char *name, udpa_error **ret_error)
{
    static const udpa_runtime_setting below = {"n", "1"};
    udpa_runtime_layer layers[2] = {UDPA_RUNTIME_LAYER_INIT, UDPA_RUNTIME_LAYER_INIT};
    udpa_runtime_options options = UDPA_RUNTIME_OPTIONS_INIT;
    layers[0].name = "static";
    layers[0].settings = &below;
    layers[0].n_settings = 1;
    layers[1].name = "rtds";
    layers[1].kind = UDPA_RUNTIME_RTDS;
    layers[1].endpoint = endpoint;
    layers[1].resource_name = name;
    options.layers = layers;
    options.n_layers = 2;
    options.changed = on_changed;
    options.userdata = world;
    return udpa_runtime_new(&world->runtime, &world->pair.loop, &options, ret_error);
}

static void
begin(struct world *world)
{
    memset(world, 0, sizeof(*world));
    pair_begin(&world->pair);
    pair_both(&world->pair, NULL, NULL);
    assert_ok(make(world, world->pair.server, NAME, NULL));
}

static void
end(struct world *world)
{
    unsigned n = world->pair.n_closed;
    if (world->runtime) {
        udpa_runtime_close(world->runtime, pair_count_closed, &world->pair);
        pair_run_until(&world->pair, &world->pair.n_closed, n + 1);
    }
    pair_end(&world->pair);
    wire_free_all();
}

static udpa_runtime_layer_state
look(const struct world *world)
{
    udpa_runtime_layer_state state = UDPA_RUNTIME_LAYER_STATE_INIT;
    assert_true(udpa_runtime_layer_read(world->runtime, 1, &state));
    assert_string_equal(state.name, "rtds");
    assert_int_equal(state.kind, UDPA_RUNTIME_RTDS);
    return state;
}

static uint64_t
n_now(struct world *world)
{
    return udpa_runtime_uint64(world->runtime, "n", 0);
}

/* One field of a layer. */
static udpai_str
runtime_of(const char *key, const char *value)
{
    return W_JOIN(W_TEXT(1, "runtime"),
                  W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, key), W_MESSAGE(2, W_TEXT(3, value)))));
}

static void
publish(struct world *world, test_receipt *receipt, udpai_str payload)
{
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    spec.name = NAME;
    spec.type_url = RUNTIME;
    spec.payload = payload.data;
    spec.payload_size = payload.len;
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    publish_one(receipt, &world->pair, world->pair.client, resource);
    pair_run_until(&world->pair, &receipt->n_receipts, 1);
}

static void
publish_well(struct world *world, const char *n)
{
    test_receipt receipt = {0};
    unsigned n_changed = world->n_changed;
    publish(world, &receipt, runtime_of("n", n));
    assert_int_equal(receipt.n_refused, 0);
    pair_run_until(&world->pair, &world->n_changed, n_changed + 1);
}

static void
retract(struct world *world)
{
    static const char *const name = NAME;
    test_receipt receipt = {.pair = &world->pair};
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    unsigned n_changed = world->n_changed;
    options.removed_names = &name;
    options.n_removed_names = 1;
    options.removed_type_url = RUNTIME;
    options.receipt = receipt_fn;
    options.userdata = &receipt;
    assert_ok(udpa_publish(world->pair.client, &options, NULL));
    pair_run_until(&world->pair, &receipt.n_receipts, 1);
    pair_run_until(&world->pair, &world->n_changed, n_changed + 1);
}

/* ---- what comes and goes ---- */

static void
what_comes_counts_until_it_goes(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    assert_false(look(&world).is_there);
    assert_int_equal(n_now(&world), 1);
    publish_well(&world, "2");
    assert_true(look(&world).is_there);
    assert_int_equal(look(&world).n_keys, 1);
    assert_int_equal(n_now(&world), 2);
    publish_well(&world, "3");
    assert_int_equal(n_now(&world), 3);
    retract(&world);
    assert_int_equal(look(&world).n_keys, 0);
    assert_int_equal(n_now(&world), 1);
    publish_well(&world, "4");
    assert_int_equal(n_now(&world), 4);
    end(&world);
}

static void
expect_refused(struct world *world, udpai_str payload, const char *words)
{
    test_receipt receipt = {0};
    publish(world, &receipt, payload);
    assert_int_equal(receipt.n_refused, 1);
    if (!strstr(receipt.refusal, words))
        fail_msg("'%s' does not say '%s'", receipt.refusal, words);
    assert_non_null(strstr(udpa_error_message(look(world).error), words));
}

static void
what_may_not_be_is_refused_and_the_last_stays(void **state)
{
    (void)state;
    struct world world;
    udpa_runtime_statistics statistics = UDPA_RUNTIME_STATISTICS_INIT;
    begin(&world);
    expect_refused(&world, runtime_of("a.denominator", "1"), "reserved");
    assert_false(look(&world).is_there);
    publish_well(&world, "2");
    assert_null(look(&world).error);
    expect_refused(&world, UDPAI_STR("\x12\xff"), "no envoy.service.runtime.v3.Runtime");
    expect_refused(&world, W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "n"), W_MESSAGE(2, W_VARINT(1, 0)))),
                   "null");
    assert_int_equal(n_now(&world), 2);
    assert_true(look(&world).is_there);
    udpa_runtime_statistics_read(world.runtime, &statistics);
    assert_int_equal(statistics.load_error, 3);
    publish_well(&world, "3");
    assert_null(look(&world).error);
    assert_int_equal(n_now(&world), 3);
    end(&world);
}

static void
a_redirect_is_not_followed(void **state)
{
    (void)state;
    struct world world;
    test_receipt receipt = {0};
    begin(&world);
    publish_one(&receipt, &world.pair, world.pair.client,
                RESOURCE(NAME, .type = "type.googleapis.com/xds.core.v3.ResourceLocator",
                         .redirected_type = RUNTIME));
    pair_run_until(&world.pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 1);
    assert_non_null(strstr(receipt.refusal, "redirect"));
    end(&world);
}

/* Another resource has the name as an alias; and what says the same as before changes nothing. */
static void
what_is_no_news(void **state)
{
    (void)state;
    struct world world;
    test_receipt receipt = {0}, same = {0};
    udpai_str layer = W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "n"), W_MESSAGE(2, W_TEXT(3, "2"))));
    begin(&world);
    publish_one(&receipt, &world.pair, world.pair.client,
                RESOURCE("com.acme/other", .type = RUNTIME, .aliases = {NAME}));
    pair_run_until(&world.pair, &receipt.n_receipts, 1);
    assert_false(look(&world).is_there);
    publish_well(&world, "2");
    publish(&world, &same, layer); /* without the name that it had before */
    assert_int_equal(same.n_refused, 0);
    publish_well(&world, "3");
    assert_int_equal(world.n_changed, 2);
    end(&world);
}

/* ---- beginning and ending ---- */

static void
names_that_may_not_be(void **state)
{
    (void)state;
    struct world world = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    pair_begin(&world.pair);
    pair_both(&world.pair, NULL, NULL);
    assert_int_equal(make(&world, world.pair.server, NULL, NULL), UDPA_ERR_INVAL);
    assert_int_equal(make(&world, world.pair.server, "", &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "layer rtds of the runtime: "));
    udpa_endpoint *closed = world.pair.client;
    udpa_endpoint_close(closed, pair_count_closed, &world.pair);
    world.pair.client = NULL;
    assert_int_equal(make(&world, closed, NAME, NULL), UDPA_ERR_CLOSED);
    pair_run_until(&world.pair, &world.pair.n_closed, 1);
    end(&world);
}

/* What comes behind the close is not looked at; the endpoint may go right behind the runtime. */
static void
closed_before_the_endpoint(void **state)
{
    (void)state;
    struct world world;
    test_receipt receipt = {0};
    udpai_str payload = runtime_of("n", "2");
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    begin(&world);
    publish_well(&world, "2");
    spec.name = NAME;
    spec.type_url = RUNTIME;
    spec.payload = payload.data;
    spec.payload_size = payload.len - 1;
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    publish_one(&receipt, &world.pair, world.pair.client, resource);
    udpa_runtime_close(world.runtime, pair_count_closed, &world.pair);
    world.runtime = NULL;
    pair_close(&world.pair, &world.pair.server);
    end(&world);
    assert_int_equal(world.n_changed, 1);
}

static udpa_err
make_and_close(void *context)
{
    struct world *world = context;
    udpa_err err = make(world, world->pair.server, NAME, NULL);
    unsigned n = world->pair.n_closed;
    if (err)
        return err;
    udpa_runtime_close(world->runtime, pair_count_closed, &world->pair);
    world->runtime = NULL;
    udpai_alloc_fail_after(-1); /* the endpoint's own turn is no matter of this */
    pair_run_until(&world->pair, &world->pair.n_closed, n + 1);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    struct world world = {0};
    pair_begin(&world.pair);
    pair_serve(&world.pair, NULL);
    (void)oom_torture(make_and_close, &world);
    end(&world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_counts_until_it_goes),
        cmocka_unit_test(what_may_not_be_is_refused_and_the_last_stays),
        cmocka_unit_test(a_redirect_is_not_followed),
        cmocka_unit_test(what_is_no_news),
        cmocka_unit_test(names_that_may_not_be),
        cmocka_unit_test(closed_before_the_endpoint),
        cmocka_unit_test(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests_name("endpoint runtime_feed", tests, NULL, NULL);
}
