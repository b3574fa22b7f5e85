/* SPDX-License-Identifier: Apache-2.0 */
/* The fan-out without memory: a call that fails says so, nothing breaks, and a reader that begins
 * anew when there is memory again is sent everything. A change that failed is made up for by doing
 * it again: the mirror is then what it would have been. */
#include "fanout/fanout_internal.h"
#include "tests/unit/fanout/fanout_test.h"

#define ROUNDS_MAX 4000

struct life {
    fanout_bed bed;
    fanout_reader reader;
    udpai_subscription *cds, *eds;
};

static udpa_err
get(udpai_subscription **subscription, struct life *life, const char *type)
{
    *subscription =
        udpai_subscriber_get(&life->reader.subscriber, udpai_str_from(type), UDPAI_MODE_DELTA);
    return *subscription ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* Everything there is, until it fails. */
static udpa_err
read_all(struct life *life)
{
    for (size_t i = 0; i < 100; i++) {
        udpai_delivery delivery = {0};
        udpa_err err = udpai_subscriber_next(&life->reader.subscriber, &delivery);
        if (err != UDPA_OK)
            return err;
        if (!delivery.body)
            return UDPA_OK;
        fanout_receive(&life->reader, &delivery);
        udpai_body_unref(delivery.body);
    }
    fail_msg("there is no end");
    return UDPA_OK;
}

static udpa_err
settle(struct life *life)
{
    udpai_settled *settled = udpai_settled_new(&(udpai_settled_facts){0});
    if (!settled)
        return UDPA_ERR_NOMEM;
    udpai_fanout_set_settled(life->bed.fanout, settled);
    return UDPA_OK;
}

/* One step; false: there is none. */
static bool
step(struct life *life, unsigned number, udpa_err *ret_err)
{
    static const udpai_str a = {"com.acme/a", 10}, none = {"com.acme/none", 13};
    switch (number) {
    case 0:
        *ret_err = get(&life->cds, life, TEST_CDS);
        break;
    case 1:
        *ret_err = get(&life->eds, life, TEST_EDS);
        break;
    case 2:
        *ret_err = udpai_subscribe_wildcard(life->cds, UDPAI_STR("com.acme"), NULL);
        break;
    case 3:
        *ret_err = udpai_subscribe_name(life->eds, a, NULL);
        break;
    case 4:
        *ret_err = udpai_subscribe_name(life->eds, none, NULL);
        break;
    case 5:
        *ret_err = udpai_subscription_await_complete(life->eds, (udpai_str){0}, &none, 1);
        break;
    case 7:
        *ret_err = settle(life);
        break;
    case 8:
        *ret_err = udpai_subscriber_set_except(&life->reader.subscriber, UDPAI_STR("n1"));
        break;
    case 9:
        *ret_err = udpai_subscribe_wildcard(life->cds, UDPAI_STR("org"), NULL);
        break;
    case 6:
    case 10:
        *ret_err = read_all(life);
        break;
    default:
        return false;
    }
    return true;
}

static void
check(struct life *life)
{
    fanout_reader *reader = &life->reader;
    assert_string_equal(fanout_holds(reader, "CDS", "a"), "2");
    assert_string_equal(fanout_holds(reader, "CDS", "/org/x"), "1");
    assert_string_equal(fanout_holds(reader, "EDS", "a"), "1");
    assert_string_equal(fanout_holds(reader, "CDS", "from1"), "");
    assert_true(udpai_subscriber_in_sync(&reader->subscriber));
}

static udpa_err
read_from_the_beginning(struct life *life)
{
    udpa_err err = UDPA_OK;
    fanout_open(&life->reader, &life->bed);
    for (unsigned number = 0; err == UDPA_OK && step(life, number, &err); number++)
        ;
    return err;
}

/* Lives once with so many allocations before the first failure. True: nothing failed. */
static bool
live(long n)
{
    struct life *life = calloc(1, sizeof(*life));
    assert_non_null(life);
    fanout_bed_init(&life->bed);
    fanout_change(&life->bed, "+CDS/a=1 +CDS/b=1 +CDS/from1=1@n1 +EDS/a=1 +CDS//org/x=1^/org/y");
    fanout_change(&life->bed, "+CDS/a=2 -CDS/b");
    udpai_alloc_fail_after(n);
    udpa_err err = read_from_the_beginning(life);
    udpai_alloc_fail_after(-1);
    bool failed = err != UDPA_OK;
    if (failed) {
        assert_int_equal(err, UDPA_ERR_NOMEM);
        fanout_close(&life->reader);
        assert_ok(read_from_the_beginning(life));
    }
    check(life);
    fanout_close(&life->reader);
    fanout_bed_done(&life->bed);
    free(life);
    assert_int_equal(udpai_alloc_live(), 0);
    return !failed;
}

static void
test_every_allocation_of_a_reader_may_fail(void **state)
{
    (void)state;
    long n = 0;
    while (!live(n))
        assert_true(++n < ROUNDS_MAX);
    assert_true(n > 40);
}

/* ---- changes ---- */

/* Views that keep few removals, one of them not shown all, a state, and names. */
struct audience {
    fanout_bed bed;
    fanout_reader all, some, except, source, state, names, variants;
    fanout_renderer selecting;
};

/* Every way in which a change touches the mirror; each line is one change set. */
static const char *const history[] = {
    "+CDS/a=1 +CDS/b=1^y +EDS/c=1^*.x +CDS/d=1@n1 +CDS/sub/e=1",
    "+CDS/a=2 -CDS/b +EDS/d=1^*.x^q +CDS/f=1^y^*.y",
    "-CDS/a -CDS/d -CDS/sub/e +CDS/g=1 +CDS/h=1 +CDS/i=1 +CDS/j=1 +CDS/k=1 +CDS/l=1 +CDS/m=1",
    "~CDS/g=1%5000 +CDS/h=1$ +CDS/a=3^y^z -CDS/none +CDS/d=2 -EDS/c",
    "+CDS/h=2 +CDS/f=2^*.y -CDS/g -CDS/i -CDS/j -CDS/k -CDS/l +CDS/sub/e=2@n1^y",
    "-CDS/a -CDS/m -CDS/h -EDS/d +RDS/a=1 -CDS/f -CDS/d -CDS/sub/e",
    "+CDS/v1=1^v;env~prod +CDS/v2=2^v;env~test +CDS/v3=3^w;env",
    "+CDS/v1=1^v;env~prod&zone +CDS/v2=2^w;env~test -CDS/v3 +CDS/v=0 +CDS/v4=4^v;env~prod",
    "-CDS/v1 +CDS/v2=3 -CDS/v +CDS/v4=5^v;env~test",
    "+CDS/s=1>1 +CDS/t=1>2 +CDS/u=1>12%5000",
    "~CDS/s=1>2 ~CDS/t=1>1 +CDS/u=2>2",
};

static void
open_audience(struct audience *self)
{
    fanout_bed_init(&self->bed);
    self->bed.options.tombstones_min = 2;
    fanout_bed_restart(&self->bed);
    fanout_settle(&self->bed);
    fanout_open(&self->all, &self->bed);
    fanout_open(&self->some, &self->bed);
    fanout_open(&self->except, &self->bed);
    fanout_open(&self->state, &self->bed);
    fanout_open(&self->names, &self->bed);
    fanout_wildcard(&self->all, "CDS", "");
    fanout_wildcard(&self->some, "CDS", "com.acme/sub");
    assert_ok(udpai_subscriber_set_except(&self->except.subscriber, UDPAI_STR("n1")));
    fanout_wildcard(&self->except, "CDS", "com.acme");
    fanout_open(&self->source, &self->bed);
    assert_ok(udpai_subscriber_set_link(&self->source.subscriber, 1));
    fanout_wildcard(&self->source, "CDS", "com.acme");
    fanout_in_mode(&self->state, "CDS", UDPAI_MODE_STATE);
    fanout_wildcard(&self->state, "CDS", "com.acme");
    self->selecting = self->bed.renderer;
    self->selecting.base.selects_variants = true;
    fanout_open_with(&self->variants, &self->bed, &self->selecting);
    assert_ok(udpai_subscription_distinguish_variants(fanout_of(&self->variants, "CDS")));
    fanout_ask(&self->variants, "CDS", "v;env~prod v;env~test&zone~1 v w;env~test");
    fanout_ask(&self->names, "CDS", "a y none v w");
    fanout_ask(&self->names, "EDS", "foo.x q");
}

static void
close_audience(struct audience *self)
{
    fanout_close(&self->all);
    fanout_close(&self->some);
    fanout_close(&self->except);
    fanout_close(&self->source);
    fanout_close(&self->state);
    fanout_close(&self->names);
    fanout_close(&self->variants);
    fanout_bed_done(&self->bed);
}

/* With memory for so many allocations (-1: for all), then for none, then for one more with each
 * call. Returns how often it failed. */
static size_t
apply_at_last(fanout_bed *bed, const udpai_change_set *changes, long memory)
{
    size_t place = 0, n_failed = 0;
    for (;; memory = (long)n_failed++) {
        udpai_alloc_fail_after(memory);
        udpa_err err = udpai_fanout_apply(bed->fanout, changes, &place);
        udpai_alloc_fail_after(-1);
        if (err == UDPA_OK)
            return n_failed;
        assert_int_equal(err, UDPA_ERR_NOMEM);
        assert_true(n_failed < ROUNDS_MAX);
    }
}

static void
expect_same_log(const udpai_log *a, const udpai_log *b)
{
    uint64_t after_a = 0, after_b = 0;
    const udpai_item *one, *other;
    assert_int_equal(a->n_live, b->n_live);
    while ((one = udpai_log_first_after(a, after_a))) {
        other = udpai_log_first_after(b, after_b);
        assert_non_null(other);
        assert_true(udpai_str_eq(udpai_item_name(one), udpai_item_name(other)));
        assert_int_equal(one->seq, other->seq);
        after_a = one->seq;
        after_b = other->seq;
    }
    assert_null(udpai_log_first_after(b, after_b));
}

static void
expect_same_views(const udpai_topic *a, const udpai_topic *b)
{
    const udpai_list *at = b->views.next;
    UDPAI_LIST_FOREACH (node, &a->views) {
        const udpai_view *one = UDPAI_LIST_ENTRY(node, udpai_view, in_topic);
        const udpai_view *other = UDPAI_LIST_ENTRY(at, const udpai_view, in_topic);
        assert_true(at != &b->views);
        expect_same_log(&one->live, &other->live);
        expect_same_log(&one->tombstones, &other->tombstones);
        assert_int_equal(one->set_hash.high, other->set_hash.high);
        assert_int_equal(one->set_hash.low, other->set_hash.low);
        assert_int_equal(one->changed_seq, other->changed_seq);
        assert_int_equal(one->tombstone_horizon, other->tombstone_horizon);
        at = at->next;
    }
    assert_true(at == &b->views);
}

static void
expect_same_item(const udpai_item *a, const udpai_item *b)
{
    assert_int_equal(a->resource != NULL, b->resource != NULL);
    if (a->resource)
        assert_true(udpai_resource_same_payload(a->resource, b->resource));
    assert_int_equal(udpai_item_last(a) != NULL, udpai_item_last(b) != NULL);
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->previous_seq, b->previous_seq);
    assert_int_equal(a->payload_seq, b->payload_seq);
    assert_int_equal(a->content_seq, b->content_seq);
    assert_int_equal(udpai_item_deadline(a), udpai_item_deadline(b));
    assert_int_equal(a->n_pins, b->n_pins);
    assert_int_equal(a->n_memberships, b->n_memberships);
    for (size_t i = 0; i < a->n_memberships; i++) {
        const udpai_membership *x = &udpai_item_memberships(a)[i],
                               *y = &udpai_item_memberships(b)[i];
        assert_int_equal(x->entered_seq, y->entered_seq);
        assert_int_equal(x->is_tombstone, y->is_tombstone);
    }
}

static void
expect_same_topic(const udpai_topic *a, const udpai_topic *b)
{
    size_t at = 0;
    const udpai_item *item;
    const udpai_alias *alias;
    assert_int_equal(a->n_live, b->n_live);
    assert_int_equal(a->items.n, b->items.n);
    while ((item = udpai_map_next(&a->items, &at))) {
        const udpai_item *other = udpai_item_find(b, udpai_item_name(item));
        assert_non_null(other);
        expect_same_item(item, other);
    }
    assert_int_equal(a->n_patterns, b->n_patterns);
    assert_int_equal(a->aliases.n, b->aliases.n);
    for (at = 0; (alias = udpai_map_next(&a->aliases, &at));) {
        const udpai_alias *other =
            udpai_map_get(&b->aliases, (udpai_str){alias->name, alias->name_len});
        assert_non_null(other);
        assert_int_equal(alias->items.n, other->items.n);
    }
    expect_same_views(a, b);
}

static void
expect_same(struct audience *a, struct audience *b)
{
    size_t at = 0;
    const udpai_topic *topic;
    assert_int_equal(a->bed.fanout->seq, b->bed.fanout->seq);
    assert_int_equal(a->bed.fanout->n_resources, b->bed.fanout->n_resources);
    assert_int_equal(a->bed.fanout->topics.n, b->bed.fanout->topics.n);
    while ((topic = udpai_map_next(&a->bed.fanout->topics, &at))) {
        const udpai_topic *other = udpai_topic_find(b->bed.fanout, udpai_topic_url(topic));
        assert_non_null(other);
        expect_same_topic(topic, other);
    }
}

static void
expect_same_words(fanout_reader *a, fanout_reader *b)
{
    const char *words;
    do {
        words = fanout_next(a);
        assert_string_equal(words, fanout_next(b));
    } while (*words && strcmp(words, "ABORTED") != 0);
}

static void
expect_same_to_read(struct audience *a, struct audience *b)
{
    static fanout_reader one, other;
    fanout_open(&one, &a->bed);
    fanout_open(&other, &b->bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&other, "CDS", "");
    fanout_ask(&one, "CDS", "y z w.y a");
    fanout_ask(&other, "CDS", "y z w.y a");
    expect_same_words(&one, &other);
    fanout_close(&one);
    fanout_close(&other);
}

/* One change set has little memory, the others have all they want. */
static size_t
live_with_failures_in(size_t which, long memory, bool reads)
{
    static struct audience plain, starved;
    size_t n_failed = 0;
    open_audience(&plain);
    open_audience(&starved);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(history); i++) {
        UDPA_AUTO(udpai_change_set_unref) udpai_change_set *changes = fanout_changes(history[i]);
        assert_non_null(changes);
        (void)apply_at_last(&plain.bed, changes, -1);
        n_failed += apply_at_last(&starved.bed, changes, i == which ? memory : -1);
        expect_same(&plain, &starved);
        if (!reads && i + 1 < UDPAI_ARRAY_LEN(history))
            continue;
        expect_same_words(&plain.all, &starved.all);
        expect_same_words(&plain.some, &starved.some);
        expect_same_words(&plain.except, &starved.except);
        expect_same_words(&plain.state, &starved.state);
        expect_same_words(&plain.names, &starved.names);
        expect_same_words(&plain.variants, &starved.variants);
        expect_same_to_read(&plain, &starved);
    }
    close_audience(&plain);
    close_audience(&starved);
    assert_int_equal(udpai_alloc_live(), 0);
    return n_failed;
}

static void
test_every_allocation_of_a_change_may_fail(void **state)
{
    (void)state;
    size_t n_failed = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(history); i++) {
        for (long memory = 0; live_with_failures_in(i, memory, memory % 2 == 0); memory++)
            n_failed++;
    }
    assert_true(n_failed > 30);
}

/* All sessions have ended by then. */
static void
test_a_mirror_may_end_in_the_midst_of_a_change(void **state)
{
    (void)state;
    static struct audience half;
    udpa_err err = UDPA_ERR_NOMEM;
    for (long n = 0; err != UDPA_OK; n++) {
        open_audience(&half);
        UDPA_AUTO(udpai_change_set_unref) udpai_change_set *changes = fanout_changes(history[0]);
        size_t place = 0;
        udpai_alloc_fail_after(n);
        err = udpai_fanout_apply(half.bed.fanout, changes, &place);
        udpai_alloc_fail_after(-1);
        close_audience(&half);
    }
    assert_int_equal(udpai_alloc_live(), 0);
}

static void
test_a_new_fanout_needs_memory(void **state)
{
    (void)state;
    udpai_wheel wheel;
    udpai_wheel_init(&wheel, 0);
    udpai_fanout *fanout = NULL;
    udpai_alloc_fail_after(0);
    assert_int_equal(udpai_fanout_new(&fanout, &wheel, &(udpai_fanout_options){0}), UDPA_ERR_NOMEM);
    assert_null(udpai_body_new());
    udpai_alloc_fail_after(-1);
    assert_null(fanout);
    assert_null(udpai_fanout_free(NULL));
    assert_null(udpai_body_ref(NULL));
    assert_null(udpai_body_unref(NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_of_a_reader_may_fail),
        cmocka_unit_test(test_every_allocation_of_a_change_may_fail),
        cmocka_unit_test(test_a_mirror_may_end_in_the_midst_of_a_change),
        cmocka_unit_test(test_a_new_fanout_needs_memory),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
