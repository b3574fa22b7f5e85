/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/health_plan.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "envoy/config/core/v3/base.pb-c.h"
#include "envoy/config/endpoint/v3/endpoint_components.pb-c.h"
#include "model/digest.h"
#include "reports/health_plan_internal.h"
#include "wire/scan.h"

enum { /* field numbers of the public types */
    CLUSTER_CHECKS = 8,
    CHECK_TIMEOUT = 1,
    CHECK_INTERVAL = 2,
    CHECK_UNHEALTHY_THRESHOLD = 4,
    CHECK_HEALTHY_THRESHOLD = 5,
    ASSIGNMENT_LOCALITIES = 2,
    LOCALITY_PLACE = 1,
    LOCALITY_ENDPOINTS = 2,
    MEMBER_ENDPOINT = 1,
    ENDPOINT_ADDRESS = 1,
    ENDPOINT_CHECK_CONFIG = 2,
    CHECK_CONFIG_DISABLED = 4,
};

/* ---- reading ---- */

bool
udpai_health_check_is_usable(udpai_str check)
{
    const unsigned needed = 1u << CHECK_TIMEOUT | 1u << CHECK_INTERVAL |
                            1u << CHECK_UNHEALTHY_THRESHOLD | 1u << CHECK_HEALTHY_THRESHOLD;
    unsigned found = 0;
    udpai_proto_reader reader = udpai_proto_read(check);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number <= CHECK_HEALTHY_THRESHOLD && field.type == UDPAI_WIRE_BYTES)
            found |= 1u << field.number;
    return !reader.failed && (found & needed) == needed && udpai_health_check_protocol(check);
}

/* What a checker needs to be able to do; 0: there is nothing to be checked. */
static unsigned
protocols_of(udpai_str cluster, bool *ret_is_good)
{
    unsigned found = 0;
    udpai_proto_reader reader = udpai_proto_read(cluster);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == CLUSTER_CHECKS && field.type == UDPAI_WIRE_BYTES &&
            udpai_health_check_is_usable(field.bytes))
            found |= udpai_health_check_protocol(field.bytes);
    *ret_is_good = !reader.failed;
    return found;
}

bool
udpai_health_cluster_is_checked(udpai_str cluster)
{
    bool is_good;
    return protocols_of(cluster, &is_good) || !is_good;
}

static bool
is_disabled(udpai_str endpoint)
{
    bool found = false;
    udpai_proto_reader reader =
        udpai_proto_read(udpai_proto_last_bytes(endpoint, ENDPOINT_CHECK_CONFIG));
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == CHECK_CONFIG_DISABLED && field.type == UDPAI_WIRE_VARINT)
            found = field.value != 0;
    return found;
}

static uint64_t
hash_of(udpai_str cluster, const udpai_health_address *address)
{
    const char port[] = {(char)(address->port >> 8), (char)address->port};
    uint64_t hash = udpai_digest_behind(udpai_digest_behind(0, cluster), address->text);
    return udpai_digest_behind(hash, (udpai_str){port, sizeof(port)});
}

/* UDPA_ERR_MALFORMED: the cluster is to be left out. An endpoint without an address that can be
 * named in an answer, or that is not to be checked, is passed over. */
static udpa_err
add_endpoint(udpai_health_plan *plan, const udpai_plan_subject *like, udpai_str endpoint)
{
    udpai_plan_subject added = *like;
    added.endpoint = endpoint;
    if (udpai_scan(&envoy__config__endpoint__v3__endpoint__descriptor, endpoint, NULL, NULL) !=
        UDPA_OK)
        return UDPA_ERR_MALFORMED;
    if (is_disabled(endpoint) ||
        !udpai_health_address_read(udpai_proto_last_bytes(endpoint, ENDPOINT_ADDRESS),
                                   &added.address))
        return UDPA_OK;
    if (plan->subjects.n >= UDPAI_HEALTH_ENDPOINTS_MAX)
        return UDPA_ERR_LIMIT;
    added.drawn.hash = hash_of(plan->input.clusters[like->cluster].name, &added.address);
    return udpai_vector_push(&plan->subjects, added) ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
add_locality(udpai_health_plan *plan, udpai_plan_subject *like, udpai_str locality)
{
    udpai_str place = udpai_proto_last_bytes(locality, LOCALITY_PLACE);
    if (udpai_scan(&envoy__config__core__v3__locality__descriptor, place, NULL, NULL) != UDPA_OK)
        return UDPA_ERR_MALFORMED;
    like->locality = (uint32_t)plan->localities.n;
    like->drawn.place = udpai_health_place_read(place);
    udpa_err err = udpai_vector_push(&plan->localities, place) ? UDPA_OK : UDPA_ERR_NOMEM;
    udpai_proto_reader reader = udpai_proto_read(locality);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == LOCALITY_ENDPOINTS && field.type == UDPAI_WIRE_BYTES)
            err = add_endpoint(plan, like, udpai_proto_last_bytes(field.bytes, MEMBER_ENDPOINT));
    return err == UDPA_OK && reader.failed ? UDPA_ERR_MALFORMED : err;
}

static udpa_err
add_assignment(udpai_health_plan *plan, udpai_plan_subject *like, udpai_str assignment)
{
    udpa_err err = UDPA_OK;
    udpai_proto_reader reader = udpai_proto_read(assignment);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == ASSIGNMENT_LOCALITIES && field.type == UDPAI_WIRE_BYTES)
            err = add_locality(plan, like, field.bytes);
    return err == UDPA_OK && reader.failed ? UDPA_ERR_MALFORMED : err;
}

/* Whole, or not at all. */
static udpa_err
add_cluster(udpai_health_plan *plan, size_t index)
{
    const udpai_health_cluster_input *cluster = &plan->input.clusters[index];
    size_t n_subjects = plan->subjects.n, n_localities = plan->localities.n;
    bool is_good;
    udpai_plan_subject like = {.cluster = (uint32_t)index};
    like.drawn.protocols = protocols_of(cluster->cluster, &is_good);
    if (is_good && like.drawn.protocols == 0)
        return UDPA_OK;
    udpa_err err = is_good ? add_assignment(plan, &like, cluster->assignment) : UDPA_ERR_MALFORMED;
    if (err == UDPA_OK) {
        plan->counts.n_clusters += plan->subjects.n > n_subjects;
        return UDPA_OK;
    }
    plan->subjects.n = n_subjects;
    plan->localities.n = n_localities;
    plan->counts.n_left_out++;
    return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
}

/* ---- one of each ---- */

static int
compare_subjects(const void *a, const void *b, void *userdata)
{
    const udpai_plan_subject *subjects = userdata;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = (subjects[x].drawn.hash > subjects[y].drawn.hash) -
                (subjects[x].drawn.hash < subjects[y].drawn.hash);
    if (!order)
        order = (subjects[x].cluster > subjects[y].cluster) -
                (subjects[x].cluster < subjects[y].cluster);
    if (!order)
        order = udpai_health_address_cmp(&subjects[x].address, &subjects[y].address);
    return order ? order : (x > y) - (x < y);
}

static bool
is_same(const udpai_plan_subject *a, const udpai_plan_subject *b)
{
    return a->drawn.hash == b->drawn.hash && a->cluster == b->cluster &&
           udpai_health_address_cmp(&a->address, &b->address) == 0;
}

/* Of an address that a cluster has twice, the first counts. */
static udpa_err
drop_repeated(udpai_health_plan *plan)
{
    size_t n = plan->subjects.n, n_kept = 0;
    udpai_plan_subject *subjects = plan->subjects.items;
    uint32_t *order = udpai_alloc_array(n + 1, sizeof(*order));
    if (!order)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof(*order), compare_subjects, subjects);
    for (size_t i = n; i-- > 1;)
        if (is_same(&subjects[order[i]], &subjects[order[i - 1]]))
            subjects[order[i]].endpoint.data = NULL;
    for (size_t i = 0; i < n; i++)
        if (subjects[i].endpoint.data)
            subjects[n_kept++] = subjects[i];
    plan->subjects.n = n_kept;
    udpai_free(order);
    return UDPA_OK;
}

/* ---- drawing ---- */

static udpa_err
draw(udpai_health_plan *plan, uint32_t subject)
{
    const udpai_health_plan_input *input = &plan->input;
    const udpai_plan_subject *drawn_for = &plan->subjects.items[subject];
    uint32_t drawn[UDPAI_HEALTH_REDUNDANCY_MAX];
    size_t n = udpai_health_draw(&drawn_for->drawn, input->checkers, plan->hashes,
                                 input->n_checkers, input->redundancy, drawn);
    plan->counts.n_unchecked += n == 0;
    for (size_t i = 0; i < n; i++) {
        const udpai_plan_pair pair = {drawn[i], subject};
        const udpai_plan_memory memory = {drawn_for->drawn.hash, plan->hashes[drawn[i]]};
        if (!udpai_vector_push(&plan->pairs, pair) || !udpai_vector_push(&plan->memories, memory))
            return UDPA_ERR_NOMEM;
    }
    return UDPA_OK;
}

static int
compare_memories(const void *a, const void *b)
{
    const udpai_plan_memory *x = a, *y = b;
    int order = (x->subject > y->subject) - (x->subject < y->subject);
    return order ? order : (x->checker > y->checker) - (x->checker < y->checker);
}

static int
compare_pairs(const void *a, const void *b)
{
    const udpai_plan_pair *x = a, *y = b;
    int order = (x->checker > y->checker) - (x->checker < y->checker);
    return order ? order : (x->subject > y->subject) - (x->subject < y->subject);
}

static bool
remembers(const udpai_health_plan *plan, uint64_t subject, uint64_t checker)
{
    const udpai_plan_memory key = {subject, checker};
    return plan->memories.n &&
           bsearch(&key, plan->memories.items, plan->memories.n, sizeof(key), compare_memories);
}

/* A checker that was to check it and is not any more, if it is there and still can. */
static udpa_err
keep_checker(udpai_health_plan *plan, uint32_t subject, uint64_t hash)
{
    const udpai_health_subject *drawn = &plan->subjects.items[subject].drawn;
    udpai_plan_pair pair = {0, subject};
    while (pair.checker < plan->input.n_checkers && plan->hashes[pair.checker] != hash)
        pair.checker++;
    if (pair.checker == plan->input.n_checkers ||
        (drawn->protocols & ~plan->input.checkers[pair.checker].capability))
        return UDPA_OK;
    plan->counts.n_leaving++;
    return udpai_vector_push(&plan->pairs, pair) ? UDPA_OK : UDPA_ERR_NOMEM;
}

static size_t
first_memory(const udpai_health_plan *plan, uint64_t subject)
{
    size_t low = 0, high = plan->memories.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (plan->memories.items[middle].subject < subject)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static udpa_err
keep_before(udpai_health_plan *plan, const udpai_health_plan *before, uint32_t subject)
{
    uint64_t hash = plan->subjects.items[subject].drawn.hash;
    udpa_err err = UDPA_OK;
    for (size_t at = first_memory(before, hash);
         at < before->memories.n && before->memories.items[at].subject == hash; at++)
        if (err == UDPA_OK && !remembers(plan, hash, before->memories.items[at].checker))
            err = keep_checker(plan, subject, before->memories.items[at].checker);
    return err;
}

static udpa_err
draw_all(udpai_health_plan *plan, const udpai_health_plan *before)
{
    udpa_err err = UDPA_OK;
    size_t n = plan->subjects.n;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = draw(plan, (uint32_t)i);
    if (plan->memories.n)
        qsort(plan->memories.items, plan->memories.n, sizeof(*plan->memories.items),
              compare_memories);
    for (size_t i = 0; before && i < n && err == UDPA_OK; i++)
        err = keep_before(plan, before, (uint32_t)i);
    if (plan->pairs.n)
        qsort(plan->pairs.items, plan->pairs.n, sizeof(*plan->pairs.items), compare_pairs);
    plan->counts.n_endpoints = n;
    return err;
}

/* ---- its life ---- */

static udpa_err
fill(udpai_health_plan *plan, const udpai_health_plan *before)
{
    udpa_err err = UDPA_OK;
    plan->hashes = udpai_alloc_array(plan->input.n_checkers + 1, sizeof(*plan->hashes));
    if (!plan->hashes)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < plan->input.n_checkers; i++)
        plan->hashes[i] = udpai_health_checker_hash(plan->input.checkers[i].id);
    for (size_t i = 0; i < plan->input.n_clusters && err == UDPA_OK; i++)
        err = add_cluster(plan, i);
    if (err == UDPA_OK)
        err = drop_repeated(plan);
    return err == UDPA_OK ? draw_all(plan, before) : err;
}

udpa_err
udpai_health_plan_new(udpai_health_plan **ret_plan, const udpai_health_plan_input *input)
{
    UDPA_AUTO(udpai_health_plan_free) udpai_health_plan *plan = udpai_alloc(sizeof(*plan));
    if (!plan)
        return UDPA_ERR_NOMEM;
    plan->input = *input;
    plan->input.before = NULL;
    udpa_err err = fill(plan, input->before);
    if (err == UDPA_OK)
        *ret_plan = UDPAI_TAKE(plan);
    return err;
}

udpai_health_plan *
udpai_health_plan_free(udpai_health_plan *plan)
{
    if (!plan)
        return NULL;
    udpai_vector_done(&plan->localities);
    udpai_vector_done(&plan->subjects);
    udpai_vector_done(&plan->pairs);
    udpai_vector_done(&plan->memories);
    udpai_free(plan->hashes);
    udpai_free(plan);
    return NULL;
}

const udpai_health_plan_counts *
udpai_health_plan_counted(const udpai_health_plan *plan)
{
    return &plan->counts;
}
