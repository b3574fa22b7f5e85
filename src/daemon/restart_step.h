/* SPDX-License-Identifier: Apache-2.0 */
/* What a process and its successor send each other (docs/design/restart.md): frames of kind
 * UDPAI_FRAME_STEP on a pair of sockets that the successor has inherited. A payload is a step, as
 * one byte, and a text. Sockets come by another pair (transport/front/handed_socket.h). */
#ifndef UDPAI_RESTART_STEP_H
#define UDPAI_RESTART_STEP_H

/* Where the successor finds its ends. */
#define UDPAI_SUCCESSOR_FD 3
#define UDPAI_SUCCESSOR_SOCKETS_FD 4

/* In its environment: the run that it goes on with, as in the Node (model/node_info.h). */
#define UDPAI_SUCCESSOR_VARIABLE "UDPAD_SUCCESSOR_OF_RUN"

/* In their order, the successor first, and then in turn. */
typedef enum udpai_restart_step {
    UDPAI_RESTART_CHECKED = 1, /* its bootstrap file is good; the text: which node it is */
    UDPAI_RESTART_TAKE,        /* the store is its own */
    UDPAI_RESTART_READY,       /* it could accept */
    UDPAI_RESTART_GO,          /* sources are its own, and nobody else accepts */
    UDPAI_RESTART_SERVES,      /* it accepts */
    UDPAI_RESTART_FAILED,      /* at any time: the text has why */
} udpai_restart_step;

#endif
