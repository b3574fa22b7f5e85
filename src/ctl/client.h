/* SPDX-License-Identifier: Apache-2.0 */
/* One conversation with a node: an endpoint, the loop it runs on, and how the program ends. */
#ifndef UDPAI_CTL_CLIENT_H
#define UDPAI_CTL_CLIENT_H

#include <uv.h>

#include <udpa/endpoint.h>
#include <udpa/publish.h>
#include <udpa/subscribe.h>

#include "base/util.h"
#include "ctl/common_options.h"
#include "ctl/say.h"

#define UDPAI_CTL_SOURCE "server"

typedef struct udpai_ctl {
    const udpai_ctl_common *options;
    uv_loop_t loop;
    udpa_endpoint *endpoint;
    const udpa_rest_server *rest; /* borrowed: the server is asked by REST; NULL: by gRPC */
    uv_timer_t look;              /* has the connection failed? */
    uv_timer_t deadline;          /* of what is waited for */
    uv_timer_t patience;          /* until it is asked why that takes so long; see waits.h */
    char *waits_for; /* whom the node says that it waits for; owned; NULL: nothing is known */
    uv_signal_t signals[2];
    const udpa_error *last_error; /* that was told of; compared, never read */
    bool is_heard;                /* the node has answered something */
    bool may_be_denied;           /* what is asked for is not for us: then it is not seen */
    bool is_quiet;            /* failures are not reported: the command that follows reports them */
    udpai_ctl_exit on_signal; /* the result */
    bool is_lasting;          /* what is lost is only told of: the endpoint tries again */
    bool is_finished;
    udpai_ctl_exit result;
} udpai_ctl;

/* Makes the loop; nothing is connected yet. */
udpai_ctl_exit udpai_ctl_begin(udpai_ctl *ctl, const udpai_ctl_common *options);
/* Begins to connect, again if it was connected before. */
udpai_ctl_exit udpai_ctl_connect(udpai_ctl *ctl);
/* Runs until udpai_ctl_finish(), the timeout, or the failure of the connection. */
udpai_ctl_exit udpai_ctl_wait(udpai_ctl *ctl);
/* Like it, but once the node has been heard there is no timeout: SIGINT or SIGTERM end it. */
udpai_ctl_exit udpai_ctl_wait_long(udpai_ctl *ctl);
/* Like it, but whoever calls sees to its end, and a signal ends it as the timeout does. */
udpai_ctl_exit udpai_ctl_wait_until(udpai_ctl *ctl);
/* From callbacks: what was waited for is there. */
void udpai_ctl_finish(udpai_ctl *ctl, udpai_ctl_exit result);
/* From callbacks: the node has answered. */
void udpai_ctl_heard(udpai_ctl *ctl);
/* From callbacks: all that was asked for has been answered; it may be that it is not for us. */
void udpai_ctl_heard_all(udpai_ctl *ctl);
/* Ends the connection: nothing is called back any more. */
void udpai_ctl_disconnect(udpai_ctl *ctl);
/* Ends the connection and the loop. */
void udpai_ctl_end(udpai_ctl *ctl);

#endif
