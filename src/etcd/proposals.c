/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd/proposals.h"

#include "base/vector.h"

#define AGAIN_MS 20
#define AGAIN_MAX_MS 200
#define HURRY_MAX_MS 500
/* What a key costs in a message, beside itself. */
#define KEY_COST 40
#define ID_SIZE 16

typedef UDPAI_VECTOR(udpai_etcd_op) op_vector;

typedef struct lane {
    udpai_proposals *proposals;
    udpa_bytes *key;
    udpa_bytes *note;     /* the key that an attempt writes that is not done: the mirror shows it */
    int64_t mod_revision; /* of its key, as far as is known */
    bool knows_revision;
    udpai_list queue; /* of udpai_proposal, in their order */
    udpai_list group; /* those of the transaction under way */
    char id[ID_SIZE]; /* of the transaction */
    /* A key that is not there may come and go, and then an attempt that was lost on the way would
     * find what it compares. So before such a transaction is given up, the key of the lane is
     * written, with this. */
    char fence[ID_SIZE];
    bool is_fencing;
    int64_t seen;     /* revision, before the attempt: it can only be done at a later one */
    udpa_error *full; /* not NULL: it looks whether the attempt that met this was done */
    uint64_t since_ms, asked_ms;
    bool is_asking, may_be_done; /* an attempt at it has an outcome that is not known */
    udpai_timer again;
    uint64_t again_ms;
    udpai_etcd_call call;
} lane;

struct udpai_proposals {
    udpai_proposals_env env;
    lane lanes[UDPAI_PROPOSAL_LANES];
    UDPAI_VECTOR(udpai_etcd_compare) compares;
    op_vector ops, looks;
    udpai_list settled; /* those that wait for the mirror */
    uint64_t unsure_ms; /* when the first attempt failed since one was answered; 0: none has */
    uint64_t answer_ms; /* the longest that one took of late */
};

static void begin_group(lane *self);
static void on_done(udpai_etcd_call *call, const udpai_etcd_result *result);

static udpai_proposal *
proposal_of(udpai_list *node)
{
    return UDPAI_LIST_ENTRY(node, udpai_proposal, node);
}

/* ---- the end of a proposal ---- */

static void
finish(udpai_proposal *proposal, udpai_proposal_outcome outcome, const udpa_error *error)
{
    const udpai_proposal_result result = {outcome, proposal->waiter.revision, error};
    udpai_list_remove(&proposal->node);
    proposal->done(proposal, &result);
}

static void
on_reached(udpai_mirror_waiter *waiter)
{
    udpai_proposal *proposal = UDPAI_CONTAINER_OF(waiter, udpai_proposal, waiter);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (waiter->is_void)
        error = udpa_error_new(UDPA_ERR_ABORTED, NULL, "another state of etcd was accepted");
    finish(proposal, error ? UDPAI_PROPOSAL_UNKNOWN : proposal->outcome, error);
}

/* When the mirror is there. */
static void
finish_at(udpai_proposals *proposals,
          udpai_proposal *proposal,
          udpai_proposal_outcome outcome,
          int64_t revision)
{
    udpai_list_remove(&proposal->node);
    udpai_list_append(&proposals->settled, &proposal->node);
    proposal->outcome = outcome;
    proposal->waiter = (udpai_mirror_waiter){.revision = revision, .reached = on_reached};
    udpai_mirror_wait(proposals->env.mirror, &proposal->waiter);
}

/* ---- one transaction ---- */

static size_t
size_of(const udpai_proposal *proposal)
{
    size_t bytes = 0;
    for (size_t i = 0; i < proposal->n_ops; i++)
        bytes += proposal->ops[i].key.len + proposal->ops[i].value.len + KEY_COST;
    for (size_t i = 0; i < proposal->n_compares; i++) /* also looked for */
        bytes += 2 * (proposal->compares[i].key.len + KEY_COST);
    return bytes;
}

/* A key that the other writes, or compares: its write would make that one lose. */
static bool
writes_one_of(const udpai_proposal *one, const udpai_proposal *other)
{
    for (size_t i = 0; i < one->n_ops; i++) {
        for (size_t j = 0; j < other->n_ops; j++)
            if (udpai_str_eq(one->ops[i].key, other->ops[j].key))
                return true;
        for (size_t j = 0; j < other->n_compares; j++)
            if (udpai_str_eq(one->ops[i].key, other->compares[j].key))
                return true;
    }
    return false;
}

static bool
clashes(const lane *self, const udpai_proposal *proposal)
{
    UDPAI_LIST_FOREACH (at, &self->group)
        if (writes_one_of(proposal, proposal_of(at)) || writes_one_of(proposal_of(at), proposal))
            return true;
    return false;
}

/* As many of those that wait as fit, in their order. */
static void
choose_group(lane *self)
{
    size_t n_compares = 0, n_ops = 0, bytes = 0;
    UDPAI_LIST_FOREACH_SAFE (at, &self->queue) {
        udpai_proposal *proposal = proposal_of(at);
        bool is_first = udpai_list_empty(&self->group);
        n_compares += proposal->n_compares;
        n_ops += proposal->n_ops;
        bytes += size_of(proposal);
        bool fits = n_compares <= UDPAI_PROPOSAL_OPS_MAX && n_ops <= UDPAI_PROPOSAL_OPS_MAX &&
                    bytes <= UDPAI_PROPOSALS_BYTES_MAX;
        if (!is_first && (proposal->is_alone || !fits || clashes(self, proposal)))
            return;
        udpai_list_remove(at);
        udpai_list_append(&self->group, at);
        if (proposal->is_alone)
            return;
    }
}

static void
make_id(lane *self, char *id)
{
    for (size_t at = 0; at < ID_SIZE; at += sizeof(uint64_t)) {
        uint64_t number = self->proposals->env.random(self->proposals->env.userdata);
        memcpy(id + at, &number, sizeof(number));
    }
}

static bool
add_proposal(udpai_proposals *proposals, const udpai_proposal *proposal)
{
    for (size_t i = 0; i < proposal->n_compares; i++) {
        const udpai_etcd_op look = {
            .kind = UDPAI_ETCD_OP_RANGE,
            .key = proposal->compares[i].key,
            .keys_only = true,
        };
        if (!udpai_vector_push(&proposals->compares, proposal->compares[i]) ||
            !udpai_vector_push(&proposals->looks, look))
            return false;
    }
    for (size_t i = 0; i < proposal->n_ops; i++)
        if (!udpai_vector_push(&proposals->ops, proposal->ops[i]))
            return false;
    return true;
}

/* False without memory. */
static bool
fill_txn(lane *self, udpai_etcd_txn *ret_txn)
{
    udpai_proposals *proposals = self->proposals;
    udpai_str key = udpai_bytes_view(self->key);
    const udpai_etcd_compare compare = {UDPAI_ETCD_COMPARE_MOD_REVISION, key, self->mod_revision};
    const udpai_etcd_op put = {
        .kind = UDPAI_ETCD_OP_PUT,
        .key = key,
        .value = {self->is_fencing ? self->fence : self->id, ID_SIZE},
    };
    const udpai_etcd_op note = {.kind = UDPAI_ETCD_OP_PUT, .key = udpai_bytes_view(self->note)};
    const udpai_etcd_op look = {.kind = UDPAI_ETCD_OP_RANGE, .key = key};
    proposals->compares.n = proposals->ops.n = proposals->looks.n = 0;
    bool is_complete = udpai_vector_push(&proposals->compares, compare) &&
                       udpai_vector_push(&proposals->ops, put) &&
                       udpai_vector_push(&proposals->looks, look);
    UDPAI_LIST_FOREACH (at, &self->group)
        is_complete = is_complete && (self->is_fencing || add_proposal(proposals, proposal_of(at)));
    is_complete = is_complete && udpai_vector_push(&proposals->looks, note);
    *ret_txn = (udpai_etcd_txn){
        .compares = proposals->compares.items,
        .ops = proposals->ops.items,
        .else_ops = proposals->looks.items,
        .n_compares = proposals->compares.n,
        .n_ops = proposals->ops.n,
        .n_else_ops = proposals->looks.n,
    };
    return is_complete;
}

/* Of all attempts at a transaction one can be done, however many there are. */
static bool
is_hurried(const lane *self)
{
    const udpai_proposals *proposals = self->proposals;
    size_t bytes = 0;
    UDPAI_LIST_FOREACH (at, &self->group)
        bytes += size_of(proposal_of(at));
    return proposals->unsure_ms && bytes <= UDPAI_PROPOSAL_HURRY_BYTES &&
           proposals->env.wheel->now_ms - proposals->unsure_ms < UDPAI_PROPOSAL_HURRIES_MS;
}

/* Members that are far away are not asked in vain; 0: as long as it may take. */
static uint64_t
hurry_ms(const udpai_proposals *proposals)
{
    uint64_t ms = 2 * proposals->answer_ms;
    if (ms >= HURRY_MAX_MS)
        return 0;
    return ms > UDPAI_PROPOSAL_HURRY_MS ? ms : UDPAI_PROPOSAL_HURRY_MS;
}

static void
note_answer(udpai_proposals *proposals, uint64_t took_ms)
{
    uint64_t before_ms = proposals->answer_ms - proposals->answer_ms / 4;
    proposals->answer_ms = took_ms > before_ms ? took_ms : before_ms;
}

static void
attempt_later(lane *self)
{
    uint64_t ms = is_hurried(self) ? AGAIN_MS : self->again_ms;
    udpai_timer_set(self->proposals->env.wheel, &self->again,
                    self->proposals->env.wheel->now_ms + ms);
    self->again_ms = 2 * self->again_ms < AGAIN_MAX_MS ? 2 * self->again_ms : AGAIN_MAX_MS;
}

static void
attempt(lane *self)
{
    udpai_proposals *proposals = self->proposals;
    udpai_etcd *etcd = proposals->env.etcd;
    udpai_etcd_txn txn;
    self->call.done = on_done;
    self->call.timeout_ms = is_hurried(self) ? hurry_ms(proposals) : 0;
    self->asked_ms = proposals->env.wheel->now_ms;
    self->seen = udpai_mirror_get_position(proposals->env.mirror).revision;
    self->is_asking = fill_txn(self, &txn) && etcd->ops->txn(etcd, &self->call, &txn) == UDPA_OK;
    if (!self->is_asking)
        attempt_later(self);
}

/* ---- what has become of it ---- */

/* NULL: there is no such key. */
static const udpai_etcd_kv *
find(const udpai_etcd_result *result, udpai_str key)
{
    for (size_t i = 0; i < result->n_kvs; i++)
        if (udpai_str_eq(result->kvs[i].key, key))
            return &result->kvs[i];
    return NULL;
}

static bool
is_so(const udpai_etcd_compare *compare, const udpai_etcd_kv *kv)
{
    bool is_created = compare->kind == UDPAI_ETCD_COMPARE_CREATE_REVISION;
    int64_t revision = !kv ? 0 : is_created ? kv->create_revision : kv->mod_revision;
    return compare->revision == revision;
}

static bool
has_lost(const udpai_proposal *proposal, const udpai_etcd_result *result)
{
    for (size_t i = 0; i < proposal->n_compares; i++)
        if (!is_so(&proposal->compares[i], find(result, proposal->compares[i].key)))
            return true;
    return false;
}

/* All of them, in their order; and then the next ones. */
static void
end_group(lane *self, udpai_proposal_outcome outcome, int64_t revision, const udpa_error *error)
{
    udpai_list group, *at;
    udpai_list_init(&group);
    udpai_list_splice(&group, &self->group);
    begin_group(self);
    while ((at = udpai_list_pop(&group))) {
        if (outcome == UDPAI_PROPOSAL_COMMITTED)
            finish_at(self->proposals, proposal_of(at), outcome, revision);
        else
            finish(proposal_of(at), outcome, error);
    }
}

/* Also those that wait: etcd has not had them at all. */
static void
end_all(lane *self, const udpa_error *error)
{
    udpai_list_splice(&self->group, &self->queue);
    end_group(self, UDPAI_PROPOSAL_NOT_DONE, 0, error);
}

static void
commit_group(lane *self, int64_t revision)
{
    self->mod_revision = revision;
    end_group(self, UDPAI_PROPOSAL_COMMITTED, revision, NULL);
}

static bool
is_own(const lane *self, const udpai_etcd_kv *kv)
{
    return kv && udpai_str_eq(kv->value, (udpai_str){self->id, ID_SIZE});
}

/* Those of the group are first in the next one. */
static void
begin_again(lane *self)
{
    udpai_list_splice(&self->group, &self->queue);
    udpai_list_splice(&self->queue, &self->group);
    begin_group(self);
}

/* It was not done, and none of its attempts can be any more. Those that have lost nothing are first
 * in the next one. */
static void
sort_out(lane *self, const udpai_etcd_result *result, int64_t lane_revision)
{
    udpai_list lost, *at;
    udpai_list_init(&lost);
    self->mod_revision = lane_revision;
    UDPAI_LIST_FOREACH_SAFE (node, &self->group) {
        if (!has_lost(proposal_of(node), result))
            continue;
        udpai_list_remove(node);
        udpai_list_append(&lost, node);
    }
    begin_again(self);
    while ((at = udpai_list_pop(&lost)))
        finish_at(self->proposals, proposal_of(at), UDPAI_PROPOSAL_LOST, result->header.revision);
}

/* One of several is not taken, and nothing says which. */
static void
attempt_each(lane *self)
{
    UDPAI_LIST_FOREACH (at, &self->group)
        proposal_of(at)->is_alone = true;
    begin_again(self);
}

/* An etcd that was restored, or another, has done what nobody has accepted of it. It may be at any
 * revision, and have the key of the lane as it was before; what is written then would hide that. */
static bool
is_of_this_etcd(const lane *self, const udpai_etcd_result *result, int64_t lane_revision)
{
    const udpai_etcd_header *header = &result->header;
    const udpai_mirror *mirror = self->proposals->env.mirror;
    uint64_t cluster_id = udpai_mirror_get_position(mirror).cluster_id;
    int64_t had = udpai_mirror_mod_revision(mirror, udpai_bytes_view(self->key));
    return (!cluster_id || header->cluster_id == cluster_id) && header->revision > self->seen &&
           (result->succeeded || lane_revision >= had);
}

static void
end_with_other_etcd(lane *self)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error =
        udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "etcd is older than it was, or another cluster");
    self->knows_revision = false;
    end_group(self, UDPAI_PROPOSAL_UNKNOWN, 0, error);
}

/* None of its attempts can be done any more: it begins anew. */
static void
attempt_anew(lane *self, int64_t lane_revision)
{
    self->mod_revision = lane_revision;
    begin_again(self);
}

static void
fence(lane *self)
{
    self->is_fencing = true;
    make_id(self, self->fence);
    attempt(self);
}

static void
take_answer(lane *self, const udpai_etcd_result *result)
{
    const udpai_etcd_kv *own = find(result, udpai_bytes_view(self->key));
    int64_t lane_revision = own ? own->mod_revision : 0;
    if (!is_of_this_etcd(self, result, lane_revision))
        end_with_other_etcd(self);
    else if (result->succeeded && self->is_fencing)
        attempt_anew(self, result->header.revision);
    else if (result->succeeded)
        commit_group(self, result->header.revision);
    else if (is_own(self, own))
        commit_group(self, lane_revision); /* by an attempt before */
    else if (self->is_fencing)
        attempt_anew(self, lane_revision);
    else if (self->may_be_done && lane_revision == self->mod_revision)
        fence(self);
    else
        sort_out(self, result, lane_revision);
}

/* ---- a database that is full ---- */

static void
attempt_unsure(lane *self)
{
    self->may_be_done = true;
    attempt_later(self);
}

/* The answer is the same whether the attempt has filled it, and was done, or has found it full. */
static void
on_looked(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    lane *self = UDPAI_CONTAINER_OF(call, lane, call);
    UDPA_AUTO(udpa_error_unref) udpa_error *full = UDPAI_TAKE(self->full);
    const udpai_etcd_kv *own = find(result, udpai_bytes_view(self->key));
    self->is_asking = false;
    if (result->outcome == UDPAI_ETCD_DONE && is_own(self, own))
        commit_group(self, own->mod_revision);
    else if (result->outcome == UDPAI_ETCD_DONE && !self->may_be_done)
        end_group(self, UDPAI_PROPOSAL_NOT_DONE, 0, full);
    else
        attempt_unsure(self);
}

static void
look(lane *self, const udpa_error *full)
{
    udpai_etcd *etcd = self->proposals->env.etcd;
    const udpai_etcd_range range = {.key = udpai_bytes_view(self->key)};
    self->call.done = on_looked;
    self->call.timeout_ms = 0;
    self->is_asking = etcd->ops->range(etcd, &self->call, &range) == UDPA_OK;
    if (self->is_asking)
        self->full = udpa_error_ref((udpa_error *)(uintptr_t)full);
    else
        attempt_unsure(self);
}

/* ---- what was not answered ---- */

static void
take_failure(lane *self, const udpai_etcd_result *result)
{
    uint64_t ms = self->proposals->env.wheel->now_ms - self->since_ms;
    bool is_single = self->group.next == self->group.prev;
    bool is_full = udpa_error_code(result->error) == UDPA_ERR_LIMIT;
    self->may_be_done |= result->outcome == UDPAI_ETCD_UNKNOWN && !is_full;
    if (is_full && ms < UDPAI_PROPOSAL_UNKNOWN_MS)
        look(self, result->error);
    else if ((self->may_be_done || is_full) && ms >= UDPAI_PROPOSAL_UNKNOWN_MS)
        end_group(self, UDPAI_PROPOSAL_UNKNOWN, 0, result->error);
    else if (self->may_be_done)
        attempt_later(self);
    else if (result->outcome == UDPAI_ETCD_REJECTED && !is_single)
        attempt_each(self);
    else if (result->outcome == UDPAI_ETCD_REJECTED)
        end_group(self, UDPAI_PROPOSAL_REJECTED, 0, result->error);
    else if (ms >= UDPAI_PROPOSAL_RETRY_MS)
        end_all(self, result->error);
    else
        attempt_later(self);
}

static void
on_done(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    lane *self = UDPAI_CONTAINER_OF(call, lane, call);
    udpai_proposals *proposals = self->proposals;
    self->is_asking = false;
    if (result->outcome == UDPAI_ETCD_DONE) {
        proposals->unsure_ms = 0;
        note_answer(proposals, proposals->env.wheel->now_ms - self->asked_ms);
        take_answer(self, result);
        return;
    }
    if (!proposals->unsure_ms && result->outcome != UDPAI_ETCD_REJECTED)
        proposals->unsure_ms = proposals->env.wheel->now_ms;
    take_failure(self, result);
}

/* Nothing is written to an etcd that nobody has accepted. */
static void
attempt_unless_held(lane *self)
{
    udpai_proposals *proposals = self->proposals;
    uint64_t ms = proposals->env.wheel->now_ms - self->since_ms;
    if (udpai_mirror_get_state(proposals->env.mirror) != UDPAI_MIRROR_HELD) {
        attempt(self);
    } else if (ms < UDPAI_PROPOSAL_RETRY_MS) {
        attempt_later(self);
    } else {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                           "etcd has not what was handed on: it is not written to");
        self->knows_revision = false;
        if (self->may_be_done)
            end_group(self, UDPAI_PROPOSAL_UNKNOWN, 0, error);
        else
            end_all(self, error);
    }
}

static void
on_again(udpai_timer *timer)
{
    attempt_unless_held(UDPAI_CONTAINER_OF(timer, lane, again));
}

static void
begin_group(lane *self)
{
    choose_group(self);
    if (udpai_list_empty(&self->group))
        return;
    if (!self->knows_revision) {
        self->mod_revision =
            udpai_mirror_mod_revision(self->proposals->env.mirror, udpai_bytes_view(self->key));
        self->knows_revision = true;
    }
    make_id(self, self->id);
    self->is_fencing = self->may_be_done = false;
    self->again_ms = AGAIN_MS;
    self->since_ms = self->proposals->env.wheel->now_ms;
    attempt_unless_held(self);
}

/* ---- from outside ---- */

static bool
is_too_large(const udpai_proposal *proposal)
{
    return proposal->n_ops > UDPAI_PROPOSAL_OPS_MAX ||
           proposal->n_compares > UDPAI_PROPOSAL_OPS_MAX ||
           size_of(proposal) > UDPAI_PROPOSAL_BYTES_MAX;
}

void
udpai_proposals_add(udpai_proposals *proposals, udpai_proposal *proposal)
{
    lane *self = &proposals->lanes[proposal->order % UDPAI_PROPOSAL_LANES];
    proposal->is_alone = false;
    proposal->waiter = (udpai_mirror_waiter){0};
    udpai_list_init(&proposal->node);
    if (is_too_large(proposal)) {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *error =
            udpa_error_new(UDPA_ERR_LIMIT, NULL,
                           "%zu changes of %zu bytes are more than a transaction of etcd holds",
                           proposal->n_ops, size_of(proposal));
        finish(proposal, UDPAI_PROPOSAL_REJECTED, error);
        return;
    }
    udpai_list_append(&self->queue, &proposal->node);
    if (udpai_list_empty(&self->group))
        begin_group(self);
}

static void
init_lane(udpai_proposals *proposals, lane *self)
{
    self->proposals = proposals;
    udpai_list_init(&self->queue);
    udpai_list_init(&self->group);
    udpai_timer_init(&self->again, on_again);
}

static udpa_err
name_lane(udpai_proposals *proposals, size_t number, udpai_str prefix)
{
    lane *self = &proposals->lanes[number];
    uint8_t *room;
    self->key = udpai_bytes_make(prefix.len + 1, &room);
    if (!self->key)
        return UDPA_ERR_NOMEM;
    memcpy(room, prefix.data, prefix.len);
    room[prefix.len] = (uint8_t)('0' + number);
    self->note = udpai_bytes_make(prefix.len + 2, &room);
    if (!self->note)
        return UDPA_ERR_NOMEM;
    memcpy(room, udpa_bytes_data(self->key), prefix.len + 1);
    room[prefix.len + 1] = '!';
    return UDPA_OK;
}

udpa_err
udpai_proposals_new(udpai_proposals **ret_proposals,
                    const udpai_proposals_env *env,
                    udpai_str lane_prefix)
{
    udpai_proposals *proposals = udpai_alloc(sizeof(*proposals));
    udpa_err err = proposals ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        return err;
    proposals->env = *env;
    udpai_list_init(&proposals->settled);
    for (size_t i = 0; i < UDPAI_PROPOSAL_LANES; i++)
        init_lane(proposals, &proposals->lanes[i]);
    for (size_t i = 0; i < UDPAI_PROPOSAL_LANES && err == UDPA_OK; i++)
        err = name_lane(proposals, i, lane_prefix);
    if (err == UDPA_OK)
        *ret_proposals = proposals;
    else
        udpai_proposals_free(proposals);
    return err;
}

udpai_proposals *
udpai_proposals_free(udpai_proposals *proposals)
{
    if (!proposals)
        return NULL;
    for (size_t i = 0; i < UDPAI_PROPOSAL_LANES; i++) {
        lane *self = &proposals->lanes[i];
        if (self->is_asking)
            proposals->env.etcd->ops->cancel(proposals->env.etcd, &self->call);
        udpai_timer_cancel(&self->again);
        udpa_bytes_unref(self->key);
        udpa_bytes_unref(self->note);
        udpa_error_unref(self->full);
    }
    UDPAI_LIST_FOREACH (at, &proposals->settled)
        udpai_mirror_wait_end(&proposal_of(at)->waiter);
    udpai_vector_done(&proposals->compares);
    udpai_vector_done(&proposals->ops);
    udpai_vector_done(&proposals->looks);
    udpai_free(proposals);
    return NULL;
}
