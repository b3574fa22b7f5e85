/* SPDX-License-Identifier: Apache-2.0 */
/* Clients' names and UDPA's, both ways. */
#include "tests/harness/test.h"
#include "xds/names.h"

static const udpai_str namespaces[] = {{"com.acme", 8}, {"org.corp/team", 13}};

static const udpai_xdstp_authority authorities[] = {
    {{"Listed:80", 9}, {"com.acme/listed", 15}},
    {{"hidden", 6}, {"org.hidden", 10}},
};

static const udpai_xds_audience audience = {
    .authorities = {authorities, 2},
    .default_namespace = {"local", 5},
    .namespaces = namespaces,
    .n_namespaces = 2,
};

/* NULL: it cannot be a name. */
static void
expect_full(const char *client_name, const char *expected)
{
    char room[UDPAI_NAME_MAX];
    udpai_str name = {0};
    bool can = udpai_xds_name_from_client(&audience, udpai_str_from(client_name), room, &name);
    assert_int_equal(can, expected != NULL);
    if (expected)
        assert_str(name, expected);
}

/* NULL: clients cannot name it. */
static void
expect_client(const char *full, const char *expected)
{
    udpai_str name = {0};
    bool can = udpai_xds_name_to_client(&audience, udpai_str_from(full), &name);
    assert_int_equal(can, expected != NULL);
    if (expected)
        assert_str(name, expected);
}

static void
plain_names_lie_in_the_default_namespace(void **state)
{
    (void)state;
    expect_full("foo", "local/foo");
    expect_full("default/eg/http", "local/default/eg/http");
    expect_full("route/host.example.com", "local/route/host.example.com");
    expect_full("outbound|80||svc.ns.svc.cluster.local",
                "local/outbound|80||svc.ns.svc.cluster.local");
    expect_full("local/foo", "local/local/foo"); /* nobody listed it */
    expect_full("Häuser/ü", "local/Häuser/ü");
}

static void
listed_namespaces_begin_full_names_at_a_border(void **state)
{
    (void)state;
    expect_full("com.acme/foo", "com.acme/foo");
    expect_full("com.acme.eu/foo", "com.acme.eu/foo");
    expect_full("com.acmecorp/foo", "local/com.acmecorp/foo");
    expect_full("com.acme", "local/com.acme"); /* it has no id */
    expect_full("com.acme.", "local/com.acme.");
    expect_full("com.acme.EU/foo", "local/com.acme.EU/foo"); /* no namespace is called so */
    expect_full("org.corp/team/foo", "org.corp/team/foo");
    expect_full("org.corp/teams/foo", "local/org.corp/teams/foo");
    expect_full("org.corp/other", "local/org.corp/other");
}

static void
the_wildcard_and_nothing_are_no_names(void **state)
{
    (void)state;
    expect_full("*", NULL);
    expect_full("", NULL);
    expect_full("**", "local/**");
}

#define T "envoy.config.cluster.v3.Cluster"

/* What it stands for; NULL: it is refused with this code. */
static void
expect_resolved(const char *name, const char *expected, udpa_err code)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_xds_name resolved;
    udpa_err err = udpai_xds_name_resolve(&audience, UDPAI_STR("type.googleapis.com/" T),
                                          udpai_str_from(name), &resolved, &error);
    assert_int_equal(err, expected ? UDPA_OK : code);
    assert_int_equal(udpa_error_code(error), err);
    if (expected)
        assert_str(resolved.full, expected);
}

static void
xdstp_names_say_their_namespace_by_their_authority(void **state)
{
    (void)state;
    expect_resolved("xdstp://com.acme/" T "/a?y=2&x=1", "com.acme/a?x=1&y=2", UDPA_OK);
    expect_resolved("xdstp://com.acme.eu/" T "/a", "com.acme.eu/a", UDPA_OK);
    expect_resolved("xdstp:///" T "/a", "local/a", UDPA_OK);
    expect_resolved("xdstp://local/" T "/com.acme/a", "local/com.acme/a", UDPA_OK);
    expect_resolved("xdstp://org.corp/" T "/team/a", "org.corp/team/a", UDPA_OK);
    expect_resolved("xdstp://Listed:80/" T "/a", "com.acme/listed/a", UDPA_OK);
    expect_resolved("xdstp://com.acme/" T "/foo/*", "com.acme/foo/*", UDPA_OK);
    expect_resolved("plain", "local/plain", UDPA_OK);
}

static void
xdstp_names_outside_what_is_shown_are_denied(void **state)
{
    (void)state;
    expect_resolved("xdstp://com.acmecorp/" T "/a", NULL, UDPA_ERR_DENIED);
    expect_resolved("xdstp://Acme/" T "/a", NULL, UDPA_ERR_DENIED);
    expect_resolved("xdstp://org.corp/" T "/other/a", NULL, UDPA_ERR_DENIED);
    expect_resolved("xdstp://hidden/" T "/a", NULL, UDPA_ERR_DENIED); /* whatever it looks like */
}

static void
xdstp_names_are_of_their_type_or_of_nothing(void **state)
{
    (void)state;
    expect_resolved("xdstp://com.acme/envoy.config.listener.v3.Listener/a", NULL, UDPA_ERR_INVAL);
    expect_resolved("xdstp://com.acme/" T, NULL, UDPA_ERR_INVAL);
    expect_resolved("xdstp://com.acme/" T "/a#entry=b", NULL, UDPA_ERR_INVAL);
    expect_resolved("", NULL, UDPA_ERR_INVAL);
    expect_full("xdstp://com.acme/" T "/a", NULL); /* it is no plain name */
    expect_client("local/xdstp://com.acme/" T "/a", NULL);
}

static void
too_long_is_no_name(void **state)
{
    (void)state;
    char text[UDPAI_NAME_MAX + 1];
    memset(text, 'x', sizeof(text));
    text[UDPAI_NAME_MAX - 6] = '\0'; /* with "local/" it is just short enough */
    char room[UDPAI_NAME_MAX];
    udpai_str name;
    assert_true(udpai_xds_name_from_client(&audience, udpai_str_from(text), room, &name));
    assert_int_equal(name.len, UDPAI_NAME_MAX);
    text[UDPAI_NAME_MAX - 6] = 'x';
    text[UDPAI_NAME_MAX - 5] = '\0';
    expect_full(text, NULL);
}

static void
back_again_the_default_namespace_goes(void **state)
{
    (void)state;
    expect_client("local/foo", "foo");
    expect_client("local/default/eg/http", "default/eg/http");
    expect_client("com.acme/foo", "com.acme/foo");
    expect_client("com.acme.eu/foo", "com.acme.eu/foo");
    expect_client("org.corp/team/foo", "org.corp/team/foo");
}

static void
what_would_come_back_as_something_else_is_not_shown(void **state)
{
    (void)state;
    expect_client("local/com.acme/foo", NULL); /* reads as com.acme/foo */
    expect_client("local/*", NULL);
    expect_client("org.other/foo", NULL);
    expect_client("local.eu/foo", NULL);
    expect_client("org.corp/other", NULL);
}

static void
every_name_comes_back_as_itself(void **state)
{
    (void)state;
    static const char *const pieces[] = {"local", "com.acme", "com",      "/",    ".",
                                         "a",     "*",        "org.corp", "/team"};
    uint64_t random = 7;
    unsigned n_from = 0, n_to = 0;
    for (int i = 0; i < 20000; i++) {
        char text[128] = "", room[UDPAI_NAME_MAX];
        size_t len = 0;
        for (size_t n = test_random_below(&random, 6); n-- > 0;) {
            const char *piece = pieces[test_random_below(&random, UDPAI_ARRAY_LEN(pieces))];
            memcpy(text + len, piece, strlen(piece) + 1);
            len += strlen(piece);
        }
        udpai_str full, back;
        if (udpai_xds_name_from_client(&audience, udpai_str_from(text), room, &full)) {
            assert_true(udpai_xds_name_to_client(&audience, full, &back));
            assert_str(back, text);
            n_from++;
        }
        if (udpai_xds_name_to_client(&audience, udpai_str_from(text), &back)) {
            assert_true(udpai_xds_name_from_client(&audience, back, room, &full));
            assert_str(full, text);
            n_to++;
        }
    }
    assert_in_range(n_from, 10000, 20000);
    assert_in_range(n_to, 500, 20000);
}

static void
the_wildcard_stands_for_what_clients_can_name(void **state)
{
    (void)state;
    char room[UDPAI_NAME_MAX];
    assert_str(udpai_xds_wildcard_prefix(&audience, 0, room), "local/");
    assert_str(udpai_xds_wildcard_prefix(&audience, 1, room), "com.acme");
    assert_str(udpai_xds_wildcard_prefix(&audience, 2, room), "org.corp/team");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_names_lie_in_the_default_namespace),
        cmocka_unit_test(listed_namespaces_begin_full_names_at_a_border),
        cmocka_unit_test(the_wildcard_and_nothing_are_no_names),
        cmocka_unit_test(xdstp_names_say_their_namespace_by_their_authority),
        cmocka_unit_test(xdstp_names_outside_what_is_shown_are_denied),
        cmocka_unit_test(xdstp_names_are_of_their_type_or_of_nothing),
        cmocka_unit_test(too_long_is_no_name),
        cmocka_unit_test(back_again_the_default_namespace_goes),
        cmocka_unit_test(what_would_come_back_as_something_else_is_not_shown),
        cmocka_unit_test(every_name_comes_back_as_itself),
        cmocka_unit_test(the_wildcard_stands_for_what_clients_can_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
