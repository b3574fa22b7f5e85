/* SPDX-License-Identifier: Apache-2.0 */
/* What several checkers report together. Each reports one status of an endpoint: the votes are put
 * in order by endpoint and checker, and counted run by run. */
#include "reports/health.h"

#include <stdlib.h>

#include "base/proto.h"
#include "udpa/health/v1/health.pb-c.h"
#include "wire/scan.h"

enum { /* field numbers of EndpointHealth and what is in it */
    HEALTH_LOCALITIES = 2,
    LOCALITY_ENDPOINTS = 4,
    CHECKED_ADDRESS = 1,
    CHECKED_PORT = 2,
    CHECKED_STATUS = 3,
};

/* From the best to the worst; no status comes first. */
#define RANKS 5

static unsigned
rank_of(udpai_health_status status)
{
    switch (status) {
    case UDPAI_HEALTH_HEALTHY:
        return 1;
    case UDPAI_HEALTH_DEGRADED:
        return 2;
    case UDPAI_HEALTH_DRAINING:
        return 3;
    case UDPAI_HEALTH_UNHEALTHY:
    case UDPAI_HEALTH_TIMEOUT:
        return 4;
    case UDPAI_HEALTH_UNKNOWN:
    case UDPAI_HEALTH_STATUSES:
        break;
    }
    return 0;
}

static udpai_health_status
status_of_rank(unsigned rank)
{
    static const udpai_health_status statuses[RANKS] = {
        UDPAI_HEALTH_UNKNOWN,  UDPAI_HEALTH_HEALTHY,   UDPAI_HEALTH_DEGRADED,
        UDPAI_HEALTH_DRAINING, UDPAI_HEALTH_UNHEALTHY,
    };
    return statuses[rank];
}

udpai_health_status
udpai_health_worse(udpai_health_status a, udpai_health_status b)
{
    return rank_of(b) > rank_of(a) ? b : a;
}

/* ---- votes ---- */

typedef struct vote {
    udpai_health_address address;
    size_t voter;
    unsigned rank;
} vote;

typedef UDPAI_VECTOR(vote) votes;

static udpa_err
add_vote(votes *all, size_t voter, udpai_str checked)
{
    vote cast = {.voter = voter};
    uint64_t port = 0, status = 0;
    udpai_proto_reader reader = udpai_proto_read(checked);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == CHECKED_ADDRESS && field.type == UDPAI_WIRE_BYTES)
            cast.address.text = field.bytes;
        else if (field.number == CHECKED_PORT && field.type == UDPAI_WIRE_VARINT)
            port = field.value;
        else if (field.number == CHECKED_STATUS && field.type == UDPAI_WIRE_VARINT)
            status = field.value;
    }
    if (cast.address.text.len == 0 || port > UINT16_MAX || status >= UDPAI_HEALTH_STATUSES)
        return UDPA_OK;
    cast.address.port = (uint32_t)port;
    cast.rank = rank_of((udpai_health_status)status);
    if (cast.rank == 0)
        return UDPA_OK;
    return udpai_vector_push(all, cast) ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
add_locality(votes *all, size_t voter, udpai_str locality)
{
    udpa_err err = UDPA_OK;
    udpai_proto_reader reader = udpai_proto_read(locality);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == LOCALITY_ENDPOINTS && field.type == UDPAI_WIRE_BYTES)
            err = add_vote(all, voter, field.bytes);
    return err;
}

/* UDPA_ERR_MALFORMED, or another refusal of the scan: none of it was added. */
static udpa_err
add_opinion(votes *all, size_t voter, udpai_str payload)
{
    udpa_err err = udpai_scan(&udpa__health__v1__endpoint_health__descriptor, payload, NULL, NULL);
    udpai_proto_reader reader = udpai_proto_read(payload);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == HEALTH_LOCALITIES && field.type == UDPAI_WIRE_BYTES)
            err = add_locality(all, voter, field.bytes);
    return err;
}

/* By address, then by checker; of several by one checker, the worst comes first. */
static int
compare_votes(const void *left, const void *right)
{
    const vote *a = left, *b = right;
    int order = udpai_health_address_cmp(&a->address, &b->address);
    if (order)
        return order;
    if (a->voter != b->voter)
        return a->voter < b->voter ? -1 : 1;
    return (a->rank < b->rank) - (a->rank > b->rank);
}

/* ---- counting ---- */

static unsigned
decide(const size_t counts[RANKS], size_t n, udpai_health_policy policy)
{
    size_t n_as_bad = 0;
    for (unsigned rank = RANKS; rank-- > 1;) {
        n_as_bad += counts[rank];
        if (policy == UDPAI_HEALTH_ANY ? n_as_bad > 0 : n_as_bad > n / 2)
            return rank;
    }
    return 0;
}

static udpa_err
count(const votes *all, udpai_health_policy policy, udpai_health_verdict *verdict)
{
    for (size_t i = 0, end; i < all->n; i = end) {
        size_t counts[RANKS] = {0}, n = 0;
        for (end = i; end < all->n && udpai_health_address_cmp(&all->items[end].address,
                                                               &all->items[i].address) == 0;
             end++) {
            if (end > i && all->items[end].voter == all->items[end - 1].voter)
                continue;
            counts[all->items[end].rank]++;
            n++;
        }
        const udpai_health_endpoint endpoint = {all->items[i].address,
                                                status_of_rank(decide(counts, n, policy))};
        if (!udpai_vector_push(&verdict->endpoints, endpoint))
            return UDPA_ERR_NOMEM;
    }
    return UDPA_OK;
}

udpa_err
udpai_health_merge(const udpai_health_opinion *opinions,
                   size_t n_opinions,
                   uint64_t now_ms,
                   udpai_health_policy policy,
                   udpai_health_verdict *ret_verdict,
                   size_t *ret_n_malformed)
{
    votes all = {0};
    udpa_err err = UDPA_OK;
    *ret_verdict = (udpai_health_verdict){0};
    *ret_n_malformed = 0;
    for (size_t i = 0; i < n_opinions && policy != UDPAI_HEALTH_NONE && err == UDPA_OK; i++) {
        if (opinions[i].deadline_ms && opinions[i].deadline_ms <= now_ms)
            continue;
        err = add_opinion(&all, i, opinions[i].payload);
        if (err == UDPA_OK || err == UDPA_ERR_NOMEM)
            continue;
        ++*ret_n_malformed;
        err = UDPA_OK;
    }
    if (all.n > 1)
        qsort(all.items, all.n, sizeof(all.items[0]), compare_votes);
    if (err == UDPA_OK)
        err = count(&all, policy, ret_verdict);
    udpai_vector_done(&all);
    return err;
}

/* ---- looking ---- */

static int
compare_with_address(const void *key, const void *item)
{
    return udpai_health_address_cmp(key, &((const udpai_health_endpoint *)item)->address);
}

udpai_health_status
udpai_health_verdict_find(const udpai_health_verdict *verdict, const udpai_health_address *address)
{
    const udpai_health_endpoint *found =
        verdict->endpoints.n ? bsearch(address, verdict->endpoints.items, verdict->endpoints.n,
                                       sizeof(*found), compare_with_address)
                             : NULL;
    return found ? found->status : UDPAI_HEALTH_UNKNOWN;
}

void
udpai_health_verdict_done(udpai_health_verdict *verdict)
{
    udpai_vector_done(&verdict->endpoints);
}
