/* SPDX-License-Identifier: Apache-2.0 */
/* How full a store is. */
#ifndef UDPAI_STORE_FILL_H
#define UDPAI_STORE_FILL_H

#include "store/store.h"

/* What all contributions take of the limits for the node, without what it states of itself; from 0
 * to 1, and above where more was kept than is allowed now. Of namespaces and publishers the fullest
 * one, by resources or bytes, in steps of 0.01 up to 1. */
typedef struct udpai_store_fill {
    double resources, bytes;
    double name_space, publisher;
} udpai_store_fill;

udpai_store_fill udpai_store_fill_of(const udpai_store *store);

#endif
