/* SPDX-License-Identifier: Apache-2.0 */
/* The store without memory: a call that fails changes nothing and can be made again; what was not
 * told for lack of memory is told by the next look. */
#include "tests/unit/store/store_test.h"

#define ROUNDS_MAX 2000

struct life {
    store_bed *bed;
    udpai_origin *one, *other;
    udpa_resource *held[2]; /* of a and b: what was told last */
    size_t n_kept;          /* ops that came out of take_durable() */
    bool kept_is_unsafe;
};

static udpa_err
put(struct life *life, udpai_origin *origin, const char *name, const char *value)
{
    /* The resource is the caller's; only the store is to be without memory. */
    udpa_resource *resource = RESOURCE(name, .value = value, .generation = 5, .authority = "x");
    if (!resource)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_store_put(life->bed->store, origin, resource, 0, NULL);
    udpa_resource_unref(resource);
    return err;
}

static udpa_err
take(struct life *life)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = NULL;
    udpa_err err = udpai_store_take_changes(life->bed->store, &set);
    for (size_t i = 0; set && i < udpai_change_set_size(set); i++) {
        const udpai_change *change = udpai_change_set_at(set, i);
        udpai_str name = udpai_resource_name(change->resource);
        udpa_resource **held = &life->held[name.data[name.len - 1] == 'b'];
        assert_true(*held || change->kind == UDPAI_CHANGE_SET);
        udpa_resource_unref(*held);
        *held = change->kind == UDPAI_CHANGE_REMOVE ? NULL : udpa_resource_ref(change->resource);
    }
    return err;
}

static udpa_err
take_durable(struct life *life)
{
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *batch = NULL;
    if (udpai_store_take_durable(life->bed->store, &batch) != UDPA_OK)
        life->kept_is_unsafe = true;
    life->n_kept += batch ? batch->ops.n : 0;
    return UDPA_OK;
}

/* One step of a store's life; true: there was one. */
static bool
step(struct life *life, unsigned number, udpa_err *ret_err)
{
    udpai_store *store = life->bed->store;
    udpa_err err = UDPA_OK;
    switch (number) {
    case 0:
        life->one = udpai_store_origin(store, UDPAI_STR("one"));
        err = life->one ? UDPA_OK : UDPA_ERR_NOMEM;
        if (life->one)
            udpai_origin_ref(life->one);
        break;
    case 1:
        life->other = udpai_store_origin(store, UDPAI_STR("other"));
        err = life->other ? UDPA_OK : UDPA_ERR_NOMEM;
        if (life->other)
            udpai_origin_ref(life->other);
        break;
    case 2:
        udpai_origin_set_durable(life->one, true);
        udpai_origin_set_rank(store, life->other, UDPAI_ORIGIN_SOURCE, 1);
        err = udpai_origin_set_eligible(store, life->other, UDPAI_STR(TEST_TYPE), true);
        break;
    case 3:
        err = put(life, life->one, "com.acme/a", "1");
        break;
    case 4:
        err = put(life, life->other, "com.acme/a", "2");
        break;
    case 5:
        err = put(life, life->other, "com.acme/b", "2");
        break;
    case 6:
    case 8:
    case 12:
        err = take(life);
        break;
    case 7:
        err = put(life, life->one, "com.acme/b", "1");
        break;
    case 9:
        udpai_store_withdraw(store, life->one, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a"));
        udpai_store_withdraw(store, life->other, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a"));
        break;
    case 10:
        err = udpai_origin_set_eligible(store, life->one, UDPAI_STR(TEST_TYPE), false);
        break;
    case 11:
        err = udpai_store_note(store, UDPAI_DURABLE_MARK, life->one, UDPAI_STR(TEST_TYPE),
                               (udpai_str){0});
        break;
    case 13:
        err = take_durable(life);
        break;
    default:
        return false;
    }
    *ret_err = err;
    return true;
}

/* Lives once with so many allocations before the first failure; after it there is memory again, and
 * the step is made once more. True: nothing failed. */
static bool
live(long n)
{
    store_bed bed;
    struct life life = {.bed = &bed};
    store_bed_init(&bed);
    bool failed = false;
    udpa_err err;
    udpai_alloc_fail_after(n);
    for (unsigned number = 0; step(&life, number, &err); number++) {
        if (err == UDPA_OK)
            continue;
        assert_int_equal(err, UDPA_ERR_NOMEM);
        assert_false(failed);
        udpai_alloc_fail_after(-1);
        failed = true;
        assert_true(step(&life, number, &err));
        assert_ok(err);
    }
    udpai_alloc_fail_after(-1);
    /* What was asked without an answer may have been lost, and what is told then is nothing
     * wrong. */
    assert_ok(take(&life));
    assert_ok(take_durable(&life));
    assert_null(life.held[0]);
    assert_non_null(life.held[1]);
    assert_str(udpai_resource_value(life.held[1]), "2");
    assert_true(life.kept_is_unsafe || life.n_kept == 4);
    udpa_resource_unref(life.held[1]);
    store_bed_done(&bed);
    assert_int_equal(udpai_alloc_live(), 0);
    return !failed && !life.kept_is_unsafe;
}

static void
test_every_allocation_may_fail(void **state)
{
    (void)state;
    long n = 0;
    while (!live(n))
        assert_true(++n < ROUNDS_MAX);
    assert_true(n > 30);
}

static void
test_a_new_store_needs_memory(void **state)
{
    (void)state;
    udpai_wheel wheel;
    udpai_wheel_init(&wheel, 0);
    udpai_store *store = NULL;
    udpai_alloc_fail_after(0);
    assert_int_equal(udpai_store_new(&store, &wheel, &(udpai_store_options){0}), UDPA_ERR_NOMEM);
    udpai_alloc_fail_after(-1);
    assert_null(store);
    assert_null(udpai_store_free(NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_a_new_store_needs_memory),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
