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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_name_wins),
        cmocka_unit_test(what_is_far_is_not_suggested),
        cmocka_unit_test(text_of_a_suggestion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
