/* SPDX-License-Identifier: Apache-2.0 */
/* One conversation with a node: an endpoint, the loop it runs on, and how the program ends. */
#ifndef UDPAI_CLI_CLIENT_H
#define UDPAI_CLI_CLIENT_H

#include <uv.h>

#include <udpa/endpoint.h>
#include <udpa/publish.h>
#include <udpa/subscribe.h>

#include "base/util.h"
#include "cli/messages.h"
#include "cli/options.h"

#define UDPAI_CLI_SOURCE "server"

typedef struct udpai_cli {
    const udpai_cli_options *options;
    uv_loop_t loop;
    udpa_endpoint *endpoint;
    const udpa_rest_server *rest; /* borrowed: the server is asked by REST; NULL: by gRPC */
    uv_timer_t look;              /* has the connection failed? */
    uv_timer_t deadline;          /* of what is waited for */
    uv_timer_t patience;          /* until it is asked why that takes so long; see waits.h */
    char *waits_for; /* what the node reports that it waits for; owned; NULL: nothing is known */
    uv_signal_t signals[2];
    const udpa_error *last_error; /* that was reported; compared, never read */
    const udpa_error *last_fault; /* the same, of a server while others are tried */
    char *server;                 /* that was connected last; owned; NULL: none was */
    bool was_reached;             /* a server was connected since the last error */
    bool has_answered;            /* the node has answered something */
    bool may_be_denied;           /* what is asked for is not for us: then it is not seen */
    bool is_asked_why; /* the node is asked what it waits for; that this is denied is no answer */
    bool is_quiet;     /* failures are not reported: the command that follows reports them */
    udpai_cli_exit on_signal; /* the result */
    bool is_lasting;          /* what is lost is only reported: the endpoint tries again */
    bool is_publishing;       /* a stream that ends is only reported: it is published again */
    uint64_t waits_ms;        /* for what is waited for */
    bool is_finished;
    udpai_cli_exit result;
} udpai_cli;

/* Makes the loop; nothing is connected yet. */
udpai_cli_exit udpai_cli_begin(udpai_cli *cli, const udpai_cli_options *options);
/* Begins to connect, again if it was connected before. */
udpai_cli_exit udpai_cli_connect(udpai_cli *cli);
/* Runs until udpai_cli_finish(), the timeout, or the failure of the connection. */
udpai_cli_exit udpai_cli_wait(udpai_cli *cli);
/* Like it, for a receipt: what was sent on a stream that has ended is sent again on the next. */
udpai_cli_exit udpai_cli_wait_receipt(udpai_cli *cli);
/* Like it, but once the node has answered there is no timeout: SIGINT or SIGTERM end it. */
udpai_cli_exit udpai_cli_wait_long(udpai_cli *cli);
/* Like it, but the caller ends it, and a signal ends it as the timeout does. */
udpai_cli_exit udpai_cli_wait_until(udpai_cli *cli);
/* From callbacks: what was waited for is there. */
void udpai_cli_finish(udpai_cli *cli, udpai_cli_exit result);
/* From callbacks: the node has answered. */
void udpai_cli_answered(udpai_cli *cli);
/* From callbacks: all that was asked for has been answered; it may be that it is not for us. */
void udpai_cli_answered_all(udpai_cli *cli);
/* Prints why there is no answer, as far as that is known: a later denial, of why it takes long, may
 * have taken the place of the one that it was. */
void udpai_cli_complain_of_silence(const udpai_cli *cli);
/* The server that is connected, for people; before that, all that were given. */
const char *udpai_cli_server(const udpai_cli *cli);
/* Ends the connection: nothing is called back any more. */
void udpai_cli_disconnect(udpai_cli *cli);
/* Ends the connection and the loop. */
void udpai_cli_end(udpai_cli *cli);

#endif
