/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes with one id, which should not be: what passes one of them is no loop at the other, and
 * both are reported. The lower one meets what has passed the upper one, and reports that to its
 * sources (model/twin_notices.h), which pass it on to theirs. */
#ifndef UDPAI_TWINS_H
#define UDPAI_TWINS_H

#include "federation/parts.h"
#include "federation/peers.h"
#include "federation/problems.h"

typedef struct udpai_twins udpai_twins;

udpa_err udpai_twins_new(udpai_twins **ret_twins, const udpai_parts *parts);
void udpai_twins_free(udpai_twins *twins);
/* Has the resource been here before? */
bool udpai_twins_has_passed(const udpai_twins *twins, const udpa_resource *resource);
/* The same; if it has only been at another of this node's id, that is noted. */
bool udpai_twins_is_loop(udpai_twins *twins, const udpa_resource *resource);
/* Its Node has come. True: another process of the same instance is here already, and this one is
 * sent away. */
bool udpai_twins_refuse(udpai_twins *twins, udpai_peer *peer);

/* What the peer reports of others may have changed: its Node was received, or the peer has left.
 * NULL: it has reported nothing of itself. */
void udpai_twins_review(udpai_twins *twins, const udpai_node_info *info);

/* What is amiss, for people. */
void udpai_twins_visit_problems(udpai_twins *twins, udpai_problem_fn visit, void *userdata);

#endif
