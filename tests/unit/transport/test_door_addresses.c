/* SPDX-License-Identifier: Apache-2.0 */
/* Where connections come from. */
#include "transport/door/addresses.h"

#include <stdio.h>

#include "tests/harness/metered.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static udpai_addresses all;

static int
begin(void **state)
{
    (void)state;
    return udpai_addresses_init(&all, 5, 3);
}

static int
end(void **state)
{
    (void)state;
    udpai_addresses_done(&all);
    return 0;
}

static udpai_address *
enter(const char *peer, uint64_t now_ms, size_t n)
{
    udpai_address *address = NULL;
    size_t found = 0;
    assert_ok(udpai_addresses_enter(&all, &(udpai_client){.address = udpai_str_from(peer)}, now_ms,
                                    &address, &found, NULL));
    assert_int_equal(found, n);
    return address;
}

static void
refused(const char *peer, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_address *address = NULL;
    size_t n;
    assert_int_equal(udpai_addresses_enter(&all, &(udpai_client){.address = udpai_str_from(peer)},
                                           0, &address, &n, &error),
                     UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), words));
    assert_null(address);
}

static void
it_shows_how_much_is_used(void **state)
{
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    (void)state;
    assert_ok(udpai_meters_new(&meters));
    udpai_meter *used = udpai_meters_get(meters, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("connections"));
    udpai_address *first = enter("10.0.0.1:1", 0, 1);
    udpai_addresses_set_meter(&all, used);
    assert_int_equal(metered(meters, UDPAI_METRIC_LIMIT_USED, "connections"), 200000);
    udpai_address *second = enter("10.0.0.2:1", 0, 1);
    assert_int_equal(metered(meters, UDPAI_METRIC_LIMIT_USED, "connections"), 400000);
    udpai_addresses_set_max(&all, 2, 3);
    assert_int_equal(metered(meters, UDPAI_METRIC_LIMIT_USED, "connections"), 1000000);
    udpai_addresses_leave(first, 0);
    udpai_addresses_leave(second, 0);
    assert_int_equal(metered(meters, UDPAI_METRIC_LIMIT_USED, "connections"), 0);
}

static void
a_local_user_is_one(void **state)
{
    (void)state;
    const udpai_client users[] = {{.is_local = true, .uid = 7, .address = UDPAI_STR("process 1")},
                                  {.is_local = true, .uid = 7, .address = UDPAI_STR("process 2")},
                                  {.is_local = true, .uid = 8}};
    udpai_address *found[3];
    size_t n;
    for (size_t i = 0; i < 3; i++)
        assert_ok(udpai_addresses_enter(&all, &users[i], 0, &found[i], &n, NULL));
    assert_ptr_equal(found[0], found[1]);
    assert_ptr_not_equal(found[0], found[2]);
    for (size_t i = 0; i < 3; i++)
        udpai_addresses_leave(found[i], 0);
}

static void
an_identity_is_one_wherever_it_is(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *one = NULL;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *other = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_ok(udpai_identity_of_user(&one, 7));
    assert_ok(udpai_identity_of_user(&other, 8));
    const udpai_client clients[] = {{.identity = one, .address = UDPAI_STR("192.0.2.1:1")},
                                    {.identity = one, .address = UDPAI_STR("192.0.2.2:1")},
                                    {.identity = one},
                                    {.identity = other}};
    udpai_address *found[4], *more = NULL;
    size_t n;
    for (size_t i = 0; i < 4; i++)
        assert_ok(udpai_addresses_enter(&all, &clients[i], 0, &found[i], &n, NULL));
    assert_ptr_equal(found[0], found[1]);
    assert_ptr_equal(found[0], found[2]);
    assert_ptr_not_equal(found[0], found[3]);
    assert_int_equal(udpai_addresses_enter(&all, &clients[1], 0, &more, &n, &error),
                     UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "3 connections of identity 'unix:7'"));
    for (size_t i = 0; i < 4; i++)
        udpai_addresses_leave(found[i], 0);
}

static void
ports_of_one_address_are_one(void **state)
{
    (void)state;
    udpai_address *one = enter("192.0.2.1:1", 0, 1), *two = enter("192.0.2.1:2", 0, 2);
    udpai_address *other = enter("192.0.2.2:1", 0, 1);
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, other);
    udpai_addresses_leave(one, 0);
    udpai_addresses_leave(two, 0);
    udpai_addresses_leave(other, 0);
}

static void
a_network_of_64_bits_is_one(void **state)
{
    (void)state;
    udpai_address *one = enter("[2001:db8::1]:1", 0, 1);
    assert_ptr_equal(one, enter("[2001:db8::ffff:2]:1", 0, 2));
    udpai_addresses_leave(one, 0);
    udpai_addresses_leave(one, 0);
}

static void
there_are_limits_in_all_and_of_one(void **state)
{
    (void)state;
    udpai_address *one = enter("192.0.2.1:1", 0, 1);
    for (size_t i = 2; i <= 3; i++)
        assert_ptr_equal(enter("192.0.2.1:1", 0, i), one);
    refused("192.0.2.1:9", "there are 3 connections of address 192.0.2.1");
    udpai_address *two = enter("192.0.2.2:1", 0, 1), *three = enter("192.0.2.3:1", 0, 1);
    refused("192.0.2.4:1", "there are 5 connections, and more are not taken");
    udpai_addresses_set_max(&all, 6, 3);
    udpai_address *four = enter("192.0.2.4:1", 0, 1);
    for (size_t i = 0; i < 3; i++)
        udpai_addresses_leave(one, 0);
    udpai_addresses_leave(two, 0);
    udpai_addresses_leave(three, 0);
    udpai_addresses_leave(four, 0);
    udpai_addresses_leave(NULL, 0);
}

/* Who is on this machine has a way in when all others have taken theirs, and is bounded, too. */
static void
some_are_kept_for_local_users(void **state)
{
    (void)state;
    udpai_address *strangers[5], *users[4], *none = NULL;
    char peer[32];
    size_t n;
    for (unsigned i = 0; i < 5; i++) {
        snprintf(peer, sizeof(peer), "192.0.2.%u:1", i + 1);
        strangers[i] = enter(peer, 0, 1);
    }
    refused("192.0.2.9:1", "there are 5 connections, and more are not taken");
    for (uint32_t i = 0; i < 4; i++)
        assert_ok(udpai_addresses_enter(&all, &(udpai_client){.is_local = true, .uid = i}, 0,
                                        &users[i], &n, NULL));
    assert_int_equal(udpai_addresses_enter(&all, &(udpai_client){.is_local = true, .uid = 9}, 0,
                                           &none, &n, NULL),
                     UDPA_ERR_LIMIT);
    udpai_addresses_leave(strangers[0], 0);
    refused("192.0.2.9:1", "and more are not taken");
    for (size_t i = 1; i < 5; i++)
        udpai_addresses_leave(strangers[i], 0);
    for (size_t i = 0; i < 4; i++)
        udpai_addresses_leave(users[i], 0);
}

/* Who comes back at once is who he was; after ten seconds he is anybody. */
static void
it_is_remembered_for_a_while(void **state)
{
    (void)state;
    udpai_address *one = enter("192.0.2.1:1", 1000, 1);
    one->resets.left = 7;
    udpai_addresses_leave(one, 2000);
    one = enter("192.0.2.1:2", 11999, 1);
    assert_int_equal(one->resets.left, 7);
    udpai_addresses_leave(one, 12000);
    assert_int_equal(all.n_left, 1);
    one = enter("192.0.2.1:2", 22000, 1);
    assert_int_equal(one->resets.left, 0);
    assert_false(one->is_used);
    udpai_addresses_leave(one, 22000);
}

static void
not_too_many_are(void **state)
{
    (void)state;
    char peer[32];
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(peer, sizeof(peer), "10.0.%u.%u:1", i / 256, i % 256);
        udpai_addresses_leave(enter(peer, 0, 1), 0);
    }
    assert_int_equal(all.n_left, 4096);
    assert_int_equal(all.by_name.n, 4096);
}

static udpa_err
enter_and_leave(void *context)
{
    udpai_address *address = NULL;
    size_t n;
    (void)context;
    udpa_err err = udpai_addresses_enter(
        &all, &(udpai_client){.address = UDPAI_STR("198.51.100.1:1")}, 0, &address, &n, NULL);
    if (err == UDPA_OK)
        udpai_addresses_leave(address, 0);
    udpai_addresses_done(&all);
    assert_ok(udpai_addresses_init(&all, 5, 3));
    return err;
}

static void
without_memory_nobody_enters(void **state)
{
    (void)state;
    oom_torture(enter_and_leave, NULL);
    assert_int_equal(all.n, 0);
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(an_identity_is_one_wherever_it_is),
        CASE(ports_of_one_address_are_one),
        CASE(a_local_user_is_one),
        CASE(it_shows_how_much_is_used),
        CASE(a_network_of_64_bits_is_one),
        CASE(there_are_limits_in_all_and_of_one),
        CASE(some_are_kept_for_local_users),
        CASE(it_is_remembered_for_a_while),
        CASE(not_too_many_are),
        CASE(without_memory_nobody_enters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
