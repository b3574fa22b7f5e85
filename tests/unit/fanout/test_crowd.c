/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of subscribers and a hundred thousand resources: what all of them share, and that what
 * each costs does not depend on what the others have. */
#include "fanout/fanout_internal.h"
#include "model/name.h"
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

#define STREAMS 5000
#define RESOURCES 100000

typedef struct crowd {
    udpai_wheel wheel;
    udpai_fanout *fanout;
    udpai_renderer renderer;
    udpai_subscriber *streams;
    size_t n_streams;
} crowd;

/* Of the one crowd that there is. */
static size_t n_composed, n_items_composed;

/* ---- a renderer that writes nothing ---- */

static size_t
item_size(const udpai_renderer *renderer, const udpai_send_item *item)
{
    (void)renderer;
    return udpai_resource_name(item->resource).len + 10;
}

static udpai_str
shown_version(const udpai_renderer *renderer,
              const udpa_resource *resource,
              char room[UDPAI_CONTENT_HASH_HEX])
{
    (void)renderer;
    (void)room;
    return udpai_resource_version(resource);
}

static udpa_err
compose(const udpai_renderer *renderer, const udpai_render *what, udpai_body *body)
{
    (void)renderer;
    n_composed++;
    n_items_composed += what->n_items + what->n_removed;
    return udpai_body_add_part(body, udpai_bytes_cstring(UDPAI_STR("x"))) ? UDPA_OK
                                                                          : UDPA_ERR_NOMEM;
}

/* ---- the crowd ---- */

static void
on_wake(udpai_subscriber *subscriber)
{
    (void)subscriber;
}

static const udpai_subscriber_ops ops = {.wake = on_wake};

static udpai_fanout_options options = {
    .cycle_timeout_ms = 20000,
    .view_linger_ms = 1000,
    .tombstones_min = 4096,
    .max_views = 10000,
    .max_views_per_owner = 10000,
    .max_names = 100,
    .body_cache_bytes = 1 << 20,
};

static int
setup(void **state)
{
    crowd *all = calloc(1, sizeof(*all));
    assert_non_null(all);
    all->streams = calloc(STREAMS, sizeof(*all->streams));
    assert_non_null(all->streams);
    all->renderer =
        (udpai_renderer){.item_size = item_size, .version = shown_version, .compose = compose};
    options.response_bytes = (size_t)64 << 20;
    udpai_wheel_init(&all->wheel, 1000);
    assert_ok(udpai_fanout_new(&all->fanout, &all->wheel, &options));
    n_composed = n_items_composed = 0;
    *state = all;
    return 0;
}

static int
teardown(void **state)
{
    crowd *all = *state;
    for (size_t i = 0; i < all->n_streams; i++)
        udpai_subscriber_done(&all->streams[i]);
    udpai_fanout_free(all->fanout);
    free(all->streams);
    free(all);
    return 0;
}

static udpai_subscriber *
add_stream(crowd *all)
{
    udpai_subscriber *stream = &all->streams[all->n_streams++];
    udpai_subscriber_init(stream, all->fanout, &ops, &all->renderer);
    return stream;
}

static void
add_wildcard(udpai_subscriber *stream, const char *prefix)
{
    udpai_subscription *subscription =
        udpai_subscriber_get(stream, UDPAI_STR(TEST_CDS), UDPAI_MODE_DELTA);
    assert_non_null(subscription);
    assert_ok(udpai_subscribe_wildcard(subscription, udpai_str_from(prefix), NULL));
}

/* How many deliveries all of them get, to the end. */
static size_t
drain(crowd *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n_streams; i++) {
        udpai_delivery delivery = {0};
        do {
            assert_ok(udpai_subscriber_next(&all->streams[i], &delivery));
            n += delivery.body != NULL;
            udpai_body_unref(delivery.body);
        } while (delivery.body);
    }
    return n;
}

/* One change set of all there is; names are in a thousand namespaces. */
static void
change_all(crowd *all, udpai_change_kind kind)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = udpai_change_set_new();
    size_t place = 0;
    assert_non_null(set);
    for (int i = 0; i < RESOURCES; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "com.acme/t%d/service-%d", i % 1000, i / 1000);
        udpa_resource *resource = RESOURCE(name, .type = TEST_CDS, .value = "1", .generation = 1);
        assert_non_null(resource);
        assert_ok(udpai_change_set_add(set, &(udpai_change){.kind = kind, .resource = resource}));
        udpa_resource_unref(resource);
    }
    assert_ok(udpai_fanout_apply(all->fanout, set, &place));
}

/* One resource; node NULL: it came from none. */
static void
change_from(crowd *all, const char *name, udpai_change_kind kind, const char *node)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = udpai_change_set_new();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *from = NULL;
    size_t place = 0;
    udpa_resource *resource = RESOURCE(name, .type = TEST_CDS, .value = "1", .generation = 1);
    assert_non_null(resource);
    if (node)
        assert_ok(udpa_bytes_new(&from, node, strlen(node)));
    assert_ok(udpai_change_set_add(
        set, &(udpai_change){.kind = kind, .resource = resource, .from_node = from}));
    udpa_resource_unref(resource);
    assert_ok(udpai_fanout_apply(all->fanout, set, &place));
}

/* ---- removals ---- */

/* All who were in sync are told, and nobody is ended. */
static void
test_a_hundred_thousand_go_at_once(void **state)
{
    crowd *all = *state;
    change_all(all, UDPAI_CHANGE_SET);
    for (size_t i = 0; i < STREAMS; i++)
        add_wildcard(add_stream(all), "com.acme");
    assert_int_equal(drain(all), STREAMS);
    assert_int_equal(n_composed, 1);
    change_all(all, UDPAI_CHANGE_REMOVE);
    options.response_bytes = (size_t)256 << 10;
    udpai_fanout_set_options(all->fanout, &options);
    size_t n_pages = drain(all) / STREAMS;
    assert_true(n_pages > 5);
    assert_int_equal(n_items_composed, 2 * RESOURCES);
    assert_int_equal(n_composed, 1 + n_pages);
    /* What is kept of it goes again. */
    udpai_wheel_advance(&all->wheel, 40000);
    for (size_t i = 0; i < STREAMS; i++)
        assert_true(udpai_subscriber_in_sync(&all->streams[i]));
    assert_int_equal(drain(all), 0);
    const udpai_view *view = all->streams[0].subscriptions.items[0]->view;
    assert_int_equal(view->tombstones.n_live, options.tombstones_min);
}

/* ---- namespaces ---- */

static size_t n_looked_at;

static bool
look(void *userdata, uint64_t visibility, const udpa_resource *resource)
{
    (void)userdata;
    (void)visibility;
    (void)resource;
    n_looked_at++;
    return true;
}

/* Asking for a namespace costs what is in it, and not what there is. */
static void
test_a_namespace_costs_its_members(void **state)
{
    crowd *all = *state;
    char prefix[64];
    udpai_fanout_set_may_see(all->fanout, look, NULL);
    change_all(all, UDPAI_CHANGE_SET);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(prefix, sizeof(prefix), "com.acme/t%d", i);
        add_wildcard(add_stream(all), prefix);
    }
    assert_int_equal(n_looked_at, RESOURCES);
    assert_int_equal(drain(all), 1000);
    assert_int_equal(n_items_composed, RESOURCES);
    n_looked_at = 0;
    udpai_fanout_set_may_see(all->fanout, NULL, NULL);
}

/* Names of few characters, of which those that stand beside the borders in the order are many. */
static void
write_some_name(char name[32], uint64_t *random)
{
    static const char space[] = "ab-.", id[] = "ab-./0~\xc3";
    size_t n = 0;
    name[n++] = 'a';
    for (size_t more = test_random_below(random, 5); more > 0; more--)
        name[n++] = space[test_random_below(random, sizeof(space) - 1)];
    name[n++] = '/';
    for (size_t more = test_random_below(random, 5); more > 0; more--)
        name[n++] = id[test_random_below(random, sizeof(id) - 1)];
    name[n++] = 'b';
    name[n] = '\0';
}

#define SOME_NAMES 3000

struct some_names {
    char names[SOME_NAMES][32];
    bool is_there[SOME_NAMES];
};

static void
change_one(crowd *all, const char *name, udpai_change_kind kind)
{
    change_from(all, name, kind, NULL);
}

static void
change_some(crowd *all, struct some_names *some, uint64_t *random)
{
    for (size_t n = 0; n < SOME_NAMES; n++) {
        size_t i = test_random_below(random, SOME_NAMES);
        some->is_there[i] = test_random_below(random, 3) > 0;
        change_one(all, some->names[i], some->is_there[i] ? UDPAI_CHANGE_SET : UDPAI_CHANGE_REMOVE);
    }
}

static size_t
count_below(const struct some_names *some, udpai_str prefix)
{
    size_t n = 0;
    for (size_t i = 0; i < SOME_NAMES; i++)
        n += some->is_there[i] && udpai_prefix_covers(prefix, udpai_str_from(some->names[i]));
    return n;
}

/* Each once. */
static void
make_names(struct some_names *some, uint64_t *random)
{
    for (size_t i = 0; i < SOME_NAMES; i++) {
        bool is_new = false;
        while (!is_new) {
            write_some_name(some->names[i], random);
            (void)snprintf(some->names[i] + strlen(some->names[i]), 8, "%zu", i % 7);
            is_new = true;
            for (size_t k = 0; k < i && is_new; k++)
                is_new = strcmp(some->names[i], some->names[k]) != 0;
        }
    }
}

/* Whatever comes and goes, a prefix finds what it covers: any beginning of any name is asked for.
 */
static void
test_prefixes_find_what_they_cover(void **state)
{
    crowd *all = *state;
    struct some_names *some = calloc(1, sizeof(*some));
    uint64_t random = 7;
    assert_non_null(some);
    make_names(some, &random);
    for (size_t round = 0; round < 4; round++) {
        change_some(all, some, &random);
        for (size_t i = 0; i < 100; i++) {
            size_t which = test_random_below(&random, SOME_NAMES);
            const char *name = some->names[which];
            const udpai_str prefix = {name, 1 + test_random_below(&random, strlen(name))};
            udpai_subscriber *stream = add_stream(all);
            udpai_subscription *subscription =
                udpai_subscriber_get(stream, UDPAI_STR(TEST_CDS), UDPAI_MODE_DELTA);
            assert_ok(udpai_subscribe_wildcard(subscription, prefix, NULL));
            assert_int_equal(subscription->view->live.n_live, count_below(some, prefix));
            udpai_subscriber_done(stream);
            all->n_streams--;
        }
    }
    free(some);
}

/* ---- peers ---- */

#define PEERS 500

static void
write_node(char node[16], size_t i)
{
    (void)snprintf(node, 16, "n%zu", i);
}

/* Nodes, which are not sent what came from them. */
static void
add_peers(crowd *all)
{
    char node[16];
    for (size_t i = 0; i < PEERS; i++) {
        udpai_subscriber *peer = add_stream(all);
        write_node(node, i);
        assert_ok(udpai_subscriber_set_except(peer, udpai_str_from(node)));
        add_wildcard(peer, "com.acme");
    }
}

/* How many places in views all items have. */
static size_t
count_places(const crowd *all)
{
    const udpai_topic *topic = udpai_topic_find(all->fanout, UDPAI_STR(TEST_CDS));
    size_t at = 0, n = 0;
    const udpai_item *item;
    while ((item = udpai_map_next(&topic->items, &at)))
        n += item->n_memberships;
    return n;
}

/* Each of them sees something else, and all the same they have one view, and what is the same for
 * many of them is composed once. */
static void
test_peers_share_what_they_are_sent(void **state)
{
    crowd *all = *state;
    char name[64], node[16];
    change_all(all, UDPAI_CHANGE_SET);
    add_peers(all);
    assert_int_equal(udpai_fanout_n_views(all->fanout), 1);
    assert_int_equal(count_places(all), RESOURCES);
    assert_int_equal(drain(all), PEERS);
    assert_int_equal(n_composed, 1);
    for (size_t i = 0; i < PEERS; i++) {
        (void)snprintf(name, sizeof(name), "com.acme/of-%zu", i);
        write_node(node, i);
        n_composed = n_items_composed = 0;
        change_from(all, name, UDPAI_CHANGE_SET, node);
        assert_int_equal(drain(all), PEERS - 1);
        assert_int_equal(n_composed, 1);
    }
    assert_int_equal(count_places(all), RESOURCES + PEERS);
}

/* What moves to a peer's own word, and back, is composed for that peer alone, and for all others
 * together. */
static void
test_what_moves_to_a_peer_is_a_removal_for_it_alone(void **state)
{
    crowd *all = *state;
    change_from(all, "com.acme/a", UDPAI_CHANGE_SET, "n1");
    add_peers(all);
    assert_int_equal(drain(all), PEERS - 1);
    n_composed = 0;
    change_from(all, "com.acme/a", UDPAI_CHANGE_REFRESH, "n2");
    assert_int_equal(drain(all), PEERS); /* n1 is sent it, n2 its end */
    assert_int_equal(n_composed, 3);
    assert_int_equal(count_places(all), 3);
    n_composed = 0;
    change_from(all, "com.acme/b", UDPAI_CHANGE_SET, NULL);
    assert_int_equal(drain(all), PEERS);
    assert_int_equal(n_composed, 1);
    n_composed = 0;
    change_from(all, "com.acme/a", UDPAI_CHANGE_REMOVE, NULL);
    assert_int_equal(drain(all), PEERS - 1);
    assert_int_equal(n_composed, 1);
}

/* Who leaves takes only what was about him. */
static void
test_a_peer_that_leaves_costs_nothing_per_item(void **state)
{
    crowd *all = *state;
    change_all(all, UDPAI_CHANGE_SET);
    add_peers(all);
    (void)drain(all);
    const udpai_item *item = udpai_log_first_after(
        &all->streams[0].subscriptions.items[0]->view->live, all->fanout->seq - 1);
    const udpai_membership *places = udpai_item_memberships(item);
    while (all->n_streams > 1) {
        udpai_subscriber_done(&all->streams[--all->n_streams]);
        udpai_wheel_advance(&all->wheel, all->wheel.now_ms + 10000);
        assert_int_equal(item->n_memberships, 1);
        assert_ptr_equal(udpai_item_memberships(item), places);
    }
    assert_int_equal(count_places(all), RESOURCES);
    assert_int_equal(udpai_fanout_n_views(all->fanout), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_namespace_costs_its_members, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prefixes_find_what_they_cover, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_hundred_thousand_go_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_peers_share_what_they_are_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_moves_to_a_peer_is_a_removal_for_it_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_peer_that_leaves_costs_nothing_per_item, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
