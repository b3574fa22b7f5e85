/* SPDX-License-Identifier: Apache-2.0 */
/* What a node needs of its surroundings: they carry out what it orders, and tell it the time. */
#ifndef UDPAI_NODE_ENV_H
#define UDPAI_NODE_ENV_H

#include "session/messages.h"
#include "store/durable.h"

typedef struct udpai_node_env {
    /* Takes the order. */
    void (*order)(void *userdata, udpai_order *order);
    /* Begins to commit; takes the batch; answered by udpai_node_committed(). NULL: nothing is kept.
     */
    void (*commit)(void *userdata, udpai_durable_batch *batch, uint64_t ticket);
    /* Microseconds since 1970. */
    int64_t (*wall_us)(void *userdata);
    uint64_t (*random)(void *userdata);
    /* What was published unasked has been judged, by its receipt, or because the stream ended (then
     * `error`). Borrowed. NULL: nobody publishes. */
    void (*published)(void *userdata,
                      uint64_t ticket,
                      const udpai_publication *publication,
                      const udpa_error *error);
    /* Somebody wants it, that is a name, or '*' and a prefix; or nobody does any more. Of an
     * endpoint: a peer, whatever the type; else somebody, or lately, of what clients report. NULL:
     * nothing is reported. */
    void (*wanted)(void *userdata, udpai_str type_url, udpai_str text, bool wanted);
    /* What a report of this node's own speaks of, if whoever reports has said so: views, good until
     * the next call into the node. NULL: nobody ever says. */
    bool (*speaks_of)(void *userdata,
                      const udpa_resource *report,
                      udpai_str *ret_type_url,
                      udpai_str *ret_name);
    /* What was reported with udpai_node_report_load() is for others now, who are not told it: it is
     * to be reported again, after this. NULL: nothing is reported so. */
    void (*audience_moved)(void *userdata);
    void *userdata;
} udpai_node_env;

#endif
