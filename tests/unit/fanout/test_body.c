/* SPDX-License-Identifier: Apache-2.0 */
/* What a body holds can be told when the body has gone. */
#include "fanout/body.h"

#include "tests/harness/resources.h"

static udpai_body *
body_of_two(void)
{
    udpai_body *body = udpai_body_new();
    assert_non_null(body);
    assert_true(udpai_vector_reserve(&body->resources, 2));
    body->resources.items[body->resources.n++] =
        RESOURCE("com.acme/a", .version = "1", .value = "x");
    body->resources.items[body->resources.n++] =
        RESOURCE("com.acme/bb", .version = "22", .value = "y");
    return body;
}

static void
a_listing_outlives_its_body(void **state)
{
    (void)state;
    udpai_body *body = body_of_two();
    udpai_listing *listing = udpai_body_list(body), *same = udpai_body_list(body);
    assert_ptr_equal(listing, same); /* all share it */
    udpai_body_unref(body);
    udpai_listing_unref(same);
    assert_int_equal(udpai_alloc_live(), 1);
    assert_int_equal(listing->n, 2);
    assert_str(listing->resources[0].name, "com.acme/a");
    assert_str(listing->resources[0].version, "1");
    assert_str(listing->resources[1].name, "com.acme/bb");
    assert_str(listing->resources[1].version, "22");
    assert_null(udpai_listing_unref(listing));
    assert_null(udpai_listing_unref(NULL));
    assert_int_equal(udpai_alloc_live(), 0);
}

static void
of_nothing_it_is_empty(void **state)
{
    (void)state;
    udpai_body *body = udpai_body_new();
    udpai_listing *listing = udpai_body_list(body);
    assert_int_equal(listing->n, 0);
    udpai_listing_unref(listing);
    udpai_body_unref(body);
}

static void
without_memory_there_is_none_yet(void **state)
{
    (void)state;
    udpai_body *body = body_of_two();
    udpai_alloc_fail_after(0);
    assert_null(udpai_body_list(body));
    udpai_alloc_fail_after(-1);
    udpai_listing *listing = udpai_body_list(body);
    assert_non_null(listing);
    udpai_listing_unref(listing);
    udpai_body_unref(body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listing_outlives_its_body),
        cmocka_unit_test(of_nothing_it_is_empty),
        cmocka_unit_test(without_memory_there_is_none_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
