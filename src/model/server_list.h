/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of servers in one text, with commas between and spaces around, such as "a:1, b:1": the
 * replicas of one set. Pure text; nothing is allocated. */
#ifndef UDPAI_SERVER_LIST_H
#define UDPAI_SERVER_LIST_H

#include "base/error.h"
#include "base/util.h"

#define UDPAI_SERVERS_MAX 16

/* Takes the first one off the rest, without its spaces; false: there is none left. */
bool udpai_server_list_cut(udpai_str *rest, udpai_str *ret_server);
/* How many it has; of an empty text none. */
size_t udpai_server_list_size(udpai_str list);
/* The one at this index, counted from 0; empty: there is none. */
udpai_str udpai_server_list_at(udpai_str list, size_t index);
/* UDPA_ERR_INVAL: one is empty, or is there twice, or they are too many. What an address may be is
 * the transport's to check. */
udpa_err udpai_server_list_check(udpai_str list, udpa_error **ret_error);

#endif
