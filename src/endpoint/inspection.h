/* SPDX-License-Identifier: Apache-2.0 */
/* Publications that an inspector looks at before other services and the node do. */
#ifndef UDPAI_ENDPOINT_INSPECTION_H
#define UDPAI_ENDPOINT_INSPECTION_H

#include "endpoint/host.h"

/* Looks at what peers publish before the node checks it. */
typedef struct udpai_inspector {
    /* Shall it be looked at? On any thread; cheap. */
    bool (*selects)(void *userdata, const udpa_resource *resource);
    /* An error refuses the resource; @p from is the name of its publisher, empty: it is not known.
     * On threads of libuv's pool, several at once. */
    udpa_err (*inspect)(void *userdata,
                        const udpa_resource *resource,
                        udpai_str from,
                        udpa_error **ret_error);
    /* It is effective no more, nor is another of its name. On the loop. NULL: it is not reported.
     */
    void (*removed)(void *userdata, const udpa_resource *resource);
    void *userdata; /* outlives the endpoint */
} udpai_inspector;

/* Held reports go on behind UDPAI_PLACE_INSPECTION. */
udpa_err udpai_inspection_new(udpai_service **ret_inspection,
                              udpa_endpoint *endpoint,
                              const udpai_inspector *inspector);

#endif
