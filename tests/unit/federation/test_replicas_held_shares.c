/* SPDX-License-Identifier: Apache-2.0 */
/* What one replica reads for all, in an etcd that is older than that: it is written back with all
 * else, and no client notices. */
#include "tests/unit/federation/replicas_held_bed.h"

#define ROOT "/files"
#define MARK "c/udpa.node/udpa.config.v1.Directory/read/mark:path:%2Ffiles"

static void
share_root(replica *self)
{
    assert_ok(udpai_node_expect_files(self->node, UDPAI_STR(ROOT)));
    assert_ok(udpai_node_share_files(self->node, UDPAI_STR(ROOT), (udpai_str){0}));
}

static int
setup_shared(void **state)
{
    on_made = share_root;
    return setup(state);
}

/* On all of them. */
static void
read_files(const char *const *names, size_t n, const char *value)
{
    udpa_resource *resources[8];
    assert_true(n <= UDPAI_ARRAY_LEN(resources));
    for (size_t i = 0; i < n; i++)
        resources[i] = RESOURCE(names[i], .type = TEST_CDS, .value = value, .version = value);
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT), .resources = resources, .n_resources = n};
    for (size_t i = 0; i < NODES; i++) {
        assert_ok(udpai_node_set_files(replicas[i].node, &directory, NULL));
        flush(&replicas[i]);
    }
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
    run_ms(3000);
}

static const char *
files_of(const replica *self)
{
    static const char *const names[] = {"com.acme/f", "com.acme/g"};
    static char text[200];
    udpai_store *store = udpai_node_store(self->node);
    const udpai_origin *origin = udpai_store_find_origin(store, UDPAI_STR("path:" ROOT));
    udpai_contribution held;
    text[0] = '\0';
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names) && origin; i++) {
        size_t len = strlen(text);
        if (udpai_store_get(store, origin, UDPAI_STR(TEST_CDS), udpai_str_from(names[i]), &held))
            (void)snprintf(text + len, sizeof(text) - len, "%s=%.*s/%llu ", names[i],
                           UDPAI_SHOWN(udpai_resource_value(held.resource)),
                           (unsigned long long)udpa_resource_generation(held.resource));
    }
    return text;
}

static void
assert_files(const char *expected)
{
    for (size_t i = 0; i < NODES; i++)
        assert_string_equal(files_of(&replicas[i]), expected);
}

static void
check_written_back(bool is_empty, bool is_restarted)
{
    static const char *const names[] = {"com.acme/f", "com.acme/g"};
    char expected[200];
    read_files(names, 1, "1");
    int64_t snapshot = is_empty ? 0 : model.revision;
    read_files(names, 2, "2");
    (void)snprintf(expected, sizeof(expected), "%s", files_of(&replicas[0]));
    assert_non_null(strstr(expected, "com.acme/g=2/"));
    for (size_t i = 0; i < NODES && is_restarted; i++)
        take_down(&replicas[i]);
    restore(snapshot, is_empty);
    for (size_t i = 0; i < NODES && is_restarted; i++)
        bring_up(&replicas[i]);
    n_changes = 0;
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_files(expected);
    assert_true(etcd_has(MARK));
    if (!is_restarted)
        assert_int_equal(n_changes, 0);
    read_files(names, 1, "2");
    assert_null(strstr(files_of(&replicas[0]), "com.acme/g"));
}

static void
a_restored_snapshot_gets_back_what_was_read(void **state)
{
    (void)state;
    check_written_back(false, false);
}

static void
so_does_an_etcd_that_is_empty(void **state)
{
    (void)state;
    check_written_back(true, false);
}

static void
so_it_is_when_all_were_restarted(void **state)
{
    (void)state;
    check_written_back(true, true);
}

/* As with all that is accepted; then the elected one writes what it has read. */
static void
what_is_accepted_is_compared_with_what_was_read(void **state)
{
    static const char *const names[] = {"com.acme/f", "com.acme/g"};
    (void)state;
    read_files(names, 1, "1");
    int64_t snapshot = model.revision;
    read_files(names, 2, "2");
    restore(snapshot, false);
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_HELD);
    for (size_t i = 0; i < NODES; i++)
        udpai_replicator_answer_hold(replicas[i].replicator, UDPAI_HOLD_ACCEPT);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    take_down(&replicas[2]);
    fed_disk_done(&replicas[2].disk); /* it has what etcd has */
    bring_up(&replicas[2]);
    run_ms(3000);
    assert_non_null(strstr(files_of(&replicas[2]), "com.acme/f=2/"));
    assert_non_null(strstr(files_of(&replicas[2]), "com.acme/g=2/"));
    char expected[200];
    (void)snprintf(expected, sizeof(expected), "%s", files_of(&replicas[2]));
    assert_files(expected);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_shared, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_restored_snapshot_gets_back_what_was_read),
        TEST(so_does_an_etcd_that_is_empty),
        TEST(so_it_is_when_all_were_restarted),
        TEST(what_is_accepted_is_compared_with_what_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
