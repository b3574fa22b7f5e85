/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors from one process to another, by a pair of sockets: to a worker, or to a process that
 * takes the place of this one. What waits in the queue of a socket that listens stays there. Any
 * thread; each end has one user.
 *
 * Source: unix(7), SCM_RIGHTS */
#ifndef UDPAI_HANDED_SOCKET_H
#define UDPAI_HANDED_SOCKET_H

#include "base/error.h"
#include "base/util.h"

#define UDPAI_HANDED_LABEL_MAX 255 /* bytes */

/* Both ends keep messages apart, and are not inherited. */
udpa_err udpai_handing_pair(int ret_ends[2], udpa_error **ret_error);

/* One message: a label, and a descriptor, which stays the caller's. Does not wait. UDPA_ERR_INVAL:
 * the label is empty or too long. UDPA_ERR_IO: the other process has gone, or takes nothing. */
udpa_err udpai_socket_hand(int end, udpai_str label, int file, udpa_error **ret_error);
/* What was handed next, which is the caller's; @p room is for the label. Does not wait.
 * UDPA_ERR_UNAVAILABLE: nothing is there. UDPA_ERR_MALFORMED: it is no such message, and what it
 * brought is closed. */
udpa_err udpai_socket_take_handed(int end,
                                  char room[UDPAI_HANDED_LABEL_MAX],
                                  udpai_str *ret_label,
                                  int *ret_file,
                                  udpa_error **ret_error);

#endif
