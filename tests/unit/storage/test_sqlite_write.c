/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is written comes back as it was; the kinds of work do what they say. */
#include "model/lineage.h"
#include "tests/harness/resources.h"
#include "tests/unit/storage/sql_test.h"

#define ANY_EXTRA "\x18\x2a" /* a field that nobody knows stays in the bytes */

static void
assert_same_lists(const udpa_resource *a, const udpa_resource *b)
{
    assert_int_equal(udpa_resource_n_hops(a), udpa_resource_n_hops(b));
    for (size_t i = 0; i < udpa_resource_n_hops(a); i++) {
        udpai_hop x = udpai_resource_hop(a, i), y = udpai_resource_hop(b, i);
        assert_true(udpai_str_eq(x.node_id, y.node_id));
        assert_true(udpai_str_eq(x.authority, y.authority));
        assert_true(x.time_us == y.time_us);
    }
    assert_int_equal(udpa_resource_n_aliases(a), udpa_resource_n_aliases(b));
    for (size_t i = 0; i < udpa_resource_n_aliases(a); i++)
        assert_string_equal(udpa_resource_alias(a, i), udpa_resource_alias(b, i));
}

static void
assert_same_signature(const udpa_resource *a, const udpa_resource *b)
{
    const udpai_signature *x = udpai_resource_signature(a), *y = udpai_resource_signature(b);
    assert_int_equal(x != NULL, y != NULL);
    if (!x)
        return;
    assert_int_equal(x->algorithm, y->algorithm);
    assert_true(udpai_str_eq(x->key_id, y->key_id));
    assert_true(udpai_str_eq(x->value, y->value));
    assert_true(x->not_before_us == y->not_before_us);
    assert_true(x->not_after_us == y->not_after_us);
}

static void
assert_same_resource(const udpa_resource *a, const udpa_resource *b)
{
    assert_string_equal(udpa_resource_name(a), udpa_resource_name(b));
    assert_string_equal(udpa_resource_type_url(a), udpa_resource_type_url(b));
    assert_string_equal(udpa_resource_version(a), udpa_resource_version(b));
    assert_string_equal(udpa_resource_authority(a), udpa_resource_authority(b));
    assert_true(udpa_resource_generation(a) == udpa_resource_generation(b));
    assert_true(udpa_resource_ttl_ms(a) == udpa_resource_ttl_ms(b));
    assert_int_equal(udpai_resource_is_lazy(a), udpai_resource_is_lazy(b));
    assert_int_equal(udpai_resource_do_not_cache(a), udpai_resource_do_not_cache(b));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any_a = test_any_of(a), *any_b = test_any_of(b);
    assert_true(udpai_str_eq(udpai_bytes_view(any_a), udpai_bytes_view(any_b)));
    assert_true(udpai_resource_digest(a) == udpai_resource_digest(b));
    assert_same_lists(a, b);
    assert_same_signature(a, b);
}

static udpa_bytes *
odd_any(const char *type_url)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(udpai_str_from(type_url), UDPAI_STR("\0payload\xff"));
    assert_non_null(any);
    uint8_t *room;
    udpa_bytes *odd = udpai_bytes_make(udpa_bytes_size(any) + 2, &room);
    assert_non_null(odd);
    memcpy(room, udpa_bytes_data(any), udpa_bytes_size(any));
    memcpy(room + udpa_bytes_size(any), ANY_EXTRA, 2);
    return odd;
}

/* With everything a resource can have. */
static udpa_resource *
full_resource(const char *type_url)
{
    static const udpai_hop hops[] = {
        {{"node-a", 6}, {"spiffe://acme/a", 15}, 1700000000123456, {"7f3a", 4}},
        {{"node-b", 6}, {"", 0}, -1500000, {"", 0}},
    };
    static const udpai_str aliases[] = {{"com.acme/other", 14}, {"com.acme/*.bar.com", 18}};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = odd_any(type_url);
    const udpai_resource_parts parts = {
        .name = UDPAI_STR("com.acme/full"),
        .version = UDPAI_STR("v \xc3\xa9 7"),
        .authority = UDPAI_STR("istio-east"),
        .any = any,
        .generation = UINT64_MAX - 3,
        .ttl_ms = 90061001,
        .lazy = true,
        .do_not_cache = true,
        .signature = {1, UDPAI_STR("key-1"), 1600000000000000, 1900000000000000,
                      UDPAI_STR("\x01\x00sign")},
        .hops = hops,
        .n_hops = UDPAI_ARRAY_LEN(hops),
        .aliases = aliases,
        .n_aliases = UDPAI_ARRAY_LEN(aliases),
    };
    udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    return resource;
}

static void
round_trip(struct fixture *fixture, const char *type_url)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *full = full_resource(type_url);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *plain = make_resource(type_url, "com.acme/plain", "", 0);
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "origin", full, 4102444800000000);
    add_put(batch, "origin", plain, 0);
    open_engine(fixture);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 2);
    const udpai_durable_op *op = find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/full");
    assert_non_null(op);
    assert_same_resource(op->resource, full);
    assert_true(op->expires_us == 4102444800000000);
    assert_str(udpai_bytes_view(op->origin), "origin");
    op = find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/plain");
    assert_non_null(op);
    assert_same_resource(op->resource, plain);
    assert_true(op->expires_us == 0);
    loaded_done(&loaded);
}

static void
every_part_comes_back(void **state)
{
    round_trip(*state, TYPE_CLUSTER);
}

static void
every_part_of_a_secret_comes_back(void **state)
{
    static const uint8_t key[UDPAI_SECRET_KEY_SIZE] = "0123456789abcdef0123456789abcde";
    struct fixture *fixture = *state;
    use_key(fixture, key);
    round_trip(fixture, TYPE_SECRET);
}

static void
put_replaces_and_delete_deletes(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "first");
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "second");
    commit_put(fixture, TYPE_CLUSTER, "com.acme/b", "other");
    udpai_durable_batch *batch = new_batch();
    add_other(batch, UDPAI_DURABLE_DELETE, "origin", TYPE_CLUSTER, "com.acme/b");
    add_other(batch, UDPAI_DURABLE_DELETE, "origin", TYPE_CLUSTER, "com.acme/was-never-there");
    add_other(batch, UDPAI_DURABLE_DELETE, "another origin", TYPE_CLUSTER, "com.acme/a");
    add_other(batch, UDPAI_DURABLE_DELETE, "origin", TYPE_SECRET, "com.acme/a");
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 1);
    const udpai_durable_op *op = find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/a");
    assert_non_null(op);
    assert_str(udpai_resource_value(op->resource), "second");
    loaded_done(&loaded);
}

static void
marks_are_kept_until_the_origin_is_forgotten(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(TYPE_CLUSTER, "com.acme/a", "x", 1);
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "east", resource, 0);
    add_put(batch, "west", resource, 0);
    add_other(batch, UDPAI_DURABLE_MARK, "east", TYPE_CLUSTER, "com.acme");
    add_other(batch, UDPAI_DURABLE_MARK, "west", TYPE_CLUSTER, "com.acme");
    add_other(batch, UDPAI_DURABLE_MARK, "west", TYPE_CLUSTER, "com.acme");
    add_other(batch, UDPAI_DURABLE_MARK, "west", TYPE_CLUSTER, "");
    add_other(batch, UDPAI_DURABLE_FORGET_ORIGIN, "east", NULL, NULL);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_str(udpai_bytes_view(loaded.ops->ops.items[i].origin), "west");
    const udpai_durable_op *mark = find_loaded(&loaded, UDPAI_DURABLE_MARK, "com.acme");
    assert_non_null(mark);
    assert_string_equal(udpa_bytes_data(mark->type), TYPE_CLUSTER);
    assert_int_equal(udpa_bytes_size(mark->type), sizeof(TYPE_CLUSTER));
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_MARK, ""));
    loaded_done(&loaded);
}

static void
facts_are_kept_until_they_are_taken_back(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    udpai_durable_batch *batch = new_batch();
    add_other(batch, UDPAI_DURABLE_MARK, "east", TYPE_CLUSTER, "com.acme");
    add_other(batch, UDPAI_DURABLE_MARK, "east", TYPE_CLUSTER, "org");
    add_other(batch, UDPAI_DURABLE_UNMARK, "east", TYPE_CLUSTER, "com.acme");
    add_other(batch, UDPAI_DURABLE_USE, "east", TYPE_CLUSTER, "");
    add_other(batch, UDPAI_DURABLE_USE, "west", TYPE_CLUSTER, "");
    add_other(batch, UDPAI_DURABLE_USE, "west", TYPE_CLUSTER, "");
    add_other(batch, UDPAI_DURABLE_USE, "gone", TYPE_CLUSTER, "");
    add_other(batch, UDPAI_DURABLE_DISUSE, "east", TYPE_CLUSTER, "");
    add_other(batch, UDPAI_DURABLE_FORGET_ORIGIN, "gone", NULL, NULL);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 2);
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_MARK, "org"));
    const udpai_durable_op *use = find_loaded(&loaded, UDPAI_DURABLE_USE, "");
    assert_non_null(use);
    assert_str(udpai_bytes_view(use->origin), "west");
    assert_string_equal(udpa_bytes_data(use->type), TYPE_CLUSTER);
    loaded_done(&loaded);
}

static void
what_is_held_and_seen_is_kept_until_it_is_taken_back(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    udpai_durable_batch *batch = new_batch();
    add_other(batch, UDPAI_DURABLE_HOLD, "east", TYPE_CLUSTER, "com.acme/a");
    add_other(batch, UDPAI_DURABLE_HOLD, "east", TYPE_CLUSTER, "com.acme/b");
    add_other(batch, UDPAI_DURABLE_HOLD, "gone", TYPE_CLUSTER, "com.acme/c");
    add_other(batch, UDPAI_DURABLE_RELEASE, "east", TYPE_CLUSTER, "com.acme/a");
    add_other(batch, UDPAI_DURABLE_SEEN, "east", TYPE_CLUSTER, "first");
    add_other(batch, UDPAI_DURABLE_SEEN, "east", TYPE_CLUSTER, "second");
    batch->ops.items[batch->ops.n - 1].number = 77;
    add_other(batch, UDPAI_DURABLE_SEEN, "gone", TYPE_CLUSTER, "first");
    add_other(batch, UDPAI_DURABLE_FORGET_ORIGIN, "gone", NULL, NULL);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 2);
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_HOLD, "com.acme/b"));
    const udpai_durable_op *seen = find_loaded(&loaded, UDPAI_DURABLE_SEEN, "second");
    assert_non_null(seen);
    assert_int_equal(seen->number, 77);
    assert_string_equal(udpa_bytes_data(seen->type), TYPE_CLUSTER);
    loaded_done(&loaded);
}

static udpai_str
epoch_of(const struct loaded *loaded)
{
    return udpai_lineage_epoch(udpai_str_from(loaded->epoch));
}

/* What is announced of a store must hold of it after a crash, too. */
static void
a_store_has_an_epoch_and_numbers_its_commits(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    struct loaded first = load_all(fixture);
    assert_int_equal(epoch_of(&first).len, 32);
    assert_int_equal(first.number, 0);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "1");
    commit_put(fixture, TYPE_CLUSTER, "com.acme/b", "1");
    assert_last_report(fixture, UDPA_OK);
    uint64_t n_tickets = fixture->next_ticket;
    for (int i = 0; i < 2; i++) {
        close_engine(fixture);
        open_engine(fixture);
        struct loaded again = load_all(fixture);
        assert_true(udpai_str_eq(epoch_of(&again), epoch_of(&first)));
        assert_int_equal(again.number, n_tickets);
        assert_false(again.is_whole);
        loaded_done(&again);
    }
    fixture->next_ticket = 0; /* of another process */
    udpai_durable_batch *batch = new_batch();
    add_other(batch, UDPAI_DURABLE_EPOCH, "", NULL, "accepted");
    batch->ops.items[0].is_whole = true;
    commit(fixture, batch);
    n_tickets += fixture->next_ticket;
    close_engine(fixture);
    open_engine(fixture);
    struct loaded whole = load_all(fixture);
    assert_str(epoch_of(&whole), "accepted");
    assert_int_equal(whole.number, n_tickets);
    assert_true(whole.is_whole);
    loaded_done(&whole);
    fixture->next_ticket = 0;
    commit_put(fixture, TYPE_CLUSTER, "com.acme/c", "1");
    close_engine(fixture);
    open_engine(fixture);
    struct loaded last = load_all(fixture);
    assert_int_equal(last.number, n_tickets + fixture->next_ticket);
    close_engine(fixture);
    char path[128];
    assert_int_equal(remove(path_in(fixture, "udpa.db", path)), 0);
    assert_int_equal(remove(path_in(fixture, "udpa.db-made", path)), 0);
    open_engine(fixture);
    struct loaded other = load_all(fixture);
    assert_false(udpai_str_eq(epoch_of(&other), epoch_of(&first)));
    assert_int_equal(other.number, 0);
    loaded_done(&first);
    loaded_done(&last);
    loaded_done(&other);
}

/* Opens it, commits so often, and closes it; what a node would have seen of it last. */
static uint64_t
live(struct fixture *fixture, int n_commits, char lineage[UDPAI_EPOCH_MAX + 1])
{
    fixture->next_ticket = 0;
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    for (int i = 0; i < n_commits; i++)
        commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "1");
    close_engine(fixture);
    memcpy(lineage, loaded.epoch, UDPAI_EPOCH_MAX + 1);
    loaded_done(&loaded);
    return loaded.number + fixture->next_ticket;
}

static void
a_copy_that_was_put_back_is_another_store(void **state)
{
    struct fixture *fixture = *state;
    char seen[UDPAI_EPOCH_MAX + 1], lineage[UDPAI_EPOCH_MAX + 1], mark[UDPAI_EPOCH_MAX + 1];
    (void)live(fixture, 2, lineage);
    copy_file(fixture, "udpa.db", "copy");
    uint64_t n_seen = live(fixture, 3, seen);
    udpai_str epoch = udpai_lineage_epoch(udpai_str_from(seen));
    udpai_str opening = udpai_lineage_last(udpai_str_from(seen));
    snprintf(mark, sizeof(mark), "%.*s %.*s", UDPAI_SHOWN(epoch), UDPAI_SHOWN(opening));
    for (int i = 0; i < UDPAI_LINEAGE_OPENINGS - 1; i++) {
        (void)live(fixture, i, lineage);
        assert_true(
            udpai_lineage_comes_from(udpai_str_from(lineage), udpai_str_from(mark), n_seen));
    }
    (void)live(fixture, 0, lineage); /* it does not know that far back any more */
    assert_false(udpai_lineage_comes_from(udpai_str_from(lineage), udpai_str_from(mark), n_seen));
    copy_file(fixture, "copy", "udpa.db");
    for (int i = 0; i < 2; i++) {
        (void)live(fixture, 10, lineage);
        assert_false(
            udpai_lineage_comes_from(udpai_str_from(lineage), udpai_str_from(mark), n_seen));
    }
}

/* Keys are not always text. */
static void
origins_may_be_any_bytes(void **state)
{
    static const udpai_str keys[] = {{"pub\0node", 8}, {"pub", 3}, {"\xff\x00", 2}, {"", 0}};
    struct fixture *fixture = *state;
    open_engine(fixture);
    udpai_durable_batch *batch = new_batch();
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = NULL;
        assert_ok(udpa_bytes_new(&origin, keys[i].data, keys[i].len));
        char payload[2] = {(char)('0' + i)};
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = make_resource(TYPE_CLUSTER, "com.acme/a", payload, 1);
        add_op(batch, &(udpai_durable_op){
                          .kind = UDPAI_DURABLE_PUT, .origin = origin, .resource = resource});
    }
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, UDPAI_ARRAY_LEN(keys));
    for (size_t i = 0; i < loaded.ops->ops.n; i++) {
        size_t which =
            (size_t)(udpai_resource_value(loaded.ops->ops.items[i].resource).data[0] - '0');
        assert_true(udpai_str_eq(udpai_bytes_view(loaded.ops->ops.items[i].origin), keys[which]));
    }
    loaded_done(&loaded);
}

static void
columns_can_be_looked_at_while_it_runs(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *full = full_resource(TYPE_CLUSTER);
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "origin", full, 4102444800000000);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution WHERE origin = 'origin'"
                                      " AND type_url = '" TYPE_CLUSTER "'"
                                      " AND name = 'com.acme/full' AND version = 'v \xc3\xa9 7'"
                                      " AND authority = 'istio-east' AND secret = 0"
                                      " AND expires_us = 4102444800000000"
                                      " AND generation = 9223372036854775807"),
                     1);
}

int
main(void)
{
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_STORE(every_part_comes_back),
        WITH_STORE(every_part_of_a_secret_comes_back),
        WITH_STORE(put_replaces_and_delete_deletes),
        WITH_STORE(marks_are_kept_until_the_origin_is_forgotten),
        WITH_STORE(facts_are_kept_until_they_are_taken_back),
        WITH_STORE(what_is_held_and_seen_is_kept_until_it_is_taken_back),
        WITH_STORE(a_store_has_an_epoch_and_numbers_its_commits),
        WITH_STORE(a_copy_that_was_put_back_is_another_store),
        WITH_STORE(origins_may_be_any_bytes),
        WITH_STORE(columns_can_be_looked_at_while_it_runs),
    };
    return cmocka_run_group_tests_name("storage sqlite_write", tests, NULL, NULL);
}
