/* SPDX-License-Identifier: Apache-2.0 */
/* Which name is nearest, and when none is near enough. */
#include "codec/suggest.h"

#include "tests/harness/test.h"

static const char *const names[] = {
    "cluster",        "cluster_header", "weighted_clusters", "timeout",  "prefix",
    "prefix_rewrite", "name",           "retry_policy",      "timeouts", "id"};

static const char *
nearest(const char *written)
{
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(written));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        udpai_suggest_offer(&suggestion, names[i]);
    return suggestion.best;
}

static void
the_nearest_name_wins(void **state)
{
    (void)state;
    assert_string_equal(nearest("clutser"), "cluster");
    assert_string_equal(nearest("Cluster"), "cluster");
    assert_string_equal(nearest("clusterHeadr"), "cluster_header");
    assert_string_equal(nearest("prefixRewite"), "prefix_rewrite");
    assert_string_equal(nearest("timeout"), "timeout");
    assert_string_equal(nearest("timeoutss"), "timeouts");
    assert_string_equal(nearest("nane"), "name");
    assert_string_equal(nearest("retryPolicies"), "retry_policy");
}

static void
what_is_far_is_not_suggested(void **state)
{
    (void)state;
    assert_null(nearest("zzz"));
    assert_null(nearest(""));
    assert_null(nearest("ab"));
    assert_null(nearest("_"));
    assert_null(nearest("completely_different_word"));
    char large[300];
    memset(large, 'a', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    assert_null(nearest(large));
}

static void
text_of_a_suggestion(void **state)
{
    (void)state;
    char text[UDPAI_SUGGESTION_TEXT];
    udpai_suggestion suggestion = udpai_suggest(UDPAI_STR("clutser"));
    assert_string_equal(udpai_suggestion_text(&suggestion, text), "");
    udpai_suggest_offer(&suggestion, "cluster");
    assert_string_equal(udpai_suggestion_text(&suggestion, text), "; did you mean 'cluster'?");
    assert_int_equal(suggestion.distance, 1);
}

static const char *
choice(const char *written, const char *const *given, size_t n, char text[UDPAI_CHOICE_TEXT])
{
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(written));
    for (size_t i = 0; i < n; i++)
        udpai_suggest_offer(&suggestion, given[i]);
    return udpai_suggestion_or_list(&suggestion, text);
}

static void
if_nothing_is_near_all_are_listed(void **state)
{
    static const char *const given[] = {"core", "edge",  "core",  "alpha", "bravo",
                                        "gulf", "hotel", "india", "julia", "kilo"};
    char text[UDPAI_CHOICE_TEXT];
    (void)state;
    assert_string_equal(choice("cor", given, 3, text), "; did you mean 'core'?");
    assert_string_equal(choice("zzz", given, 0, text), "");
    assert_string_equal(choice("zzz", given, 1, text), "; there is only 'core'");
    assert_string_equal(choice("zzz", given, 3, text), "; there are 'core' and 'edge'");
    assert_string_equal(
        choice("zzz", given, 9, text),
        "; there are 'core', 'edge', 'alpha', 'bravo', 'gulf', 'hotel', 'india' and "
        "'julia'");
    assert_string_equal(choice("zzz", given, 10, text),
                        "; there are 'core', 'edge', 'alpha', 'bravo', 'gulf', 'hotel', 'india', "
                        "'julia' and 1 more");
}

static void
the_list_fits_its_room(void **state)
{
    char given[12][200], text[UDPAI_CHOICE_TEXT];
    const char *all[12];
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        memset(given[i], 'a' + (int)i, sizeof(given[i]) - 1);
        given[i][sizeof(given[i]) - 1] = '\0';
        all[i] = given[i];
    }
    choice("zzz", all, 12, text);
    assert_string_equal(text + strlen(text) - strlen("' and 4 more"), "' and 4 more");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_name_wins),
        cmocka_unit_test(what_is_far_is_not_suggested),
        cmocka_unit_test(text_of_a_suggestion),
        cmocka_unit_test(if_nothing_is_near_all_are_listed),
        cmocka_unit_test(the_list_fits_its_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
