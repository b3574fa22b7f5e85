/* SPDX-License-Identifier: Apache-2.0 */
/* An inbox with a libuv loop as its receiver. */
#ifndef UDPAI_LOOP_INBOX_H
#define UDPAI_LOOP_INBOX_H

#include <uv.h>

#include "loop/inbox.h"

typedef struct udpai_loop_inbox udpai_loop_inbox;

/* Runs on the loop; takes the messages out of the list, oldest first. */
typedef void (*udpai_loop_inbox_fn)(void *userdata, udpai_list *messages);

/* On the loop's thread. It keeps the loop alive until it is closed. */
udpa_err udpai_loop_inbox_new(udpai_loop_inbox **ret_inbox,
                              uv_loop_t *loop,
                              udpai_loop_inbox_fn receive,
                              void *userdata,
                              udpa_error **ret_error);
/* Any thread. The message is the loop's from now on. */
void udpai_loop_inbox_push(udpai_loop_inbox *inbox, udpai_list *message);
/* On the loop's thread, when all that push have ended or were stopped for good. What is left is
 * moved to the end of @p to. The loop frees the inbox in its next turn, so it must run once more.
 */
void udpai_loop_inbox_close(udpai_loop_inbox *inbox, udpai_list *to);

#endif
