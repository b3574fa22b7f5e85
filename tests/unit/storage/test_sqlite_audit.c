/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the audit: written with what it is about, bounded, and read while it is written. */
#include "storage/audit_line.h"
#include "store/audit.h"
#include "tests/unit/storage/sql_test.h"

#define DAY_US ((int64_t)86400 * 1000000)

static void
add_record(udpai_durable_batch *batch, const char *name, int64_t at_us)
{
    const udpai_audit_record record = {
        .action = UDPAI_STR("publish"),
        .actor = UDPAI_STR("alice"),
        .name = udpai_str_from(name),
    };
    assert_ok(udpai_audit_add(batch, &record, at_us));
}

static void
commit_record(struct fixture *fixture, const char *name, int64_t at_us)
{
    udpai_durable_batch *batch = new_batch();
    add_record(batch, name, at_us);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
}

struct read {
    char names[64][32];
    int64_t seqs[64];
    size_t n, max;
};

static bool
take_row(void *userdata, const udpai_audit_row *row)
{
    struct read *read = userdata;
    assert_true(read->n < UDPAI_ARRAY_LEN(read->names));
    snprintf(read->names[read->n], sizeof(read->names[0]), "%.*s", (int)row->name.len,
             row->name.data);
    assert_true(udpai_str_eq(row->actor, UDPAI_STR("alice")));
    read->seqs[read->n++] = row->seq;
    return read->n != read->max;
}

static struct read
read_after(const struct fixture *fixture, int64_t after)
{
    struct read read = {0};
    udpai_audit_table *table = NULL;
    assert_ok(udpai_audit_table_open(&table, fixture->directory, NULL));
    assert_ok(udpai_audit_table_read(table, after, take_row, &read, NULL));
    udpai_audit_table_close(table);
    return read;
}

static void
is_read_in_order_and_backwards(void **state)
{
    struct fixture *fixture = *state;
    struct read read = {.max = 2};
    udpai_audit_table *table = NULL;
    int64_t last = 0;
    open_engine(fixture);
    commit_record(fixture, "a", 1);
    commit_record(fixture, "b", 2);
    commit_record(fixture, "c", 3);
    read = read_after(fixture, 1);
    assert_int_equal(read.n, 2);
    assert_string_equal(read.names[0], "b");
    assert_string_equal(read.names[1], "c");
    read = (struct read){.max = 2};
    assert_ok(udpai_audit_table_open(&table, fixture->directory, NULL));
    assert_ok(udpai_audit_table_read_back(table, 0, take_row, &read, NULL));
    assert_ok(udpai_audit_table_last(table, &last, NULL));
    udpai_audit_table_close(table);
    assert_int_equal(read.n, 2);
    assert_string_equal(read.names[0], "c");
    assert_string_equal(read.names[1], "b");
    assert_int_equal(last, 3);
}

/* Neither can be without the other. */
static void
fails_with_what_it_is_about(void **state)
{
    struct fixture *fixture = *state;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(TYPE_CLUSTER, "n/a", "x", 1);
    open_engine(fixture);
    run_sql(fixture, "CREATE TRIGGER t BEFORE INSERT ON contribution BEGIN"
                     " SELECT raise(ABORT, 'no'); END;");
    udpai_durable_batch *batch = new_batch();
    add_record(batch, "lost", 1);
    add_put(batch, "origin", resource, 0);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_ERR_IO);
    assert_int_equal(read_after(fixture, 0).n, 0);
    run_sql(fixture, "DROP TRIGGER t; CREATE TRIGGER u BEFORE INSERT ON audit BEGIN"
                     " SELECT raise(ABORT, 'no'); END;");
    batch = new_batch();
    add_put(batch, "origin", resource, 0);
    add_record(batch, "lost", 1);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_ERR_IO);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 0);
    run_sql(fixture, "DROP TRIGGER u");
    commit_record(fixture, "kept", 2);
    assert_string_equal(read_after(fixture, 0).names[0], "kept");
}

/* Of each record 64 bytes more are counted. */
static void
the_oldest_go_beyond_the_bytes(void **state)
{
    struct fixture *fixture = *state;
    char name[32];
    fixture->options.audit_max_bytes = 1200;
    open_engine(fixture);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "r%d", i);
        commit_record(fixture, name, i);
    }
    struct read read = read_after(fixture, 0);
    assert_in_range(read.n, 6, 12);
    assert_string_equal(read.names[read.n - 1], "r39");
    assert_int_equal(read.seqs[0], read.seqs[read.n - 1] - (int64_t)read.n + 1);
    assert_in_range(udpai_sqlite_stats_of(fixture->engine).audit_bytes, 1, 1200);
    close_engine(fixture);
    open_engine(fixture); /* what there is is measured, not forgotten */
    commit_record(fixture, "last", 40);
    assert_int_equal(read_after(fixture, 0).n, read.n);
}

static void
old_ones_go(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.audit_max_age_us = (uint64_t)DAY_US;
    open_engine(fixture);
    commit_record(fixture, "old", DAY_US);
    commit_record(fixture, "young", DAY_US + DAY_US / 2);
    assert_int_equal(read_after(fixture, 0).n, 2);
    commit_record(fixture, "now", 2 * DAY_US + 1);
    struct read read = read_after(fixture, 0);
    assert_int_equal(read.n, 2);
    assert_string_equal(read.names[0], "young");
}

/* Numbers are never used again: who follows would take new ones for old. */
static void
numbers_go_on_when_all_are_gone(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.audit_max_bytes = 1;
    open_engine(fixture);
    commit_record(fixture, "a", 1);
    commit_record(fixture, "b", 2);
    assert_int_equal(read_after(fixture, 0).n, 0);
    close_engine(fixture);
    fixture->options.audit_max_bytes = 0;
    open_engine(fixture);
    commit_record(fixture, "c", 3);
    assert_int_equal(read_after(fixture, 0).seqs[0], 3);
}

static void
add_from(udpai_durable_batch *batch, const char *source, const char *name)
{
    add_record(batch, name, 7);
    batch->ops.items[batch->ops.n - 1].origin = bytes_of(source);
}

/* What comes from etcd may come again. */
static void
what_has_a_source_is_there_once(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    udpai_durable_batch *batch = new_batch();
    add_from(batch, "17.0", "a");
    add_from(batch, "17.1", "b");
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    batch = new_batch();
    add_from(batch, "17.1", "b");
    add_from(batch, "18.0", "c");
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    struct read read = read_after(fixture, 0);
    assert_int_equal(read.n, 3);
    assert_string_equal(read.names[2], "c");
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_audit, 3);
}

static void
a_table_has_an_id_of_its_own(void **state)
{
    struct fixture *fixture = *state;
    udpai_audit_table *table = NULL;
    udpa_error *error = NULL;
    assert_int_equal(udpai_audit_table_open(&table, fixture->directory, &error),
                     UDPA_ERR_NOT_FOUND);
    udpa_error_unref(error);
    open_engine(fixture);
    assert_ok(udpai_audit_table_open(&table, fixture->directory, NULL));
    assert_int_equal(strlen(udpai_audit_table_id(table)), 16);
    udpai_audit_table_close(table);
}

/* ---- lines ---- */

static void
put_line(udpai_strbuf *out, int64_t seq, const char *record, const char *before)
{
    const udpai_audit_row row = {
        .seq = seq,
        .at_us = 1700000000000042,
        .record = udpai_str_from(record),
    };
    udpai_audit_line_put(out, "t1", &row, before);
}

static void
a_line_says_what_and_when(void **state)
{
    udpai_strbuf line = {0};
    udpai_audit_place place;
    (void)state;
    put_line(&line, 5, "{\"action\":\"publish\"}", UDPAI_AUDIT_FIRST_HASH);
    assert_string_equal(line.data,
                        "{\"seq\":5,\"table\":\"t1\",\"at\":\"2023-11-14T22:13:20.000042Z\","
                        "\"action\":\"publish\",\"before\":\"" UDPAI_AUDIT_FIRST_HASH "\"}");
    assert_true(udpai_audit_line_read(udpai_strbuf_view(&line), &place));
    assert_int_equal(place.seq, 5);
    assert_string_equal(place.table, "t1");
    assert_string_equal(place.before, UDPAI_AUDIT_FIRST_HASH);
    udpai_strbuf_done(&line);
    put_line(&line, 5, "{}", NULL);
    assert_false(udpai_audit_line_read(udpai_strbuf_view(&line), &place));
    udpai_strbuf_done(&line);
}

static void
what_is_no_line_is_rejected(void **state)
{
    static const char *const lines[] = {
        "",
        "{}",
        "{\"seq\":",
        "{\"seq\":5,\"table\":\"t1\"}",
        "{\"seq\":5,\"table\":\"0123456789012345678901234567890123456789\",\"before\":"
        "\"" UDPAI_AUDIT_FIRST_HASH "\"}",
        "{\"seq\":5,\"table\":\"t1\",\"befor\":\"" UDPAI_AUDIT_FIRST_HASH "\"}",
    };
    udpai_audit_place place;
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(lines); i++)
        assert_false(udpai_audit_line_read(udpai_str_from(lines[i]), &place));
}

static void
a_hash_is_that_of_the_line(void **state)
{
    udpai_audit_hash hash;
    (void)state;
    assert_true(udpai_audit_line_hash(UDPAI_STR("abc"), hash));
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_read_in_order_and_backwards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fails_with_what_it_is_about, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_go_beyond_the_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_ones_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_go_on_when_all_are_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_a_source_is_there_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_has_an_id_of_its_own, set_up, tear_down),
        cmocka_unit_test(a_line_says_what_and_when),
        cmocka_unit_test(what_is_no_line_is_rejected),
        cmocka_unit_test(a_hash_is_that_of_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
