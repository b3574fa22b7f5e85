/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of the node itself, and the origins of what is read of them. */
#ifndef UDPAI_DIRECTORIES_H
#define UDPAI_DIRECTORIES_H

#include "federation/node.h"

typedef struct udpai_expected udpai_expected;

/* Makes it if need be. NULL without memory. */
udpai_origin *udpai_directory_origin(udpai_node *node, udpai_str root);
/* NULL: nothing was read of it. */
const udpai_origin *udpai_directory_find_origin(const udpai_node *node, udpai_str root);
/* The directory of this root, if it is one that will be read. */
udpai_expected *udpai_directory_find(const udpai_node *node, udpai_str root);

#endif
