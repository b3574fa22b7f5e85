/* SPDX-License-Identifier: Apache-2.0 */
/* Names of which a source and this node know different things for good: the one has something
 * newer, and may not give it to the other. For status, and for the files of this folder. */
#ifndef UDPAI_FEDERATION_DIFFERENCE_H
#define UDPAI_FEDERATION_DIFFERENCE_H

#include "federation/source.h"

/* So many names are distinguished; of more it is only known that there are. */
#define UDPAI_DIFFERENCES_MAX 10000
/* So many are named in status. */
#define UDPAI_DIFFERENCES_LISTED 10

void udpai_differences_init(udpai_source *source);
void udpai_difference_note(udpai_source *source, udpai_str type_url, udpai_str name);
void udpai_difference_end(udpai_source *source, udpai_str type_url, udpai_str name);
/* The source, a node, has published this, and it was taken in: is it older than what it has
 * published before, or than what its authority has removed? */
void
udpai_difference_look(udpai_source *source, udpai_str type_url, const udpa_resource *published);
/* Its stream has ended; or the source does. */
void udpai_differences_forget(udpai_source *source);
/* Names of some of them. */
size_t udpai_differences_list(const udpai_source *source,
                              udpai_str names[UDPAI_DIFFERENCES_LISTED]);

#endif
