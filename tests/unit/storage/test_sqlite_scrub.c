/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets are never in plain text in any file of the store: not while it runs, not after, not when
 * they became secret only later. */
#include "tests/unit/storage/sql_test.h"

#define PLAIN "correct horse battery staple"
#define TYPE_TOKEN "type.googleapis.com/acme.Token"

static const uint8_t key[UDPAI_SECRET_KEY_SIZE] = "0123456789abcdef0123456789abcde";
static const char *const token_types[] = {"acme.Token"};

static void
assert_no_plain_text(const struct fixture *fixture)
{
    assert_int_equal(files_with(fixture, PLAIN), 0);
    assert_int_equal(files_with(fixture, "battery"), 0);
}

static void
assert_kept(struct fixture *fixture, const char *name, bool kept)
{
    struct loaded loaded = load_all(fixture);
    const udpai_durable_op *op = find_loaded(&loaded, UDPAI_DURABLE_PUT, name);
    assert_int_equal(op != NULL, kept);
    if (op)
        assert_str(udpai_resource_value(op->resource), PLAIN);
    loaded_done(&loaded);
}

static void
what_is_no_secret_is_plain(void **state)
{
    struct fixture *fixture = *state;
    use_key(fixture, key);
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", PLAIN);
    assert_last_report(fixture, UDPA_OK);
    assert_int_not_equal(files_with(fixture, PLAIN), 0); /* the search does find */
}

static void
with_a_key_secrets_are_encrypted(void **state)
{
    struct fixture *fixture = *state;
    use_key(fixture, key);
    open_engine(fixture);
    commit_put(fixture, TYPE_SECRET, "com.acme/a", PLAIN);
    commit_put(fixture, "other.prefix/envoy.extensions.transport_sockets.tls.v3.Secret",
               "com.acme/b", PLAIN);
    assert_last_report(fixture, UDPA_OK);
    assert_no_plain_text(fixture);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution WHERE secret = 1"
                                      " AND version IS NULL"),
                     2);
    close_engine(fixture);
    assert_no_plain_text(fixture);
    open_engine(fixture);
    assert_kept(fixture, "com.acme/a", true);
    assert_kept(fixture, "com.acme/b", true);
}

static void
a_content_hash_does_not_tell_of_a_secret(void **state)
{
    struct fixture *fixture = *state;
    char hex[UDPAI_CONTENT_HASH_HEX + 1] = {0};
    use_key(fixture, key);
    open_engine(fixture);
    commit_put(fixture, TYPE_SECRET, "com.acme/a", PLAIN);
    assert_last_report(fixture, UDPA_OK);
    udpai_content_hash_hex(udpai_content_hash_of(UDPAI_STR(TYPE_SECRET), UDPAI_STR(PLAIN)), hex);
    assert_int_equal(files_with(fixture, hex), 0);
}

static void
without_a_key_secrets_are_not_kept(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    commit_put(fixture, TYPE_SECRET, "com.acme/a", PLAIN);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/b", "plain");
    assert_last_report(fixture, UDPA_OK);
    assert_no_plain_text(fixture);
    close_engine(fixture);
    open_engine(fixture);
    assert_kept(fixture, "com.acme/a", false);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 1);
}

/* The value that was kept under a key is not the value any more. */
static void
without_a_key_an_older_secret_is_not_kept_either(void **state)
{
    struct fixture *fixture = *state;
    use_key(fixture, key);
    open_engine(fixture);
    commit_put(fixture, TYPE_SECRET, "com.acme/a", "the old password");
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    use_key(fixture, NULL);
    open_engine(fixture);
    commit_put(fixture, TYPE_SECRET, "com.acme/a", PLAIN);
    assert_last_report(fixture, UDPA_OK);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 0);
}

static void
keep_plain_tokens(struct fixture *fixture)
{
    open_engine(fixture);
    for (int i = 0; i < 60; i++) {
        char name[64];
        snprintf(name, sizeof(name), "com.acme/%d", i);
        commit_put(fixture, TYPE_TOKEN, name, PLAIN);
    }
    commit_put(fixture, TYPE_CLUSTER, "com.acme/cluster", "plain");
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    /* Leaves text in free room, whatever this SQLite does of itself. */
    run_sql(fixture, "PRAGMA secure_delete = OFF; DELETE FROM contribution"
                     " WHERE name = 'com.acme/7' OR name LIKE 'com.acme/4%'");
    assert_int_not_equal(files_with(fixture, PLAIN), 0);
    fixture->options.secret_types = token_types;
    fixture->options.n_secret_types = UDPAI_ARRAY_LEN(token_types);
}

static void
what_becomes_secret_is_encrypted_and_wiped(void **state)
{
    struct fixture *fixture = *state;
    keep_plain_tokens(fixture);
    use_key(fixture, key);
    open_engine(fixture);
    assert_no_plain_text(fixture);
    assert_kept(fixture, "com.acme/3", true);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution WHERE secret = 1"), 48);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution WHERE secret = 0"), 1);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM setting WHERE name = 'scrub'"), 0);
}

static void
what_becomes_secret_without_a_key_is_deleted_and_wiped(void **state)
{
    struct fixture *fixture = *state;
    keep_plain_tokens(fixture);
    open_engine(fixture);
    assert_no_plain_text(fixture);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 1);
}

/* A crash after the rows were encrypted, before the files were written anew. */
static void
wiping_starts_again_if_it_was_cut_off(void **state)
{
    struct fixture *fixture = *state;
    keep_plain_tokens(fixture);
    run_sql(fixture, "PRAGMA secure_delete = OFF;"
                     "DELETE FROM contribution WHERE type_url = '" TYPE_TOKEN "';"
                     "INSERT INTO setting VALUES ('scrub', 'pending')");
    assert_int_not_equal(files_with(fixture, PLAIN), 0);
    open_engine(fixture);
    assert_no_plain_text(fixture);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM setting WHERE name = 'scrub'"), 0);
}

static void
a_reader_that_prevents_wiping_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    keep_plain_tokens(fixture);
    use_key(fixture, key);
    fixture->options.busy_ms = 1;
    char path[128];
    sqlite3 *reader = NULL;
    assert_int_equal(sqlite3_open(path_in(fixture, "udpa.db", path), &reader), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM contribution", NULL, NULL, NULL),
        SQLITE_OK);
    assert_open_fails(fixture, UDPA_ERR_IO, "another program");
    sqlite3_close(reader);
    open_engine(fixture);
    assert_no_plain_text(fixture);
    assert_kept(fixture, "com.acme/3", true);
}

int
main(void)
{
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_STORE(what_is_no_secret_is_plain),
        WITH_STORE(with_a_key_secrets_are_encrypted),
        WITH_STORE(a_content_hash_does_not_tell_of_a_secret),
        WITH_STORE(without_a_key_secrets_are_not_kept),
        WITH_STORE(without_a_key_an_older_secret_is_not_kept_either),
        WITH_STORE(what_becomes_secret_is_encrypted_and_wiped),
        WITH_STORE(what_becomes_secret_without_a_key_is_deleted_and_wiped),
        WITH_STORE(wiping_starts_again_if_it_was_cut_off),
        WITH_STORE(a_reader_that_prevents_wiping_is_an_error),
    };
    return cmocka_run_group_tests_name("storage sqlite_scrub", tests, NULL, NULL);
}
