/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes with one id, which should not be: what passes one of them is no loop at the other, and
 * both are told of. The lower one meets what has passed the upper one, and says so to its sources
 * (model/twin_words.h), which pass it on to theirs. */
#ifndef UDPAI_TWINS_H
#define UDPAI_TWINS_H

#include "federation/node_internal.h"

udpa_err udpai_twins_new(udpai_node *node);
void udpai_twins_free(udpai_node *node);
/* Has the resource been here before? If it has only been at another of this node's id, that is
 * noted. */
bool udpai_twins_is_loop(udpai_node *node, const udpa_resource *resource);
/* Its Node has come. True: another process of the same instance is here already, and this one is
 * sent away. */
bool udpai_twins_refuse(udpai_node *node, udpai_peer *peer);

/* What the peer says of others may have changed: its Node has come, or it has gone. NULL: it has
 * said nothing of itself. */
void udpai_twins_review(udpai_node *node, const udpai_node_info *info);

/* ---- source.c ---- */

/* Its stream ends because of what it is; takes the error, NULL: there is no memory to say it. */
void udpai_source_refuse(udpai_source *source, udpa_error *why);

#endif
