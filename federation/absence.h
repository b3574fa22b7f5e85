/* SPDX-License-Identifier: Apache-2.0 */
/* What a source does not name any more, without having sent its removal: is it believed? For the
 * files of this folder. */
#ifndef UDPAI_FEDERATION_ABSENCE_H
#define UDPAI_FEDERATION_ABSENCE_H

#include "federation/source.h"

/* The source (NULL: a publisher) does not name this any more, and has not sent its removal. True:
 * it is not believed, or not yet, and stays effective. */
bool udpai_absence_holds(udpai_source *source, udpai_str type_url, udpai_str name);
/* The same of all that the scope means. */
bool udpai_absence_holds_all(udpai_source *source, const udpai_store_scope *scope);
/* It names this again. */
void udpai_absence_over(const udpai_source *source, const udpa_resource *resource);
/* If the source has answered all that it was asked of the type, what it does not name is believed,
 * or held. */
void udpai_absence_settle(udpai_source *source, udpai_str type_url);
/* May so many of so many not go at once? */
bool udpai_absence_is_too_much(size_t n, size_t n_all, unsigned max_percent);
/* Its stream has begun, and it has reported which store it has. */
void udpai_absence_introduced(udpai_source *source);
/* As udpai_node_take_doubt(). */
const char *udpai_absence_take_doubt(udpai_source *source);
/* Its store has come so far; what it has sent is of no later moment, but for what it has not kept
 * yet. */
void udpai_absence_commit(udpai_source *source, uint64_t commit);
/* Its stream has ended: what was not decided yet is as if it had not been sent. */
void udpai_absence_closed(udpai_source *source);
/* Of a directory: those that the scope means are held if they are too many (0 percent: always), or
 * if some of their type are held already. Without memory they are as before. */
udpa_err udpai_absence_of_files(udpai_context *context,
                                udpai_origin *origin,
                                const udpai_store_scope *scope,
                                unsigned max_percent);

udpa_err udpai_absence_restore_seen(const udpai_source *source, const udpai_durable_op *op);

#endif
