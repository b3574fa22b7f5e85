/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever is first says which set it is, and all others join that one or hear why they cannot. */
#include "replica/set.h"

#include <stdio.h>

#include "base/proto.h"
#include "tests/harness/etcd_model.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#define PREFIX UDPAI_STR("/u/")
#define KEY "/u/set"

typedef struct searcher {
    udpai_set_search *search;
    unsigned n_found, n_waiting;
    udpa_err err;
    char id[64], words[512], waiting[200];
} searcher;

static udpai_wheel wheel;
static etcd_model model;
static searcher searchers[2];
static uint64_t chance;

static uint64_t
on_random(void *userdata)
{
    (void)userdata;
    return test_random(&chance);
}

static void
on_found(void *userdata, udpai_str id, const udpa_error *error)
{
    searcher *self = userdata;
    self->n_found++;
    self->err = error ? udpa_error_code(error) : UDPA_OK;
    (void)snprintf(self->id, sizeof(self->id), "%.*s", (int)id.len, id.len ? id.data : "");
    (void)snprintf(self->words, sizeof(self->words), "%s", error ? udpa_error_message(error) : "");
}

static void
on_waiting(void *userdata, const udpa_error *why)
{
    searcher *self = userdata;
    self->n_waiting++;
    (void)snprintf(self->waiting, sizeof(self->waiting), "%s", udpa_error_message(why));
}

static void
run_ms(uint64_t ms)
{
    uint64_t end = wheel.now_ms + ms;
    while (wheel.now_ms < end)
        udpai_wheel_advance(&wheel, wheel.now_ms + 1);
}

static udpa_err
try_to_search(searcher *self, const char *node_id)
{
    const udpai_set_search_env env = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .random = on_random,
        .found = on_found,
        .waiting = on_waiting,
        .userdata = self,
    };
    *self = (searcher){0};
    return udpai_set_search_new(&self->search, &env, PREFIX, udpai_str_from(node_id));
}

static void
search(searcher *self, const char *node_id)
{
    assert_ok(try_to_search(self, node_id));
}

static void
begin(uint64_t seed)
{
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, seed);
    chance = seed;
    memset(searchers, 0, sizeof(searchers));
}

static void
end(void)
{
    for (int i = 0; i < 2; i++)
        searchers[i].search = udpai_set_search_free(searchers[i].search);
    run_ms(10000);
    etcd_model_done(&model);
}

static int
setup(void **state)
{
    (void)state;
    begin(1);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    end();
    return 0;
}

/* ---- what the key has ---- */

static void
put_description(uint64_t format, const char *id, const char *node_id)
{
    uint8_t room[256];
    udpai_proto_writer writer = {room, 0};
    udpai_proto_put_varint(&writer, 1, format);
    udpai_proto_put_bytes(&writer, 2, udpai_str_from(id));
    udpai_proto_put_bytes(&writer, 3, udpai_str_from(node_id));
    udpai_proto_put_varint(&writer, 9, 1); /* of a newer version */
    assert_true(writer.size < sizeof(room));
    room[writer.size] = '\0';
    assert_null(memchr(room, '\0', writer.size));
    etcd_model_put(&model, KEY, (const char *)room);
}

static void
assert_refused(const searcher *self, udpa_err err, const char *words)
{
    assert_int_equal(self->n_found, 1);
    assert_int_equal(self->err, err);
    assert_string_equal(self->id, "");
    if (!strstr(self->words, words))
        fail_msg("'%s' has not '%s'", self->words, words);
}

#define ID "0123456789abcdef0123456789abcdef"

static void
the_set_that_is_there_is_found(void **state)
{
    (void)state;
    put_description(UDPAI_SET_FORMAT, ID, "node");
    search(&searchers[0], "node");
    assert_int_equal(searchers[0].n_found, 0);
    run_ms(100);
    assert_int_equal(searchers[0].n_found, 1);
    assert_string_equal(searchers[0].id, ID);
    assert_int_equal(searchers[0].err, UDPA_OK);
    assert_int_equal(model.n_txns, 0);
    run_ms(5000);
    assert_int_equal(searchers[0].n_found, 1);
}

static void
another_node_is_refused(void **state)
{
    (void)state;
    put_description(UDPAI_SET_FORMAT, ID, "edge");
    search(&searchers[0], "node");
    run_ms(100);
    assert_refused(&searchers[0], UDPA_ERR_PRECONDITION,
                   "is the node 'edge', and this is 'node': replicas have one node.id");
}

static void
another_format_is_refused(void **state)
{
    (void)state;
    put_description(UDPAI_SET_FORMAT + 1, ID, "another");
    search(&searchers[0], "node");
    run_ms(100);
    assert_refused(&searchers[0], UDPA_ERR_PRECONDITION,
                   "the replica set in etcd has format 2, and this udpad has 1: update it");
}

static void
what_is_no_description_is_refused(void **state)
{
    static const char *const values[] = {"", "x", "{\"id\": 7}", "\x08\x01\x12\x7f"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(values); i++) {
        etcd_model_put(&model, KEY, values[i]);
        search(&searchers[0], "node");
        run_ms(100);
        assert_refused(&searchers[0], UDPA_ERR_PRECONDITION,
                       "the key /u/set in etcd is not that of a replica set");
        searchers[0].search = udpai_set_search_free(searchers[0].search);
    }
    put_description(UDPAI_SET_FORMAT, "0123", "node"); /* an id that is too short */
    search(&searchers[0], "node");
    run_ms(100);
    assert_refused(&searchers[0], UDPA_ERR_PRECONDITION, "is not that of a replica set");
}

/* ---- writing it ---- */

static void
who_is_first_writes_it(void **state)
{
    (void)state;
    search(&searchers[0], "node");
    run_ms(UDPAI_SET_RETRY_MS + 100);
    assert_int_equal(searchers[0].n_found, 1);
    assert_int_equal(strlen(searchers[0].id), UDPAI_SET_ID_LEN);
    assert_int_equal(strspn(searchers[0].id, "0123456789abcdef"), UDPAI_SET_ID_LEN);
    assert_int_equal(searchers[0].n_waiting, 0);
    search(&searchers[1], "node");
    run_ms(100);
    assert_string_equal(searchers[1].id, searchers[0].id);
    searchers[1].search = udpai_set_search_free(searchers[1].search);
    search(&searchers[1], "another");
    run_ms(100);
    assert_refused(&searchers[1], UDPA_ERR_PRECONDITION, "is the node 'node'");
}

static void
two_at_once_agree(void **state)
{
    (void)state;
    search(&searchers[0], "node");
    search(&searchers[1], "node");
    run_ms(1000);
    assert_int_equal(model.n_txns, 2); /* both have tried */
    assert_int_equal(searchers[0].n_found, 1);
    assert_int_equal(searchers[1].n_found, 1);
    assert_string_equal(searchers[0].id, searchers[1].id);
    assert_int_equal(model.revision, 2);
}

/* ---- an etcd that does not answer ---- */

static void
etcd_is_waited_for(void **state)
{
    (void)state;
    model.faults.refused = 1000;
    search(&searchers[0], "node");
    run_ms(5000);
    assert_int_equal(searchers[0].n_found, 0);
    assert_true(searchers[0].n_waiting > 10 && searchers[0].n_waiting <= 25);
    assert_string_equal(searchers[0].waiting, "no answer");
    model.faults.refused = 0;
    run_ms(2 * UDPAI_SET_RETRY_MS + 100);
    assert_int_equal(searchers[0].n_found, 1);
    assert_int_equal(searchers[0].err, UDPA_OK);
}

/* Whether it was written is seen by looking. */
static void
an_answer_that_is_lost_changes_nothing(void **state)
{
    (void)state;
    search(&searchers[0], "node");
    model.faults.lost_responses = 1000; /* of all that is asked from now on */
    run_ms(5000);
    assert_int_equal(searchers[0].n_found, 0);
    assert_int_equal(model.revision, 2);
    model.faults.lost_responses = 0;
    run_ms(3000);
    assert_int_equal(searchers[0].n_found, 1);
    assert_int_equal(searchers[0].err, UDPA_OK);
    assert_int_equal(model.revision, 2);
}

/* What etcd will not do is not tried again. */
static void
what_is_rejected_is_over(void **state)
{
    (void)state;
    etcd_model_put(&model, "/x", "x");
    etcd_model_compact(&model, 3); /* a model that rejects what is asked of the present */
    search(&searchers[0], "node");
    run_ms(2000);
    assert_refused(&searchers[0], UDPA_ERR_UNAVAILABLE, "no answer");
    assert_int_equal(model.n_ranges, 1);
}

/* ---- its end, and memory ---- */

static void
it_can_end_at_any_time(void **state)
{
    (void)state;
    end();
    for (uint64_t ms = 0; ms < 60; ms++) {
        begin(ms + 1);
        model.faults.latency_ms = 30;
        model.faults.refused = ms % 2 ? 300 : 0;
        search(&searchers[0], "node");
        run_ms(ms * 5);
        unsigned n_found = searchers[0].n_found, n_waiting = searchers[0].n_waiting;
        searchers[0].search = udpai_set_search_free(searchers[0].search);
        run_ms(5000);
        assert_int_equal(searchers[0].n_found, n_found);
        assert_int_equal(searchers[0].n_waiting, n_waiting);
        end();
    }
    begin(1);
}

static udpa_err
open_and_close(void *context)
{
    (void)context;
    udpa_err err = try_to_search(&searchers[0], "node");
    searchers[0].search = udpai_set_search_free(searchers[0].search);
    return err;
}

static void
without_memory_there_is_none(void **state)
{
    (void)state;
    oom_torture(open_and_close, NULL);
}

static void
without_memory_it_goes_on_later(void **state)
{
    (void)state;
    search(&searchers[0], "node");
    udpai_alloc_fail_after(0);
    run_ms(1000);
    udpai_alloc_fail_after(-1);
    assert_int_equal(searchers[0].n_found, 0);
    assert_int_equal(model.n_txns, 0);
    run_ms(1000);
    assert_int_equal(searchers[0].n_found, 1);
    assert_int_equal(searchers[0].err, UDPA_OK);
}

/* ---- all of it at once ---- */

static void
whatever_is_lost_all_find_one_set(void **state)
{
    (void)state;
    unsigned n_waited = 0;
    end();
    for (uint64_t seed = 1; seed <= 200; seed++) {
        begin(seed);
        model.faults = (etcd_faults){
            .lost_requests = 200,
            .lost_responses = 200,
            .late_requests = 200,
            .refused = 200,
            .latency_ms = 100,
        };
        search(&searchers[0], "node");
        run_ms(test_random_below(&chance, 300));
        search(&searchers[1], "node");
        run_ms(20000);
        model.faults = (etcd_faults){.latency_ms = 3};
        run_ms(3000);
        n_waited += searchers[0].n_waiting + searchers[1].n_waiting;
        assert_int_equal(searchers[0].n_found, 1);
        assert_int_equal(searchers[1].n_found, 1);
        assert_int_equal(strlen(searchers[0].id), UDPAI_SET_ID_LEN);
        assert_string_equal(searchers[0].id, searchers[1].id);
        assert_int_equal(model.revision, 2); /* it was written once */
        end();
    }
    begin(1);
    assert_true(n_waited > 300);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_set_that_is_there_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(another_node_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(another_format_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_description_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_first_writes_it, setup, teardown),
        cmocka_unit_test_setup_teardown(two_at_once_agree, setup, teardown),
        cmocka_unit_test_setup_teardown(etcd_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_that_is_lost_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_rejected_is_over, setup, teardown),
        cmocka_unit_test_setup_teardown(it_can_end_at_any_time, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_there_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_it_goes_on_later, setup, teardown),
        cmocka_unit_test_setup_teardown(whatever_is_lost_all_find_one_set, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
