/* SPDX-License-Identifier: Apache-2.0 */
/* What there is of a selection of resources, gathered by a subscriber in the process: what the node
 * makes only for those who ask is made for it, too. On the loop. */
#ifndef UDPAI_DAEMON_GATHERING_H
#define UDPAI_DAEMON_GATHERING_H

#include "base/vector.h"
#include "endpoint/host.h"

typedef struct udpai_gathered {
    udpa_resource *resource;
    size_t number; /* in the order in which they came */
    bool is_removed;
} udpai_gathered;

/* Zeroed at first; it does not move until its end. */
typedef struct udpai_gathering {
    udpa_endpoint *endpoint;
    udpai_selection selection;
    char *name;
    udpai_str names[1];
    udpai_local_subscription *subscription;
    UDPAI_VECTOR(udpai_gathered) all;
    size_t n_seen;
    bool has_asked;
    bool is_complete; /* of a name: it has come */
    bool has_failed;  /* some is missing for want of memory */
    void (*complete)(void *userdata);
    void *userdata;
} udpai_gathering;

/* Of the selection, whose strings last as long as this; or of a name instead of its names, which is
 * taken, and is a question: complete with its answer. @p complete is called while the node goes
 * through its subscribers: it must not end this. Whatever comes back, it is to be ended. */
udpa_err udpai_gathering_begin(udpai_gathering *self,
                               udpa_endpoint *endpoint,
                               const udpai_selection *selection,
                               char *name,
                               void (*complete)(void *userdata),
                               void *userdata);
/* Leaves in `all` what there is now, each once, by name. */
void udpai_gathering_sort(udpai_gathering *self);
void udpai_gathering_end(udpai_gathering *self);

#endif
