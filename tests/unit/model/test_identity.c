/* SPDX-License-Identifier: Apache-2.0 */
/* Identities: their one name, and all that they are called by. */
#include "model/identity.h"

#include "tests/harness/oom.h"

static const udpai_str uris[] = {{"spiffe://acme/edge", 18}, {"urn:x", 5}};
static const udpai_str dns_names[] = {{"edge.acme.test", 14}, {"*.acme.test", 11}};

static udpai_identity *
identity_of(const char *common_name, size_t n_uris, size_t n_dns_names)
{
    udpai_identity *identity = NULL;
    const udpai_identity_parts parts = {
        .common_name = udpai_str_from(common_name),
        .uris = uris,
        .n_uris = n_uris,
        .dns_names = dns_names,
        .n_dns_names = n_dns_names,
        .authenticated = true,
    };
    assert_ok(udpai_identity_new(&identity, &parts));
    return identity;
}

static void
a_user_has_one_name(void **state)
{
    (void)state;
    static const udpai_str pattern = {"unix:4294967295", 15}, other = {"unix:0", 6};
    udpai_identity *identity = NULL;
    assert_ok(udpai_identity_of_user(&identity, UINT32_MAX));
    assert_str(udpai_identity_name(identity), "unix:4294967295");
    assert_true(udpai_identity_fits(identity, &pattern, 1));
    assert_false(udpai_identity_fits(identity, &other, 1));
    udpai_identity_unref(identity);
}

static void
everything_is_copied(void **state)
{
    (void)state;
    char text[] = "edge";
    udpai_identity *identity = identity_of(text, 2, 2);
    memset(text, 'x', sizeof(text));
    const udpai_identity_parts *parts = udpai_identity_parts_of(identity);
    assert_str(parts->common_name, "edge");
    assert_true(parts->authenticated);
    assert_int_equal(parts->n_uris, 2);
    assert_int_equal(parts->n_dns_names, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_ptr_not_equal(parts->uris[i].data, uris[i].data);
        assert_string_equal(parts->uris[i].data, uris[i].data); /* with a NUL */
        assert_string_equal(parts->dns_names[i].data, dns_names[i].data);
    }
    udpai_identity_unref(identity);
}

static void
the_name_is_the_first_there_is(void **state)
{
    (void)state;

    static const struct {
        const char *common_name;
        size_t n_uris, n_dns_names;
        const char *name;
    } cases[] = {
        {"edge", 2, 2, "edge"}, {"", 2, 2, "spiffe://acme/edge"},   {"", 0, 2, "edge.acme.test"},
        {"", 0, 0, ""},         {NULL, 1, 0, "spiffe://acme/edge"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_identity *identity =
            identity_of(cases[i].common_name, cases[i].n_uris, cases[i].n_dns_names);
        assert_str(udpai_identity_name(identity), cases[i].name);
        udpai_identity_unref(identity);
    }
    assert_str(udpai_identity_name(NULL), "");
}

static void
any_of_its_names_matches_and_nothing_else(void **state)
{
    (void)state;
    static const char *const others[] = {"",      "EDGE", "edg",         "edge ",
                                         "urn:y", "a",    "x.acme.test", "spiffe://acme/edge/"};
    udpai_identity *identity = identity_of("edge", 2, 2);
    assert_true(udpai_identity_matches(identity, UDPAI_STR("edge")));
    for (size_t i = 0; i < 2; i++) {
        assert_true(udpai_identity_matches(identity, uris[i]));
        assert_true(udpai_identity_matches(identity, dns_names[i]));
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++)
        assert_false(udpai_identity_matches(identity, udpai_str_from(others[i])));
    assert_false(udpai_identity_matches(identity, UDPAI_STR("edge\0")));
    udpai_identity_unref(identity);
    identity = identity_of("", 0, 0);
    assert_false(udpai_identity_matches(identity, UDPAI_STR("")));
    assert_false(udpai_identity_matches(NULL, UDPAI_STR("edge")));
    udpai_identity_unref(identity);
}

static void
a_peer_counts_as_its_name_or_its_address(void **state)
{
    (void)state;
    udpai_identity *identity = identity_of("edge", 0, 0);
    assert_str(udpai_peer_counts_as(identity, UDPAI_STR("192.0.2.1:4242")), "edge");
    udpai_identity_unref(identity);
    assert_str(udpai_peer_counts_as(NULL, UDPAI_STR("192.0.2.1:4242")), "192.0.2.1");
    assert_str(udpai_peer_counts_as(NULL, UDPAI_STR("[2001:db8::1]:4242")), "[2001:db8::1]");
    assert_str(udpai_peer_counts_as(NULL, UDPAI_STR("unix")), "unix");
    assert_str(udpai_peer_counts_as(NULL, (udpai_str){0}), "");
}

static void
references_are_counted(void **state)
{
    (void)state;
    udpai_identity *identity = identity_of("edge", 1, 1);
    assert_ptr_equal(udpai_identity_ref(identity), identity);
    assert_null(udpai_identity_unref(identity));
    assert_str(udpai_identity_name(identity), "edge");
    assert_null(udpai_identity_unref(identity));
    assert_null(udpai_identity_ref(NULL));
    assert_null(udpai_identity_unref(NULL));
}

static udpa_err
make(void *context)
{
    (void)context;
    udpai_identity *identity = NULL;
    udpa_err err =
        udpai_identity_new(&identity, &(udpai_identity_parts){.uris = uris, .n_uris = 2});
    udpai_identity_unref(identity);
    return err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    (void)state;
    assert_int_equal(oom_torture(make, NULL), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_copied),
        cmocka_unit_test(a_user_has_one_name),
        cmocka_unit_test(the_name_is_the_first_there_is),
        cmocka_unit_test(any_of_its_names_matches_and_nothing_else),
        cmocka_unit_test(a_peer_counts_as_its_name_or_its_address),
        cmocka_unit_test(references_are_counted),
        cmocka_unit_test(lack_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests_name("model identity", tests, NULL, NULL);
}
