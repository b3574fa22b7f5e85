/* SPDX-License-Identifier: Apache-2.0 */
/* Whose page in a browser may ask the node. */
#include "tests/harness/test.h"
#include "transport/http/site.h"

static const udpai_str hosts[] = {{"udpa.acme.com", 13}, {"*.edge.acme.com", 15}};

typedef struct asked {
    const char *host, *origin, *site;
} asked;

static bool
is_let_in(const asked *what)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_http_head head = {0};
    if (what->host)
        udpai_http_head_field(&head, UDPAI_STR("Host"), udpai_str_from(what->host));
    if (what->origin)
        udpai_http_head_field(&head, UDPAI_STR("Origin"), udpai_str_from(what->origin));
    if (what->site)
        udpai_http_head_field(&head, UDPAI_STR("Sec-Fetch-Site"), udpai_str_from(what->site));
    udpa_err err = udpai_http_site_check(&head, hosts, UDPAI_ARRAY_LEN(hosts), &error);
    assert_int_equal(head.wrong, 0);
    assert_true(err == UDPA_OK ? !error : err == UDPA_ERR_DENIED && error);
    return err == UDPA_OK;
}

#define IS_LET_IN(...) is_let_in(&(const asked){__VA_ARGS__})

static void
addresses_and_names_without_a_dot_are_let_in(void **state)
{
    (void)state;
    static const char *const all[] = {
        "127.0.0.1", "127.0.0.1:8080", "127.1:8080",   "[::1]",      "[::1]:8080",
        "10.1.2.3",  "localhost",      "localhost:80", "LOCALHOST.", "xds_cluster",
        "",          "udpad:1",        "[fe80::1]:8",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        if (!IS_LET_IN(.host = all[i]))
            fail_msg("%s", all[i]);
    assert_true(IS_LET_IN(.host = NULL));
}

/* Else a page could have its own name lead here. */
static void
other_names_must_be_listed(void **state)
{
    (void)state;
    static const char *const strange[] = {
        "evil.example",   "evil.example:8080",      "acme.com",   "edge.acme.com",
        "1.2.3.4.5",      "127.0.0.1.evil.example", "256.1.1.1",  "udpa.acme.com.evil.example",
        "xudpa.acme.com", "[evil.example]",         "evil.test.", "localhost.evil.example.",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(strange); i++)
        if (IS_LET_IN(.host = strange[i]))
            fail_msg("%s", strange[i]);
    assert_true(IS_LET_IN(.host = "udpa.acme.com"));
    assert_true(IS_LET_IN(.host = "UDPA.acme.com:8080"));
    assert_true(IS_LET_IN(.host = "a.edge.acme.com"));
}

static void
pages_of_others_are_not(void **state)
{
    (void)state;
    assert_true(IS_LET_IN(.host = "127.0.0.1:8080", .origin = "http://127.0.0.1:8080"));
    assert_true(IS_LET_IN("udpa.acme.com", "https://UDPA.acme.com", "same-origin"));
    assert_true(IS_LET_IN(.host = "127.0.0.1:8080", .site = "none"));
    assert_false(IS_LET_IN(.host = "127.0.0.1:8080", .origin = "http://127.0.0.1:9090"));
    assert_false(IS_LET_IN(.host = "127.0.0.1:8080", .origin = "http://evil.example"));
    assert_false(IS_LET_IN(.host = "127.0.0.1:8080", .origin = "null"));
    assert_false(IS_LET_IN(.host = "127.0.0.1:8080", .origin = ""));
    assert_false(IS_LET_IN(.host = "127.0.0.1:8080", .origin = "127.0.0.1:8080"));
    assert_false(IS_LET_IN(.host = "127.0.0.1:8080", .origin = "file://127.0.0.1:8080"));
    assert_false(IS_LET_IN(.host = "127.0.0.1:8080",
                           .origin = "http://127.0.0.1:8080, http://evil.example"));
    assert_false(IS_LET_IN(.host = "127.0.0.1:8080", .site = "cross-site"));
    assert_false(IS_LET_IN("evil.example", "http://evil.example", "same-origin"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_and_names_without_a_dot_are_let_in),
        cmocka_unit_test(other_names_must_be_listed),
        cmocka_unit_test(pages_of_others_are_not),
    };
    return cmocka_run_group_tests_name("http_site", tests, NULL, NULL);
}
