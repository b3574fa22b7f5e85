/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkers check an endpoint: of the capable checkers the nearest, and of equally near ones
 * those with the highest numbers, which endpoint and checker give together. */
#include "reports/health_plan.h"

#include "base/proto.h"
#include "model/digest.h"
#include "udpa/health/v1/health.pb-c.h"
#include "wire/scan.h"

enum { /* field numbers */
    PLACE_REGION = 1,
    PLACE_ZONE = 2,
    PLACE_SUB_ZONE = 3,
    CHECKER_REGION = 2,
    CHECKER_ZONE = 3,
    CHECKER_SUB_ZONE = 4,
};

/* ---- reading ---- */

/* Its three texts, of which the first has this number. */
static udpai_health_place
read_place(udpai_str message, uint32_t first)
{
    udpai_health_place place = {0};
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        if (field.number == first)
            place.region = field.bytes;
        else if (field.number == first + 1)
            place.zone = field.bytes;
        else if (field.number == first + 2)
            place.sub_zone = field.bytes;
    }
    return place;
}

udpai_health_place
udpai_health_place_read(udpai_str locality)
{
    return read_place(locality, PLACE_REGION);
}

_Static_assert(PLACE_SUB_ZONE == PLACE_REGION + 2 && PLACE_ZONE == PLACE_REGION + 1, "in a row");
_Static_assert(CHECKER_SUB_ZONE == CHECKER_REGION + 2 && CHECKER_ZONE == CHECKER_REGION + 1,
               "in a row");

/* Its protocols are those of a Capability, number and all. */
bool
udpai_health_checker_read(udpai_str payload, udpai_health_checker *ret_checker)
{
    if (udpai_scan(&udpa__health__v1__checker__descriptor, payload, NULL, NULL) != UDPA_OK)
        return false;
    ret_checker->place = read_place(payload, CHECKER_REGION);
    ret_checker->capability = udpai_health_capability_read(payload);
    return true;
}

/* ---- drawing ---- */

typedef struct bid {
    unsigned nearness;
    uint64_t weight;
    uint32_t checker;
} bid;

/* What does not state where it is, is near nothing. */
static unsigned
nearness(const udpai_health_place *a, const udpai_health_place *b)
{
    if (a->region.len + a->zone.len + a->sub_zone.len == 0 || !udpai_str_eq(a->region, b->region))
        return 0;
    if (!udpai_str_eq(a->zone, b->zone))
        return 1;
    return udpai_str_eq(a->sub_zone, b->sub_zone) ? 3 : 2;
}

/* Every bit of both counts in every bit (splitmix64). */
static uint64_t
weigh(uint64_t subject, uint64_t checker)
{
    uint64_t x = subject + checker * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool
is_better(const bid *a, const bid *b)
{
    return a->nearness != b->nearness ? a->nearness > b->nearness : a->weight > b->weight;
}

/* Keeps the best ones, in order. */
static size_t
insert(bid *bids, size_t n, size_t max, const bid *added)
{
    if (n == max && !is_better(added, &bids[n - 1]))
        return n;
    size_t at = n < max ? n++ : n - 1;
    for (; at > 0 && is_better(added, &bids[at - 1]); at--)
        bids[at] = bids[at - 1];
    bids[at] = *added;
    return n;
}

size_t
udpai_health_draw(const udpai_health_subject *subject,
                  const udpai_health_checker *checkers,
                  const uint64_t *hashes,
                  size_t n_checkers,
                  size_t redundancy,
                  uint32_t ret_drawn[UDPAI_HEALTH_REDUNDANCY_MAX])
{
    bid bids[UDPAI_HEALTH_REDUNDANCY_MAX];
    size_t n = 0;
    for (size_t i = 0; i < n_checkers; i++) {
        if (subject->protocols & ~checkers[i].capability)
            continue;
        const bid added = {
            nearness(&subject->place, &checkers[i].place),
            weigh(subject->hash, hashes[i]),
            (uint32_t)i,
        };
        n = insert(bids, n, redundancy, &added);
    }
    for (size_t i = 0; i < n; i++)
        ret_drawn[i] = bids[i].checker;
    return n;
}

uint64_t
udpai_health_checker_hash(udpai_str id)
{
    return udpai_digest_behind(0, id);
}
