/* SPDX-License-Identifier: Apache-2.0 */
/* Where connections come from: how many of one address there are, and what all of them together may
 * ask for nothing. All of an IPv6 network of 64 bits is one address, and so is a local user. In a
 * table of their own also identities are, of which there may be as many connections, wherever they
 * come from. */
#ifndef UDPAI_DOOR_ADDRESSES_H
#define UDPAI_DOOR_ADDRESSES_H

#include <pthread.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/map.h"
#include "metrics/meters.h"
#include "transport/admission.h"

/* So many at once, and so many more with each second. */
typedef struct udpai_door_allowance {
    uint32_t left;
    uint64_t refilled_ms;
} udpai_door_allowance;

typedef struct udpai_addresses udpai_addresses;

/* Of one address or identity, as long as there is a connection from it, and a while longer. */
typedef struct udpai_address {
    udpai_addresses *all;
    size_t n; /* of connections */
    udpai_list in_left;
    uint64_t left_ms;
    /* The door's. */
    udpai_door_allowance idle_frames, resets, refusals, requests;
    size_t n_waiting_visits;
    bool is_used;
    size_t name_len;
    char name[];
} udpai_address;

/* Any thread. */
struct udpai_addresses {
    pthread_mutex_t mutex;
    /* all under the mutex */
    udpai_map by_name;
    udpai_list left; /* without connections; those that left first come first */
    size_t n_left;
    size_t n, max, max_per_address; /* of connections; some more than max are for local users */
    udpai_meter *used;              /* how much of max; NULL: nobody asks */
};

udpa_err udpai_addresses_init(udpai_addresses *all, size_t max, size_t max_per_address);
void udpai_addresses_done(udpai_addresses *all);
/* Shows there how many connections there are of those that there may be. */
void udpai_addresses_set_meter(udpai_addresses *all, udpai_meter *used);
/* Are there as many as there may be, of whomever they are? */
bool udpai_addresses_are_full(udpai_addresses *all);
/* Others from now on; connections that are there stay. */
void udpai_addresses_set_max(udpai_addresses *all, size_t max, size_t max_per_address);
/* A connection of this peer, by its identity, if it has one here; to be left. @p ret_n: how many of
 * it there are now. UDPA_ERR_LIMIT: there are too many. */
udpa_err udpai_addresses_enter(udpai_addresses *all,
                               const udpai_client *peer,
                               uint64_t now_ms,
                               udpai_address **ret_address,
                               size_t *ret_n,
                               udpa_error **ret_error);
/* NULL is fine. */
void udpai_addresses_leave(udpai_address *address, uint64_t now_ms);

#endif
