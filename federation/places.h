/* SPDX-License-Identifier: Apache-2.0 */
/* A set of places: which contribution, by its origin, type and name. */
#ifndef UDPAI_FEDERATION_PLACES_H
#define UDPAI_FEDERATION_PLACES_H

#include "base/map.h"
#include "base/strbuf.h"
#include "store/durable.h"

typedef struct udpai_places {
    udpai_map by_text;
    udpai_strbuf room;
} udpai_places;

typedef struct udpai_place {
    udpai_str origin, type_url, name; /* views; any bytes, but no NUL in the type */
} udpai_place;

/* Of a PUT or DELETE; views into it. */
udpai_place udpai_place_of(const udpai_durable_op *op);

void udpai_places_init(udpai_places *places);
/* Empty again. */
void udpai_places_clear(udpai_places *places);
void udpai_places_done(udpai_places *places);

/* Again is once. False without memory. */
bool udpai_places_add(udpai_places *places, const udpai_place *place);
/* UDPA_OK, UDPA_ERR_NOT_FOUND, UDPA_ERR_NOMEM. */
udpa_err udpai_places_find(udpai_places *places, const udpai_place *place);
/* False: it was not there, or there is no memory. */
bool udpai_places_remove(udpai_places *places, const udpai_place *place);
size_t udpai_places_n(const udpai_places *places);
/* Visits all, in no order: begins with *at = 0. False: there is no other one. */
bool udpai_places_next(const udpai_places *places, size_t *at, udpai_place *ret_place);

#endif
