/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that cannot or must not come back cost themselves alone. */
#include "tests/unit/storage/sql_test.h"

static const uint8_t key[UDPAI_SECRET_KEY_SIZE] = "0123456789abcdef0123456789abcde";
static const uint8_t other_key[UDPAI_SECRET_KEY_SIZE] = "1123456789abcdef0123456789abcde";

static void
put_ending(struct fixture *fixture, const char *type_url, const char *name, int64_t ends_us)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(type_url, name, "x", 1);
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "origin", resource, ends_us);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
}

/* The engine has no clock. */
static void
what_has_expired_is_loaded_with_its_end(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    put_ending(fixture, TYPE_CLUSTER, "com.acme/past", 1);
    put_ending(fixture, TYPE_CLUSTER, "com.acme/always", 0);
    close_engine(fixture);
    for (int i = 0; i < 2; i++) {
        open_engine(fixture);
        struct loaded loaded = load_all(fixture);
        assert_int_equal(loaded.ops->ops.n, 2);
        assert_int_equal(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/past")->expires_us, 1);
        assert_int_equal(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/always")->expires_us, 0);
        loaded_done(&loaded);
        close_engine(fixture);
    }
}

/* Else it would stay for ever: nobody publishes again what has ended. */
static void
of_what_cannot_be_read_the_end_is_loaded(void **state)
{
    struct fixture *fixture = *state;
    use_key(fixture, key);
    open_engine(fixture);
    put_ending(fixture, TYPE_SECRET, "com.acme/sealed", 7);
    put_ending(fixture, TYPE_SECRET, "com.acme/always", 0);
    put_ending(fixture, TYPE_CLUSTER, "com.acme/damaged", 8);
    close_engine(fixture);
    use_key(fixture, other_key);
    run_sql(fixture, "UPDATE contribution SET data = x'ff' WHERE name = 'com.acme/damaged'");
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 2);
    const udpai_durable_op *sealed = find_loaded(&loaded, UDPAI_DURABLE_DELETE, "com.acme/sealed");
    assert_int_equal(sealed->expires_us, 7);
    assert_string_equal(udpa_bytes_data(sealed->type), TYPE_SECRET);
    assert_true(udpai_str_eq(udpai_bytes_view(sealed->origin), UDPAI_STR("origin")));
    assert_int_equal(find_loaded(&loaded, UDPAI_DURABLE_DELETE, "com.acme/damaged")->expires_us, 8);
    loaded_done(&loaded);
}

static void
keep_three(struct fixture *fixture, const char *type_url)
{
    open_engine(fixture);
    commit_put(fixture, type_url, "com.acme/a", "payload");
    commit_put(fixture, type_url, "com.acme/b", "payload");
    commit_put(fixture, type_url, "com.acme/c", "payload");
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
}

/* After what was done to them, so many of the three come back; the others are counted and stay. */
static void
assert_left(struct fixture *fixture, size_t n_left, uint64_t n_damaged, uint64_t n_unreadable)
{
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, n_left);
    loaded_done(&loaded);
    udpai_sqlite_stats stats = udpai_sqlite_stats_of(fixture->engine);
    assert_int_equal(stats.n_damaged, n_damaged);
    assert_int_equal(stats.n_unreadable, n_unreadable);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 3);
    close_engine(fixture);
}

static void
damaged_rows_are_skipped(void **state)
{
    static const char *const damages[] = {
        "UPDATE contribution SET data = x'ffffff' WHERE name = 'com.acme/a'",
        "UPDATE contribution SET data = x'' WHERE name = 'com.acme/a'",
        "UPDATE contribution SET data = 17 WHERE name = 'com.acme/a'",
        "UPDATE contribution SET digest = digest + 1 WHERE name = 'com.acme/a'",
        "UPDATE contribution SET origin = 'thief' WHERE name = 'com.acme/a'",
        "UPDATE contribution SET name = 'com.acme/d' WHERE name = 'com.acme/a'",
        "UPDATE contribution SET type_url = 'x/y' WHERE name = 'com.acme/a'",
        "UPDATE contribution SET secret = 1 WHERE name = 'com.acme/a'",
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(damages); i++) {
        keep_three(fixture, TYPE_CLUSTER);
        run_sql(fixture, damages[i]);
        assert_left(fixture, 2, 1, 0);
        run_sql(fixture, "DELETE FROM contribution");
    }
}

static void
many_damaged_rows_are_no_more_than_skipped(void **state)
{
    struct fixture *fixture = *state;
    keep_three(fixture, TYPE_CLUSTER);
    run_sql(fixture, "UPDATE contribution SET data = x'08'; "
                     "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 40)"
                     " INSERT INTO contribution SELECT origin, type_url, name || i, version,"
                     " authority, generation, expires_us, secret, digest, data"
                     " FROM contribution, n WHERE name = 'com.acme/a'");
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 0);
    loaded_done(&loaded);
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_damaged, 43);
}

static void
secrets_need_the_key_that_encrypted_them(void **state)
{
    struct fixture *fixture = *state;
    use_key(fixture, key);
    keep_three(fixture, TYPE_SECRET);
    use_key(fixture, other_key);
    assert_left(fixture, 0, 0, 3);
    use_key(fixture, NULL);
    assert_left(fixture, 0, 0, 3);
    use_key(fixture, key);
    assert_left(fixture, 3, 0, 0);
}

static void
use_keys(struct fixture *fixture, const uint8_t *first, const uint8_t *second)
{
    use_key(fixture, first);
    assert_ok(udpai_sealer_add(&fixture->sealer, second, NULL));
}

/* Then the old key need not be there any more. */
static void
secrets_are_encrypted_with_the_first_key_when_it_is_opened(void **state)
{
    struct fixture *fixture = *state;
    use_key(fixture, key);
    keep_three(fixture, TYPE_SECRET);
    use_keys(fixture, key, other_key);
    assert_left(fixture, 3, 0, 0);
    use_key(fixture, other_key);
    assert_left(fixture, 0, 0, 3);
    use_keys(fixture, other_key, key);
    assert_left(fixture, 3, 0, 0);
    use_key(fixture, key);
    assert_left(fixture, 0, 0, 3);
    use_key(fixture, other_key);
    assert_left(fixture, 3, 0, 0);
}

/* Also what only a key of before opens. */
static void
secrets_are_encrypted_with_the_first_key_while_it_is_open(void **state)
{
    struct fixture *fixture = *state;
    udpai_sealer sealer;
    use_key(fixture, key);
    keep_three(fixture, TYPE_SECRET);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    loaded_done(&loaded);
    assert_ok(udpai_sealer_init(&sealer, other_key, NULL));
    udpai_sqlite_set_sealer(fixture->engine, &sealer);
    udpai_sealer_done(&sealer);
    commit_put(fixture, TYPE_SECRET, "com.acme/c", "payload");
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    use_key(fixture, other_key);
    assert_left(fixture, 3, 0, 0);
    use_key(fixture, key);
    assert_left(fixture, 0, 0, 3);
}

/* A row that was moved is as good as damaged, even where its digest was made to fit. */
static void
secrets_cannot_be_swapped(void **state)
{
    struct fixture *fixture = *state;
    use_key(fixture, key);
    keep_three(fixture, TYPE_SECRET);
    run_sql(fixture, "UPDATE contribution SET (data, digest) ="
                     " (SELECT data, digest FROM contribution WHERE name = 'com.acme/b')"
                     " WHERE name = 'com.acme/a'");
    assert_left(fixture, 2, 1, 0);
}

static udpa_err
refuse_op(void *userdata, const udpai_durable_op *op)
{
    (void)op;
    ++*(int *)userdata;
    return UDPA_ERR_LIMIT;
}

static void
an_error_of_the_receiver_ends_the_loading(void **state)
{
    struct fixture *fixture = *state;
    keep_three(fixture, TYPE_CLUSTER);
    open_engine(fixture);
    int n_calls = 0;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(fixture->engine->ops->load(fixture->engine, refuse_op, &n_calls, &error),
                     UDPA_ERR_LIMIT);
    assert_int_equal(n_calls, 1);
    assert_non_null(error);
}

int
main(void)
{
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_STORE(what_has_expired_is_loaded_with_its_end),
        WITH_STORE(of_what_cannot_be_read_the_end_is_loaded),
        WITH_STORE(damaged_rows_are_skipped),
        WITH_STORE(many_damaged_rows_are_no_more_than_skipped),
        WITH_STORE(secrets_need_the_key_that_encrypted_them),
        WITH_STORE(secrets_are_encrypted_with_the_first_key_when_it_is_opened),
        WITH_STORE(secrets_are_encrypted_with_the_first_key_while_it_is_open),
        WITH_STORE(secrets_cannot_be_swapped),
        WITH_STORE(an_error_of_the_receiver_ends_the_loading),
    };
    return cmocka_run_group_tests_name("storage sqlite_load", tests, NULL, NULL);
}
