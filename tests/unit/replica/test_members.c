/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas see each other, and there are never more than there may be. */
#include "replica/members.h"

#include <stdio.h>

#include "tests/harness/etcd_model.h"
#include "tests/harness/test.h"

#define PREFIX UDPAI_STR("/u/")
#define REPLICAS (UDPAI_REPLICAS_MAX + 1)

typedef struct replica {
    char id[16];
    udpai_mirror *mirror;
    udpai_members *members;
    char seen[256];    /* "id@revision " of each, by its place */
    char configs[256]; /* "config " of each */
    char streams[256]; /* "id=streams " of those that state them */
    udpai_membership membership;
    unsigned n_reports;
} replica;

static udpai_wheel wheel;
static etcd_model model;
static replica replicas[REPLICAS];
static uint64_t chance;

static uint64_t
on_random(void *userdata)
{
    (void)userdata;
    return test_random(&chance);
}

static void
run_ms(uint64_t ms)
{
    uint64_t end = wheel.now_ms + ms;
    while (wheel.now_ms < end)
        udpai_wheel_advance(&wheel, wheel.now_ms + 1);
}

static udpa_err
on_changed(void *userdata, const udpai_mirror_change *change)
{
    replica *self = userdata;
    if (change->is_all)
        udpai_members_clear(self->members);
    for (size_t i = 0; i < change->n_events; i++) {
        const udpai_etcd_event *event = &change->events[i];
        const udpai_str key = {event->kv.key.data + PREFIX.len, event->kv.key.len - PREFIX.len};
        if (udpai_members_is_key(key))
            udpai_members_take(self->members, key, event->is_delete ? NULL : &event->kv);
    }
    udpai_members_go_on(self->members, 7);
    return UDPA_OK;
}

static void
on_state(void *userdata, udpai_mirror_state state, const udpa_error *why)
{
    (void)userdata;
    (void)state;
    (void)why;
}

static void
on_report(void *userdata, udpai_replicated *event)
{
    replica *self = userdata;
    size_t len = 0, configs_len = 0;
    assert_int_equal(event->kind, UDPAI_REPLICATED_MEMBERS);
    self->seen[0] = self->configs[0] = self->streams[0] = '\0';
    for (size_t i = 0; i < event->n_members; i++) {
        const udpai_replica_member *member = &event->members[i];
        udpai_str id = udpai_bytes_view(member->id);
        assert_int_equal(member->is_own, udpai_str_eq(id, udpai_str_from(self->id)));
        assert_true(udpai_str_eq(udpai_bytes_view(member->advertised), UDPAI_STR("host:18000")));
        len += (size_t)snprintf(self->seen + len, sizeof(self->seen) - len, "%.*s@%lld ",
                                (int)id.len, id.data, (long long)member->revision);
        configs_len +=
            (size_t)snprintf(self->configs + configs_len, sizeof(self->configs) - configs_len,
                             "%.*s ", UDPAI_SHOWN(udpai_bytes_view(member->config)));
        size_t at = strlen(self->streams);
        if (member->has_streams)
            snprintf(self->streams + at, sizeof(self->streams) - at, "%.*s=%u ", (int)id.len,
                     id.data, (unsigned)member->n_streams);
        assert_true(member->written > 0);
    }
    self->membership = event->membership;
    self->n_reports++;
    udpai_replicated_free(event);
}

static void
open_replica(replica *self, int number)
{
    const udpai_mirror_env mirror = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .random = on_random,
        .changed = on_changed,
        .state_changed = on_state,
        .userdata = self,
    };
    snprintf(self->id, sizeof(self->id), "r%d", number);
    const udpai_replica_description own = {udpai_str_from(self->id),
                                           UDPAI_STR("1.0"),
                                           UDPAI_STR("host"),
                                           UDPAI_STR("abc"),
                                           UDPAI_STR("host:18000"),
                                           UDPAI_STR("k1"),
                                           {0}};
    assert_ok(udpai_mirror_new(&self->mirror, &mirror, PREFIX, (udpai_mirror_position){0}));
    const udpai_members_env env = {&model.own.etcd, &wheel, self->mirror,
                                   on_report,       self,   on_random};
    assert_ok(udpai_members_new(&self->members, &env, PREFIX, &own));
}

static void
close_replica(replica *self)
{
    self->members = udpai_members_free(self->members);
    self->mirror = udpai_mirror_free(self->mirror);
    *self = (replica){0};
}

static int
setup(void **state)
{
    (void)state;
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, 1);
    chance = 1;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (int i = 0; i < REPLICAS; i++)
        if (replicas[i].members)
            close_replica(&replicas[i]);
    etcd_model_done(&model);
    return 0;
}

static void
each_sees_all(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        open_replica(&replicas[i], i);
    run_ms(3000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(replicas[i].membership, UDPAI_MEMBERSHIP_JOINED);
        assert_non_null(strstr(replicas[i].seen, "r0@7 "));
        assert_non_null(strstr(replicas[i].seen, "r1@7 "));
        assert_non_null(strstr(replicas[i].seen, "r2@7 "));
    }
}

static void
while_nothing_changes_nothing_is_written(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(5000);
    int64_t revision = model.revision;
    unsigned n_reports = replicas[0].n_reports;
    run_ms(60000);
    assert_int_equal(model.revision, revision);
    assert_int_equal(replicas[0].n_reports, n_reports);
}

static void
the_dead_are_gone_when_their_lease_is(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(1000); /* it has the first place */
    open_replica(&replicas[1], 1);
    run_ms(3000);
    close_replica(&replicas[1]);
    run_ms(6000);
    assert_string_equal(replicas[0].seen, "r0@7 r1@7 ");
    run_ms(6000);
    assert_string_equal(replicas[0].seen, "r0@7 ");
}

static void
one_that_is_back_has_its_place(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(1000); /* it has the first place */
    open_replica(&replicas[1], 1);
    run_ms(3000);
    close_replica(&replicas[0]);
    open_replica(&replicas[0], 0);
    run_ms(30000); /* longer than the lease that it had before */
    assert_string_equal(replicas[0].seen, "r0@7 r1@7 ");
    assert_string_equal(replicas[1].seen, "r0@7 r1@7 ");
    assert_int_equal(replicas[0].membership, UDPAI_MEMBERSHIP_JOINED);
}

static void
one_too_many_has_no_place_until_another_is_gone(void **state)
{
    (void)state;
    for (int i = 0; i < REPLICAS; i++)
        open_replica(&replicas[i], i);
    run_ms(UDPAI_MEMBERS_PATIENCE_MS + 2000);
    int n_joined = 0, without = -1;
    for (int i = 0; i < REPLICAS; i++) {
        n_joined += replicas[i].membership == UDPAI_MEMBERSHIP_JOINED;
        if (replicas[i].membership == UDPAI_MEMBERSHIP_FULL)
            without = i;
    }
    assert_int_equal(n_joined, UDPAI_REPLICAS_MAX);
    assert_true(without >= 0);
    close_replica(&replicas[(without + 1) % REPLICAS]);
    run_ms(15000);
    assert_int_equal(replicas[without].membership, UDPAI_MEMBERSHIP_JOINED);
}

static void
who_was_away_for_longer_joins_again(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(1000); /* it has the first place */
    open_replica(&replicas[1], 1);
    run_ms(3000);
    etcd_model_away(&model, true);
    run_ms(40000);
    etcd_model_away(&model, false);
    run_ms(20000);
    for (int i = 0; i < 2; i++) {
        assert_non_null(strstr(replicas[i].seen, "r0@7 "));
        assert_non_null(strstr(replicas[i].seen, "r1@7 "));
    }
}

static void
each_sees_how_many_streams_the_others_have(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(1000); /* it has the first place */
    open_replica(&replicas[1], 1);
    run_ms(3000);
    assert_string_equal(replicas[0].streams, "");
    udpai_members_set_streams(replicas[0].members, 0);
    udpai_members_set_streams(replicas[1].members, 100);
    run_ms(100);
    assert_string_equal(replicas[0].streams, "r0=0 r1=100 ");
    assert_string_equal(replicas[1].streams, "r0=0 r1=100 ");
}

/* 30,000 changes in a minute: a write in two seconds. */
static void
few_writes_state_many_changes_of_streams(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(3000);
    udpai_members_set_streams(replicas[0].members, 1000);
    run_ms(100);
    int64_t revision = model.revision;
    for (unsigned i = 0; i < 10000; i++) { /* less than is worth a write */
        udpai_members_set_streams(replicas[0].members, 990 + i % 20);
        run_ms(3);
    }
    assert_int_equal(model.revision, revision);
    for (unsigned i = 0; i < 20000; i++) {
        udpai_members_set_streams(replicas[0].members, test_random_below(&chance, 10000));
        run_ms(3);
    }
    assert_in_range(model.revision - revision, 20, 30);
}

/* So that the one that has too many sees that the other one lives. */
static void
one_with_room_writes_when_another_has_too_many(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(1000); /* it has the first place */
    open_replica(&replicas[1], 1);
    run_ms(3000);
    udpai_members_set_streams(replicas[0].members, 10);
    udpai_members_set_streams(replicas[1].members, 100);
    run_ms(10000);
    int64_t revision = model.revision;
    udpai_members_set_streams(replicas[1].members, 130); /* share 70, limit 120 */
    run_ms(20000);
    assert_int_equal(model.revision, revision + 3);
    run_ms(60000);
    assert_int_equal(model.revision, revision + 3);
    udpai_members_set_streams(replicas[0].members, 200); /* now it is the other way round */
    run_ms(20000);
    assert_int_equal(model.revision, revision + 4);
}

static void
nonsense_of_another_does_not_overflow(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(3000);
    udpai_members_set_streams(replicas[0].members, 1);
    run_ms(3000);
    for (int i = 2; i <= 7; i++) {
        char key[] = "/u/m/0";
        key[5] = (char)('0' + i);
        etcd_model_put(&model, key,
                       "\x0a\x01x\x32\x0ahost:18000\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    }
    run_ms(3000);
    assert_non_null(strstr(replicas[0].streams, "r0=1 x=4294967295 x=4294967295 "));
}

static void
what_is_malformed_is_not_a_member(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    run_ms(3000);
    etcd_model_put(&model, "/u/m/5", "\x0a\x7f"); /* cut off */
    etcd_model_put(&model, "/u/m/6", "");
    etcd_model_put(&model, "/u/m/8", "x");
    run_ms(3000);
    assert_string_equal(replicas[0].seen, "r0@7 ");
}

static void
the_first_place_is_the_janitors(void **state)
{
    (void)state;
    unsigned place;
    int64_t created[2];
    open_replica(&replicas[0], 0);
    assert_false(udpai_members_is_janitor(replicas[0].members, &place, &created[0]));
    run_ms(3000);
    open_replica(&replicas[1], 1);
    run_ms(20000);
    assert_true(udpai_members_is_janitor(replicas[0].members, &place, &created[0]));
    assert_int_equal(place, 1);
    const etcd_model_event *event = etcd_model_find(&model, UDPAI_STR("/u/m/1"), model.revision);
    assert_int_equal(created[0], event->create_revision);
    assert_false(udpai_members_is_janitor(replicas[1].members, &place, &created[1]));
    close_replica(&replicas[0]);
    run_ms(15000);
    assert_true(udpai_members_is_janitor(replicas[1].members, &place, &created[1]));
    assert_int_equal(place, 2);
    assert_true(created[1] > created[0]);
    open_replica(&replicas[0], 0); /* it has the first place again */
    run_ms(3000);
    assert_true(udpai_members_is_janitor(replicas[0].members, &place, &created[0]));
    assert_true(created[0] > created[1]);
    assert_false(udpai_members_is_janitor(replicas[1].members, &place, &created[1]));
}

static void
another_configuration_is_told_soon(void **state)
{
    (void)state;
    open_replica(&replicas[0], 0);
    open_replica(&replicas[1], 1);
    run_ms(3000);
    assert_string_equal(replicas[1].configs, "abc abc ");
    udpai_members_set_config(replicas[0].members, UDPAI_STR("def"));
    run_ms(UDPAI_MEMBERS_RETRY_MS + 200);
    assert_true(strcmp(replicas[1].configs, "def abc ") == 0 ||
                strcmp(replicas[1].configs, "abc def ") == 0);
    int64_t revision = model.revision;
    run_ms(20000);
    assert_int_equal(model.revision, revision);
    etcd_model_away(&model, true);
    udpai_members_set_config(replicas[1].members, UDPAI_STR("def"));
    run_ms(5000);
    etcd_model_away(&model, false);
    run_ms(10000);
    assert_string_equal(replicas[0].configs, "def def ");
}

/* Whatever is lost on the way. */
static void
faults_are_survived(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        udpai_wheel_init(&wheel, 1000);
        etcd_model_done(&model);
        etcd_model_init(&model, &wheel, seed);
        model.faults = (etcd_faults){.lost_requests = 100,
                                     .lost_responses = 100,
                                     .refused = 100,
                                     .late_requests = 50,
                                     .cut_watches = 50,
                                     .latency_ms = 50};
        for (int i = 0; i < 3; i++)
            open_replica(&replicas[i], i);
        run_ms(30000);
        model.faults = (etcd_faults){.latency_ms = 3};
        run_ms(30000);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(replicas[i].membership, UDPAI_MEMBERSHIP_JOINED);
            assert_int_equal(strlen(replicas[i].seen), strlen("r0@7 r1@7 r2@7 "));
        }
        for (int i = 0; i < 3; i++)
            close_replica(&replicas[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_sees_all, setup, teardown),
        cmocka_unit_test_setup_teardown(while_nothing_changes_nothing_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(the_dead_are_gone_when_their_lease_is, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_back_has_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(one_too_many_has_no_place_until_another_is_gone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_was_away_for_longer_joins_again, setup, teardown),
        cmocka_unit_test_setup_teardown(each_sees_how_many_streams_the_others_have, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(few_writes_state_many_changes_of_streams, setup, teardown),
        cmocka_unit_test_setup_teardown(one_with_room_writes_when_another_has_too_many, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nonsense_of_another_does_not_overflow, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_malformed_is_not_a_member, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_place_is_the_janitors, setup, teardown),
        cmocka_unit_test_setup_teardown(another_configuration_is_told_soon, setup, teardown),
        cmocka_unit_test_setup_teardown(faults_are_survived, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
