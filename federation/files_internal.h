/* SPDX-License-Identifier: Apache-2.0 */
/* Of files.c, for what one replica reads for all. */
#ifndef UDPAI_FEDERATION_FILES_INTERNAL_H
#define UDPAI_FEDERATION_FILES_INTERNAL_H

#include "federation/node.h"
#include "federation/source.h"

/* All of a directory has been read. This is kept: what was read goes on counting while the node is
 * down. */
void udpai_files_were_read(udpai_node *node, udpai_origin *origin, udpai_str root);
/* NULL: the name is empty, or of no source. */
udpai_source *udpai_files_source(const udpai_node *node, udpai_str name);
/* What is missing in it, and held, of a source or (NULL) a directory. */
void udpai_files_log_held(udpai_node *node,
                          udpai_source *source,
                          const udpai_directory *directory,
                          const udpai_origin *origin);

#endif
