/* SPDX-License-Identifier: Apache-2.0 */
/* The origins of publishers: one for each name and node id, however many streams it has. */
#ifndef UDPAI_PUBLISHERS_H
#define UDPAI_PUBLISHERS_H

#include "federation/context.h"

/* NULL: there is none. */
udpai_origin *udpai_publisher_find(const udpai_context *context, udpai_str name, udpai_str id);
/* Makes it if need be. NULL without memory. */
udpai_origin *udpai_publisher_origin(const udpai_context *context, udpai_str name, udpai_str id);
bool udpai_publisher_is_key(udpai_str origin_key);
/* The name and the node id in the key of a publisher's origin: the latter is a view of the key, the
 * name one of what is returned, which is to be freed. NULL: it is another's key, or there is no
 * memory. */
char *udpai_publisher_key_read(udpai_str key, udpai_str *ret_name, udpai_str *ret_id);

#endif
