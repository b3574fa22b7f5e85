/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that follow resources of a node, which has them of a directory. */
#include "daemon/rtds.h"
#include "runtime/rtds.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "tests/unit/runtime/structs.h"

static const udpai_runtime_layer_options options[] = {
    {{"first", 5}, UDPAI_RUNTIME_RTDS},
    {{"second", 6}, UDPAI_RUNTIME_RTDS},
    {{"admin", 5}, UDPAI_RUNTIME_ADMIN},
};
static const udpai_plan_rtds layers[] = {{0, "com.acme/a"}, {1, "com.acme/b"}};

typedef struct world {
    uv_loop_t loop;
    udpai_wheel wheel;
    udpai_node *node;
    udpai_runtime runtime;
    udpai_daemon_rtds *rtds;
    unsigned n_changes;
} world;

static void
on_order(void *userdata, udpai_order *order)
{
    (void)userdata;
    udpai_order_free(order);
}

static int64_t
wall_us(void *userdata)
{
    return (int64_t)((world *)userdata)->wheel.now_ms * 1000 + 1000000;
}

static void
count_change(void *userdata)
{
    ((world *)userdata)->n_changes++;
}

static udpa_err
open_rtds(world *self)
{
    const udpai_daemon_rtds_env env = {&self->loop, self->node, &self->runtime, layers,
                                       UDPAI_ARRAY_LEN(layers)};
    return udpai_daemon_rtds_open(&self->rtds, &env, NULL);
}

static int
setup(void **state)
{
    static world self;
    self = (world){0};
    const udpai_node_config config = node_bed_config("node", 0);
    const udpai_node_env env = {
        .order = on_order, .wall_us = wall_us, .random = node_bed_no_chance, .userdata = &self};
    assert_int_equal(uv_loop_init(&self.loop), 0);
    udpai_wheel_init(&self.wheel, 1000);
    assert_ok(udpai_node_new(&self.node, &self.wheel, &config, &env, NULL));
    udpai_node_start(self.node);
    assert_ok(udpai_runtime_init(&self.runtime, options, UDPAI_ARRAY_LEN(options), NULL));
    self.runtime.changed = count_change;
    self.runtime.userdata = &self;
    *state = &self;
    return 0;
}

static void
close_rtds(world *self)
{
    udpai_daemon_rtds_close(self->rtds);
    self->rtds = NULL;
    uv_run(&self->loop, UV_RUN_DEFAULT);
}

static int
teardown(void **state)
{
    world *self = *state;
    close_rtds(self);
    self->node = udpai_node_free(self->node);
    udpai_runtime_done(&self->runtime);
    assert_int_equal(uv_loop_close(&self->loop), 0); /* nothing was left on it */
    return 0;
}

/* ---- resources ---- */

/* With one key, x; NULL: a list, which may not be. */
static udpa_resource *
make(const char *name, const char *version, const char *x)
{
    udpai_strbuf root = {0}, message = {0};
    bytes(&root, "x", x ? 3 : 6, udpai_str_from(x ? x : "\x0a"));
    bytes_field(&message, 2, udpai_strbuf_view(&root));
    udpa_resource *resource =
        RESOURCE(name, .type = UDPAI_TYPE_RUNTIME, .version = version, .value = message.data);
    udpai_strbuf_done(&root);
    udpai_strbuf_done(&message);
    return resource;
}

/* These are all that the directory has; takes them. */
static void
tell(world *self, udpa_resource **resources, size_t n)
{
    const udpai_directory directory = {
        .root = UDPAI_STR("/resources"), .resources = resources, .n_resources = n};
    assert_ok(udpai_node_set_files(self->node, &directory, NULL));
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
    udpai_node_flush(self->node);
}

static void
tell_one(world *self, const char *version, const char *x)
{
    udpa_resource *resources[] = {make("com.acme/a", version, x)};
    tell(self, resources, 1);
    uv_run(&self->loop, UV_RUN_NOWAIT);
}

static void
expect_x(world *self, const char *text)
{
    const udpai_runtime_value *value = udpai_runtime_snapshot_find(
        udpai_runtime_current_peek(&self->runtime.current), UDPAI_STR("x"));
    if (text)
        assert_str(value->text, text);
    else
        assert_null(value);
}

/* ---- tests ---- */

static void
a_layer_follows_its_resource(void **state)
{
    world *self = *state;
    assert_ok(open_rtds(self));
    udpai_node_flush(self->node);
    assert_int_equal(self->runtime.statistics.num_layers, 1);
    expect_x(self, NULL);
    tell_one(self, "1", "one");
    expect_x(self, "one");
    assert_int_equal(self->runtime.statistics.num_layers, 2);
    assert_int_equal(self->runtime.statistics.load_success, 1);
    tell_one(self, "2", "one"); /* says the same: no load */
    assert_int_equal(self->n_changes, 1);
    tell_one(self, "3", "two");
    expect_x(self, "two");
    tell(self, NULL, 0);
    uv_run(&self->loop, UV_RUN_NOWAIT);
    expect_x(self, NULL);
    assert_int_equal(self->runtime.statistics.num_layers, 2); /* it is there, and empty */
    assert_int_equal(self->runtime.statistics.load_error, 0);
}

static void
what_is_there_already_is_followed_too(void **state)
{
    world *self = *state;
    tell_one(self, "1", "one");
    assert_ok(open_rtds(self));
    udpai_node_flush(self->node);
    uv_run(&self->loop, UV_RUN_NOWAIT);
    expect_x(self, "one");
}

static void
a_bad_one_leaves_the_layer_as_it_was(void **state)
{
    world *self = *state;
    assert_ok(open_rtds(self));
    tell_one(self, "1", NULL); /* there is nothing yet that could stay */
    assert_int_equal(self->runtime.statistics.num_layers, 1);
    assert_int_equal(self->runtime.statistics.load_error, 1);
    tell_one(self, "2", "one");
    assert_null(udpai_runtime_layer_error(&self->runtime, 0));
    tell_one(self, "3", NULL);
    expect_x(self, "one");
    assert_int_equal(self->runtime.statistics.load_error, 2);
    assert_string_equal(udpa_error_message(udpai_runtime_layer_error(&self->runtime, 0)),
                        "the resource 'com.acme/a' of 'node' cannot be its contents: x is a list: "
                        "a value of the runtime is a number, a string, true or false, or a "
                        "fraction");
    tell_one(self, "4", "one"); /* the last good one again */
    expect_x(self, "one");
    assert_null(udpai_runtime_layer_error(&self->runtime, 0));
}

/* A good one and a bad one, before the loop has had a turn. */
static void
the_last_good_one_stays_even_if_it_never_counted(void **state)
{
    world *self = *state;
    assert_ok(open_rtds(self));
    udpa_resource *good = make("com.acme/a", "1", "one"), *bad = make("com.acme/a", "2", NULL);
    tell(self, &good, 1);
    tell(self, &bad, 1);
    uv_run(&self->loop, UV_RUN_NOWAIT);
    expect_x(self, "one");
    assert_int_equal(self->n_changes, 1);
    assert_non_null(udpai_runtime_layer_error(&self->runtime, 0));
}

static void
what_changes_together_counts_together(void **state)
{
    world *self = *state;
    assert_ok(open_rtds(self));
    udpa_resource *both[] = {make("com.acme/a", "1", "one"), make("com.acme/b", "1", "two")};
    tell(self, both, 2);
    expect_x(self, NULL); /* not in the midst of the node's work */
    uv_run(&self->loop, UV_RUN_NOWAIT);
    expect_x(self, "two");
    assert_int_equal(self->n_changes, 1);
}

static void
an_alias_is_another_resource(void **state)
{
    world *self = *state;
    assert_ok(open_rtds(self));
    udpa_resource *one = RESOURCE("com.acme/c", .type = UDPAI_TYPE_RUNTIME, .version = "1",
                                  .value = "", .aliases = {"com.acme/a"});
    tell(self, &one, 1);
    uv_run(&self->loop, UV_RUN_NOWAIT);
    assert_int_equal(self->runtime.statistics.num_layers, 1);
}

static void
a_redirect_is_not_followed(void **state)
{
    world *self = *state;
    assert_ok(open_rtds(self));
    udpa_resource *one =
        RESOURCE("com.acme/a", .type = "type.googleapis.com/xds.core.v3.ResourceLocator",
                 .redirected_type = UDPAI_TYPE_RUNTIME, .version = "1", .value = "");
    tell(self, &one, 1);
    uv_run(&self->loop, UV_RUN_NOWAIT);
    assert_non_null(strstr(udpa_error_message(udpai_runtime_layer_error(&self->runtime, 0)),
                           "it is a redirect"));
}

static void
without_memory_it_counts_later(void **state)
{
    world *self = *state;
    assert_ok(open_rtds(self));
    udpa_resource *one = make("com.acme/a", "1", "one");
    tell(self, &one, 1);
    udpai_alloc_fail_after(0);
    uv_run(&self->loop, UV_RUN_NOWAIT);
    udpai_alloc_fail_after(-1);
    expect_x(self, NULL);
    while (self->n_changes == 0)
        uv_run(&self->loop, UV_RUN_ONCE);
    expect_x(self, "one");
}

static void
it_may_end_before_it_counts(void **state)
{
    world *self = *state;
    assert_ok(open_rtds(self));
    udpa_resource *one = make("com.acme/a", "1", "one");
    tell(self, &one, 1);
    close_rtds(self);
    expect_x(self, NULL);
}

static udpa_err
open_and_close(void *userdata)
{
    world *self = userdata;
    udpa_err err = open_rtds(self);
    close_rtds(self);
    return err;
}

static void
beginning_may_fail_for_lack_of_memory(void **state)
{
    oom_torture(open_and_close, *state);
}

#define rtds_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        rtds_test(a_layer_follows_its_resource),
        rtds_test(what_is_there_already_is_followed_too),
        rtds_test(a_bad_one_leaves_the_layer_as_it_was),
        rtds_test(the_last_good_one_stays_even_if_it_never_counted),
        rtds_test(what_changes_together_counts_together),
        rtds_test(an_alias_is_another_resource),
        rtds_test(a_redirect_is_not_followed),
        rtds_test(without_memory_it_counts_later),
        rtds_test(it_may_end_before_it_counts),
        rtds_test(beginning_may_fail_for_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
