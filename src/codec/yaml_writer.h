/* SPDX-License-Identifier: Apache-2.0 */
/* Trees to YAML in block style, as people write it. */
#ifndef UDPAI_YAML_WRITER_H
#define UDPAI_YAML_WRITER_H

#include "base/strbuf.h"
#include "codec/tree.h"

/* Appends a tree that came from JSON. Every string is read back as that same string, by YAML 1.1
 * readers too. */
void udpai_yaml_write(udpai_strbuf *out, const udpai_tree *node);

#endif
