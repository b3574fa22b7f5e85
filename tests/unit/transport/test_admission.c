/* SPDX-License-Identifier: Apache-2.0 */
/* Which streams are admitted: limits of streams and bytes, of all and of one identity. */
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#include <stdio.h>

#include "transport/admission.h"

static const udpai_admission_words streams = {"streams", "limits.all", "limits.one"};

static udpai_admitted *
enter(udpai_admission *admission, const char *name)
{
    udpai_admitted *admitted = NULL;
    assert_ok(udpai_admission_enter(admission, &(udpai_client){.address = udpai_str_from(name)},
                                    &admitted, NULL));
    assert_non_null(admitted);
    return admitted;
}

static void
expect_limit(udpai_admission *admission, const char *name, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_admitted *admitted = NULL;
    assert_int_equal(udpai_admission_enter(admission,
                                           &(udpai_client){.address = udpai_str_from(name)},
                                           &admitted, &error),
                     UDPA_ERR_LIMIT);
    assert_null(admitted);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
test_limits(void **state)
{
    (void)state;
    udpai_admission admission;
    udpai_admission_init(&admission, &streams, 4, 2);
    udpai_admitted *a1 = enter(&admission, "a"), *a2 = enter(&admission, "a");
    assert_ptr_equal(a1, a2);
    expect_limit(&admission, "a",
                 "a has 2 streams open here, which is the limit for one peer (limits.one)");
    udpai_admitted *b = enter(&admission, "b"), *c = enter(&admission, "");
    expect_limit(&admission, "d", "serves 4 streams, which is its limit (limits.all)");
    expect_limit(&admission, "a", "serves 4 streams, which is its limit (limits.all)");
    udpai_admission_leave(&admission, b);
    expect_limit(&admission, "a",
                 "a has 2 streams open here, which is the limit for one peer (limits.one)");
    b = enter(&admission, "d");
    udpai_admission_leave(&admission, a1);
    a1 = enter(&admission, "a");
    udpai_admission_leave(&admission, a1);
    udpai_admission_leave(&admission, a2);
    udpai_admission_leave(&admission, b);
    udpai_admission_leave(&admission, c);
    assert_int_equal(admission.n, 0);
    assert_int_equal(admission.by_name.n, 0);
    udpai_admission_done(&admission);
}

/* Of all there is, a name has a quarter, but one reservation it always has. */
static void
bytes_are_reserved(void **state)
{
    (void)state;
    udpai_admission admission;
    udpai_admission_init(&admission, &streams, 10, 10);
    admission.max_reserved = 80;
    udpai_admitted *a = enter(&admission, "a"), *b = enter(&admission, "b");
    assert_int_equal(udpai_admission_reserve(&admission, a, 15), UDPAI_RESERVED);
    assert_int_equal(udpai_admission_reserve(&admission, a, 6), UDPAI_NAME_HAS_NO_ROOM);
    assert_int_equal(udpai_admission_reserve(&admission, a, 5), UDPAI_RESERVED);
    assert_int_equal(udpai_admission_reserve(&admission, b, 61), UDPAI_NO_ROOM);
    assert_int_equal(udpai_admission_reserve(&admission, b, 60), UDPAI_RESERVED);
    udpai_admission_release(&admission, a, 15);
    assert_int_equal(udpai_admission_reserve(&admission, b, 1), UDPAI_NAME_HAS_NO_ROOM);
    udpai_admission_release(&admission, b, 60);
    udpai_admission_release(&admission, a, 5);
    assert_int_equal(admission.reserved, 0);
    assert_int_equal(udpai_admission_reserve(&admission, b, 1000), UDPAI_RESERVED);
    assert_int_equal(udpai_admission_reserve(&admission, a, 1), UDPAI_NO_ROOM);
    udpai_admission_release(&admission, b, 1000);
    udpai_admission_reserve_anyway(&admission, a, 90);
    udpai_admission_release(&admission, a, 90);
    assert_int_equal(admission.reserved, 0);
    udpai_admission_leave(&admission, a);
    udpai_admission_leave(&admission, b);
    udpai_admission_done(&admission);
}

/* Who has gone costs nothing: names that come and go do not pile up. */
static void
test_names_are_forgotten(void **state)
{
    (void)state;
    udpai_admission admission;
    udpai_admission_init(&admission, &streams, 10, 10);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "peer-%d", i);
        udpai_admission_leave(&admission, enter(&admission, name));
        assert_int_equal(admission.by_name.n, 0);
    }
    udpai_admission_done(&admission);
}

/* ---- clients ---- */

static void
expect_name(const udpai_client *client, const char *expected)
{
    udpai_strbuf name = {0};
    udpai_client_put_name(&name, client);
    udpai_strbuf_puts(&name, "");
    if (!udpai_str_eq(udpai_strbuf_view(&name), udpai_str_from(expected)))
        fail_msg("%.*s is not '%s'", UDPAI_SHOWN(udpai_strbuf_view(&name)), expected);
    udpai_strbuf_done(&name);
}

static void
by_address(const char *address, const char *expected)
{
    expect_name(&(udpai_client){.address = udpai_str_from(address)}, expected);
}

/* A network of IPv6 is as easily had as one address of IPv4. */
static void
an_address_is_without_its_port_and_a_network_is_one(void **state)
{
    (void)state;
    by_address("10.1.2.3:4567", "address 10.1.2.3");
    by_address("[2001:db8:1:2:3:4:5:6]:80", "network 2001:db8:1:2::/64");
    by_address("[2001:db8:1:2::9]:81", "network 2001:db8:1:2::/64");
    by_address("[2001:db8:1:3::9]:81", "network 2001:db8:1:3::/64");
    by_address("[::ffff:10.1.2.3]:4567", "address 10.1.2.3");
    by_address("", "address ");
    by_address("unix", "address unix");
    by_address("[fe80::1%eth0]:1", "address fe80::1%eth0");
    by_address("a-name-that-is-longer-than-any-address-of-either-kind-can-be.example:1",
               "address a-name-that-is-longer-than-any-address-of-either-kind-can-be.example");
}

static void
a_certificate_goes_before_a_user_and_a_user_before_an_address(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    const udpai_identity_parts parts = {.authenticated = true,
                                        .common_name = UDPAI_STR("10.1.2.3")};
    assert_ok(udpai_identity_new(&identity, &parts));
    udpai_client client = {.address = UDPAI_STR("10.1.2.3:1")};
    expect_name(&client, "address 10.1.2.3");
    client.is_local = true;
    client.uid = 1000;
    expect_name(&client, "user 1000");
    client.identity = identity;
    expect_name(&client, "identity '10.1.2.3'");
}

/* Also where all places are taken: it has one. */
static void
who_is_known_later_counts_as_that(void **state)
{
    (void)state;
    udpai_admission admission;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_client at[] = {{.address = UDPAI_STR("10.0.0.1:1")},
                               {.address = UDPAI_STR("10.0.0.2:1")},
                               {.is_local = true, .uid = 7}};
    udpai_admitted *one, *two, *three;
    udpai_admission_init(&admission, &streams, 3, 1);
    assert_ok(udpai_admission_enter(&admission, &at[0], &one, NULL));
    assert_ok(udpai_admission_enter(&admission, &at[1], &two, NULL));
    assert_ok(udpai_admission_rename(&admission, &at[2], &one, NULL));
    assert_ok(udpai_admission_enter(&admission, &at[0], &three, NULL));
    assert_int_equal(udpai_admission_rename(&admission, &at[2], &three, &error), UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "user 7 has 1 streams open here"));
    assert_int_equal(admission.n, 3);
    assert_int_equal(admission.by_name.n, 3);
    udpai_admission_leave(&admission, one);
    assert_ok(udpai_admission_rename(&admission, &at[2], &three, NULL));
    udpai_admission_leave(&admission, two);
    udpai_admission_leave(&admission, three);
    assert_int_equal(admission.by_name.n, 0);
    udpai_admission_done(&admission);
}

static udpa_err
rename_one(void *context)
{
    (void)context;
    udpai_admission admission;
    udpai_admitted *a = NULL;
    const udpai_client first = {.address = UDPAI_STR("[2001:db8::1]:1")}, then = {.is_local = true};
    udpai_admission_init(&admission, &streams, 10, 10);
    udpa_err err = udpai_admission_enter(&admission, &first, &a, NULL);
    if (err == UDPA_OK)
        err = udpai_admission_rename(&admission, &then, &a, NULL);
    if (a)
        udpai_admission_leave(&admission, a);
    assert_int_equal(admission.by_name.n, 0);
    udpai_admission_done(&admission);
    return err;
}

static udpa_err
enter_two(void *context)
{
    (void)context;
    udpai_admission admission;
    udpai_admitted *a = NULL, *b = NULL;
    udpai_admission_init(&admission, &streams, 10, 10);
    udpa_err err =
        udpai_admission_enter(&admission, &(udpai_client){.address = UDPAI_STR("a")}, &a, NULL);
    if (err == UDPA_OK)
        err =
            udpai_admission_enter(&admission, &(udpai_client){.address = UDPAI_STR("b")}, &b, NULL);
    if (a)
        udpai_admission_leave(&admission, a);
    if (b)
        udpai_admission_leave(&admission, b);
    assert_int_equal(admission.n, 0);
    udpai_admission_done(&admission);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(enter_two, NULL);
    oom_torture(rename_one, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(bytes_are_reserved),
        cmocka_unit_test(test_names_are_forgotten),
        cmocka_unit_test(an_address_is_without_its_port_and_a_network_is_one),
        cmocka_unit_test(a_certificate_goes_before_a_user_and_a_user_before_an_address),
        cmocka_unit_test(who_is_known_later_counts_as_that),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
