/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a runtime of the library: the layers of src/runtime/, and what feeds them. */
#ifndef UDPAI_ENDPOINT_RUNTIME_H
#define UDPAI_ENDPOINT_RUNTIME_H

#include <uv.h>

#include <udpa/runtime.h>
#include <udpa/subscribe.h>

#include "runtime/loader.h"

/* A layer, and where its contents come from. */
typedef struct udpai_runtime_feed {
    udpa_runtime *owner;
    size_t index;
    udpa_runtime_layer_kind kind;
    udpa_subscription *subscription; /* of RTDS */
    char *resource_name;
} udpai_runtime_feed;

struct udpa_runtime {
    udpai_runtime runtime;
    udpai_runtime_loader *loader;
    udpai_runtime_feed *feeds; /* one for each layer */
    size_t n_feeds;
    uv_async_t notify; /* keeps the loop running, too */
    bool is_due;       /* the application is to be notified of a change */
    bool is_closing;
    udpa_runtime_changed_fn changed;
    void *userdata;
    void (*closed)(void *userdata);
    void *closed_userdata;
};

/* Subscribes. The feed has its owner and its index. */
udpa_err udpai_runtime_feed_begin(udpai_runtime_feed *feed,
                                  const udpa_runtime_layer *layer,
                                  udpa_error **ret_error);
/* Any feed, also one that has not begun. */
void udpai_runtime_feed_end(udpai_runtime_feed *feed);

#endif
