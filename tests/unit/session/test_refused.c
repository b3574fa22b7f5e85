/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer has refused last: so many, the newest ones, whole or not at all. */
#include "session/refused.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tests/harness/test.h"

static void
refuse(udpai_refusals *refusals, const char *name, const char *version, uint64_t seq)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = udpa_error_new(UDPA_ERR_INVAL, NULL, "bad");
    const udpai_refused refused = {
        .error = error,
        .name = udpai_str_from(name),
        .version = udpai_str_from(version),
        .seq = seq,
        .is_certain = true,
    };
    udpai_refusals_add(refusals, &refused);
}

static void
the_last_ones_are_kept(void **state)
{
    (void)state;
    udpai_refusals refusals = {0};
    const udpai_refused_list *list = &refusals.last;
    for (int i = 0; i < UDPAI_REFUSED_KEPT + 3; i++) {
        char version[16];
        snprintf(version, sizeof(version), "%d", i);
        refuse(&refusals, "com.acme/a", version, 0);
    }
    assert_int_equal(list->n, UDPAI_REFUSED_KEPT);
    assert_str(list->items[0]->name, "com.acme/a");
    assert_str(list->items[0]->version, "3");
    assert_str(list->items[list->n - 1]->version, "18");
    assert_int_equal(udpa_error_code(list->items[0]->error), UDPA_ERR_INVAL);
    udpai_refusals_done(&refusals);
    udpai_refusals_done(&refusals); /* it is empty */
    assert_int_equal(udpai_alloc_live(), 0);
}

static void
names_may_be_empty(void **state)
{
    (void)state;
    udpai_refusals refusals = {0};
    refuse(&refusals, "", "", 0);
    assert_int_equal(refusals.last.items[0]->name.len, 0);
    assert_int_equal(refusals.last.items[0]->version.len, 0);
    udpai_refusals_done(&refusals);
}

static void
without_memory_it_is_not_kept(void **state)
{
    (void)state;
    udpai_refusals refusals = {0};
    for (long n = 0; n < 2; n++) {
        udpa_error *error = udpa_error_new(UDPA_ERR_INVAL, NULL, "bad");
        const udpai_refused refused = {.error = error, .name = UDPAI_STR("a")};
        udpai_alloc_fail_after(n);
        udpai_refusals_add(&refusals, &refused);
        udpai_alloc_fail_after(-1);
        assert_int_equal(refusals.last.n, 0);
        udpa_error_unref(error);
    }
    refuse(&refusals, "a", "1", 0);
    assert_int_equal(refusals.last.n, 1);
    udpai_refusals_done(&refusals);
}

static bool
is_found(const udpai_refusals *refusals, const char *name, uint64_t seq, bool *ret_is_certain)
{
    udpai_refused found = {0};
    bool is_found = udpai_refusals_find(refusals, udpai_str_from(name), seq, &found);
    if (is_found)
        assert_non_null(found.error);
    *ret_is_certain = found.is_certain;
    return is_found;
}

static void
what_was_refused_is_found_by_its_place(void **state)
{
    (void)state;
    udpai_refusals refusals = {0};
    bool is_certain;
    refuse(&refusals, "com.acme/a", "1", 7);
    assert_true(is_found(&refusals, "com.acme/a", 7, &is_certain));
    assert_true(is_certain);
    assert_false(is_found(&refusals, "com.acme/a", 8, &is_certain)); /* it has changed since */
    assert_false(is_found(&refusals, "com.acme/b", 7, &is_certain));
    udpai_refusals_forget(&refusals, 0);
    udpai_refusals_forget(&refusals, 6);
    assert_true(is_found(&refusals, "com.acme/a", 7, &is_certain));
    udpai_refusals_forget(&refusals, 7);
    assert_false(is_found(&refusals, "com.acme/a", 7, &is_certain));
    assert_int_equal(refusals.last.n, 0);
    udpai_refusals_done(&refusals);
}

/* What was refused of this name before, wherever it stands. */
static void
what_was_accepted_since_is_forgotten(void **state)
{
    (void)state;
    udpai_refusals refusals = {0};
    bool is_certain;
    refuse(&refusals, "com.acme/a", "1", 5);
    refuse(&refusals, "com.acme/b", "1", 6);
    refuse(&refusals, "com.acme/a", "2", 7);
    refuse(&refusals, "com.acme/a", "4", 9);
    udpai_refusals_accept(&refusals, UDPAI_STR("com.acme/a"), 8);
    assert_false(is_found(&refusals, "com.acme/a", 5, &is_certain));
    assert_false(is_found(&refusals, "com.acme/a", 7, &is_certain));
    assert_true(is_found(&refusals, "com.acme/b", 6, &is_certain));
    assert_true(is_found(&refusals, "com.acme/a", 9, &is_certain)); /* that is newer */
    assert_int_equal(refusals.last.n, 2);
    udpai_refusals_done(&refusals);
}

static void
of_too_many_it_is_known_where_they_lie(void **state)
{
    (void)state;
    udpai_refusals refusals = {0};
    bool is_certain;
    for (uint64_t seq = 1; seq <= UDPAI_REFUSED_KEPT + 1; seq++)
        refuse(&refusals, "com.acme/a", "1", 10 * seq);
    assert_true(is_found(&refusals, "com.acme/a", 10, &is_certain));
    assert_true(is_certain); /* just one */
    refuse(&refusals, "com.acme/a", "1", 1000);
    assert_true(is_found(&refusals, "com.acme/a", 15, &is_certain));
    assert_false(is_certain);
    assert_false(is_found(&refusals, "com.acme/a", 9, &is_certain));
    assert_false(is_found(&refusals, "com.acme/a", 21, &is_certain));
    assert_true(is_found(&refusals, "com.acme/a", 1000, &is_certain));
    udpai_refusals_forget_range(&refusals, 11, 1000); /* not all of those at 10 to 20 */
    assert_true(is_found(&refusals, "com.acme/a", 10, &is_certain));
    assert_false(is_found(&refusals, "com.acme/a", 1000, &is_certain));
    assert_int_equal(refusals.last.n, 0);
    udpai_refusals_forget_range(&refusals, 10, 20);
    assert_false(is_found(&refusals, "com.acme/a", 10, &is_certain));
    udpai_refusals_done(&refusals);
}

static void
a_name_is_found_in_a_text(void **state)
{
    (void)state;

    static const struct {
        const char *text, *name;
        bool is_named;
    } cases[] = {
        {"Error adding/updating cluster(s) web: no endpoints", "local/web", true},
        {"local/web is bad", "local/web", true},
        {"bad: web", "local/web", true},
        {"web.", "local/web", true},
        {"cluster web. It is bad", "local/web", true},
        {"'web'", "local/web", true},
        {"route/host: bad", "local/route/host", true},
        {"web-2 is bad", "local/web", false},
        {"web.v2 is bad", "local/web", false},
        {"my.web is bad", "local/web", false},
        {"web/host is bad", "local/web", false},
        {"webs web2 and web", "local/web", true},
        {"is it web?", "local/web", true},
        {"web?k=1 is bad", "local/web", false},
        {"web?k=1&l=2 is bad", "local/web?k=1", false},
        {"web%20side is bad", "local/web", false},
        {"we", "local/web", false},
        {"", "local/web", false},
        {"anything", "local/", false},
        {"anything", "", false},
        {"web", "web", true},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        if (udpai_refusal_names(udpai_str_from(cases[i].text), udpai_str_from(cases[i].name)) !=
            cases[i].is_named)
            fail_msg("'%s' in '%s'", cases[i].name, cases[i].text);
    assert_true(udpai_refusal_spells((udpai_str){"webs", 3}, UDPAI_STR("web"))); /* ends before s */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_ones_are_kept),
        cmocka_unit_test(names_may_be_empty),
        cmocka_unit_test(without_memory_it_is_not_kept),
        cmocka_unit_test(what_was_refused_is_found_by_its_place),
        cmocka_unit_test(what_was_accepted_since_is_forgotten),
        cmocka_unit_test(of_too_many_it_is_known_where_they_lie),
        cmocka_unit_test(a_name_is_found_in_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
