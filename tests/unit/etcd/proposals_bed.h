/* SPDX-License-Identifier: Apache-2.0 */
/* Two replicas that propose, on the model of etcd. */
#ifndef UDPAI_TESTS_PROPOSALS_BED_H
#define UDPAI_TESTS_PROPOSALS_BED_H

#include "etcd/proposals.h"

#include <stdio.h>

#include "tests/harness/etcd_model.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#define PREFIX UDPAI_STR("/u/")
#define KEYS 6
#define WRITES_MAX 400

typedef struct replica {
    udpai_mirror *mirror;
    udpai_proposals *proposals;
    int64_t revision; /* that was handed on */
} replica;

typedef struct write {
    replica *by;
    udpai_proposal proposal;
    udpai_etcd_compare compares[2];
    udpai_etcd_op ops[2];
    char keys[2][32], value[32];
    bool is_done;
    udpai_proposal_outcome outcome;
    int64_t revision;
    char error[200];
} write;

static udpai_wheel wheel;
static etcd_model model;
static replica replicas[2];
static write writes[WRITES_MAX];
static size_t n_writes;
static uint64_t chance;

static inline uint64_t
on_random(void *userdata)
{
    (void)userdata;
    return test_random(&chance);
}

static inline udpa_err
on_changed(void *userdata, const udpai_mirror_change *change)
{
    replica *self = userdata;
    self->revision = change->position.revision;
    return UDPA_OK;
}

static inline void
on_state(void *userdata, udpai_mirror_state state, const udpa_error *error)
{
    (void)userdata;
    (void)state;
    (void)error;
}

static inline void
run_ms(uint64_t ms)
{
    uint64_t end = wheel.now_ms + ms;
    while (wheel.now_ms < end)
        udpai_wheel_advance(&wheel, wheel.now_ms + 1);
}

static inline void
open_replica(replica *self, const char *lanes)
{
    const udpai_mirror_env env = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .random = on_random,
        .changed = on_changed,
        .state_changed = on_state,
        .userdata = self,
    };
    assert_ok(udpai_mirror_new(&self->mirror, &env, PREFIX, (udpai_mirror_position){0}));
    run_ms(100);
    assert_int_equal(udpai_mirror_get_state(self->mirror), UDPAI_MIRROR_CURRENT);
    const udpai_proposals_env proposals = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .mirror = self->mirror,
        .random = on_random,
    };
    assert_ok(udpai_proposals_new(&self->proposals, &proposals, udpai_str_from(lanes)));
}

static inline void
close_replica(replica *self)
{
    self->proposals = udpai_proposals_free(self->proposals);
    self->mirror = udpai_mirror_free(self->mirror);
    self->revision = 0;
}

static inline void
begin(uint64_t seed)
{
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, seed);
    chance = seed;
    n_writes = 0;
    memset(writes, 0, sizeof(writes));
    open_replica(&replicas[0], "/u/lane/a");
    open_replica(&replicas[1], "/u/lane/b");
}

static inline void
end(void)
{
    close_replica(&replicas[0]);
    close_replica(&replicas[1]);
    run_ms(10000);
    etcd_model_done(&model);
}

static inline int
setup(void **state)
{
    (void)state;
    begin(1);
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    end();
    return 0;
}

/* ---- writes ---- */

static inline void
on_done(udpai_proposal *proposal, const udpai_proposal_result *result)
{
    write *self = UDPAI_CONTAINER_OF(proposal, write, proposal);
    assert_false(self->is_done);
    self->is_done = true;
    self->outcome = result->outcome;
    self->revision = result->revision;
    snprintf(self->error, sizeof(self->error), "%s",
             result->error ? udpa_error_message(result->error) : "");
    if (result->outcome == UDPAI_PROPOSAL_COMMITTED || result->outcome == UDPAI_PROPOSAL_LOST) {
        assert_null(result->error);
        assert_true(udpai_mirror_get_position(self->by->mirror).revision >= result->revision);
    } else {
        assert_non_null(result->error);
    }
}

/* As the replica sees it: what it has of the key must be there still. */
static inline write *
propose(replica *by, const char *const *keys, size_t n, bool is_delete, uint32_t order)
{
    assert_true(n_writes < WRITES_MAX);
    write *self = &writes[n_writes];
    self->by = by;
    snprintf(self->value, sizeof(self->value), "%zu", n_writes++);
    for (size_t i = 0; i < n; i++) {
        snprintf(self->keys[i], sizeof(self->keys[i]), "%s", keys[i]);
        udpai_str key = udpai_str_from(self->keys[i]);
        self->compares[i] = (udpai_etcd_compare){UDPAI_ETCD_COMPARE_MOD_REVISION, key,
                                                 udpai_mirror_mod_revision(by->mirror, key)};
        self->ops[i] = (udpai_etcd_op){
            .kind = is_delete ? UDPAI_ETCD_OP_DELETE : UDPAI_ETCD_OP_PUT,
            .key = key,
            .value = udpai_str_from(is_delete ? "" : self->value),
        };
    }
    self->proposal = (udpai_proposal){
        .compares = self->compares,
        .ops = self->ops,
        .n_compares = n,
        .n_ops = n,
        .order = order,
        .done = on_done,
    };
    udpai_proposals_add(by->proposals, &self->proposal);
    return self;
}

static inline write *
put(replica *by, const char *key)
{
    return propose(by, &key, 1, false, 0);
}

static inline void
assert_outcome(const write *self, udpai_proposal_outcome outcome)
{
    assert_true(self->is_done);
    assert_int_equal(self->outcome, outcome);
}

#endif
