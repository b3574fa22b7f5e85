/* SPDX-License-Identifier: Apache-2.0 */
/* Some of a node's links to its ConfigSources, by their numbers, of which none is 0. A value: their
 * bytes in ascending order, so that the same links are the same bytes. */
#ifndef UDPAI_LINKS_H
#define UDPAI_LINKS_H

#include <udpa/bytes.h>

#include "base/util.h"

/* Puts them in order, each once; how many are left. */
size_t udpai_links_sort(uint64_t *links, size_t n);
/* Of such; may be none. NULL without memory. */
udpa_bytes *udpai_links_new(const uint64_t *links, size_t n);
/* Is it in them? NULL: they are all there are. */
bool udpai_links_have(const udpa_bytes *links, uint64_t link);
/* Are these bytes links? */
bool udpai_links_check(udpai_str bytes);

#endif
