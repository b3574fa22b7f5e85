/* SPDX-License-Identifier: Apache-2.0 */
/* Publications that are only tried, over real streams. */
#include "pair.h"

static void
test_a_trial_changes_nothing(void **state)
{
    static const char *const names[] = {"com.acme/a", "com.acme/b"};
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt receipt = {0}, trial = {.tries = true};
    pair_begin(&pair);
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    publish_one(&trial, &pair, pair.client, RESOURCE("com.acme/a", .value = "2"));
    pair_run_until(&pair, &trial.n_receipts, 1);
    assert_int_equal(trial.code, UDPA_OK);
    assert_string_equal(trial.effects, "~");
    publish_one(&trial, &pair, pair.client, RESOURCE("com.acme/b", .value = "1"));
    pair_run_until(&pair, &trial.n_receipts, 2);
    assert_string_equal(trial.effects, "+");
    publish_removal(&trial, &pair, pair.client, names, 2);
    pair_run_until(&pair, &trial.n_receipts, 3);
    assert_string_equal(trial.effects, "-.");
    assert_int_equal(trial.n_refused, 0);
    assert_string_equal(trial.effective, "");
    assert_int_equal(ear.n_additions, 1);
    assert_string_equal(ear.last_payload, "1");
    pair_end(&pair);
}

/* It would ignore it, and there would never be a receipt. */
static void
test_a_trial_is_not_sent_to_who_does_not_know_it(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt trial = {.tries = true};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&trial, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    pair_run_until(&pair, &trial.n_receipts, 1);
    assert_int_equal(trial.n_refused, 1);
    assert_non_null(strstr(trial.refusal, "does not know how to try"));
    assert_int_equal(ear.n_additions, 0);
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_trial_changes_nothing),
        cmocka_unit_test(test_a_trial_is_not_sent_to_who_does_not_know_it),
    };
    return cmocka_run_group_tests_name("endpoint trial", tests, NULL, NULL);
}
