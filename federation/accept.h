/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody who looks after a node may say of what it holds. */
#ifndef UDPAI_ACCEPT_H
#define UDPAI_ACCEPT_H

#include "federation/node.h"

/* What this node, of that id, does not have has gone: whoever has it as a source, and holds what it
 * does not name any more, learns it as soon as it is kept. */
udpa_err udpai_node_accept_as_source(udpai_node *node, udpai_str id, udpa_error **ret_error);
/* What a source, or a directory of this root, does not name any more and is held, has gone: so
 * many. False: there is neither. */
bool udpai_node_accept_absences(udpai_node *node, udpai_str name, size_t *ret_n);

#endif
