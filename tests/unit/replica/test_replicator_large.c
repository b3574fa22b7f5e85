/* SPDX-License-Identifier: Apache-2.0 */
/* Proposals that are more than a transaction of etcd holds. */
#include "tests/unit/replica/replicator_bed.h"

/* As a whole, or not at all; others have it at one position. Its records may come again. */
static void
one_with_many_changes_is_whole(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    for (int i = 0; i < 1000; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "com.acme/%d", i);
        add_put(batch, "o", name, "1");
    }
    propose(&a, batch);
    run_ms(30000);
    assert_non_null(strstr(a.text, "1: committed"));
    assert_int_equal(n_records(), 1000);
    const char *text = reported(&b), *end = strchr(text, ';');
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, "+o/")) && (!end || at < end); at++)
        n++;
    assert_int_equal(n, 1000);
}

/* Before its records are written, too, which is later. */
static void
a_put_loses_to_a_removal_in_a_large_set(void **state)
{
    (void)state;
    udpai_durable_batch *early = new_batch(&a), *large = new_batch(&b);
    add_put(early, "o", X, "1");
    add_removal(large, X);
    for (int i = 0; i < 400; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "com.acme/%d", i);
        add_put(large, "o", name, "1");
    }
    propose(&b, large);
    while (etcd_model_count(&model, UDPAI_STR(PREFIX "x/"), model.revision) == 0)
        run_ms(1);
    propose(&a, early);
    run_ms(30000);
    assert_non_null(strstr(b.text, "1: committed"));
    assert_non_null(strstr(a.text, "2: lost"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_with_many_changes_is_whole),
        TEST(a_put_loses_to_a_removal_in_a_large_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
