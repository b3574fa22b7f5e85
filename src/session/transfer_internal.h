/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of transfer.h: the parts that orders and reports are made of. A message has no
 * tags: everything that belongs to it has a fixed order, so one that was cut off is never taken for
 * a shorter one.
 *
 * Putting is done twice, to count and to write. Taking goes on after a failure, with nothing but
 * zeros, and the first failure is reported at the end; what is taken then is incomplete, or NULL.
 */
#ifndef UDPAI_TRANSFER_INTERNAL_H
#define UDPAI_TRANSFER_INTERNAL_H

#include "base/proto.h"
#include "session/transfer.h"

typedef struct udpai_transfer_reader {
    udpai_proto_reader bytes;
    udpai_transfer *transfer;
    udpa_err err;
    const char *why;   /* of a failure; static */
    udpa_error *cause; /* of a failure, or NULL; owned */
} udpai_transfer_reader;

/* ---- reading ---- */

/* Only the first failure counts. */
void udpai_transfer_fail(udpai_transfer_reader *reader, udpa_err err, const char *why);
void udpai_transfer_out_of_memory(udpai_transfer_reader *reader);
/* The same with its cause, whose reference is consumed. */
void udpai_transfer_fail_because(udpai_transfer_reader *reader, udpa_error *cause, const char *why);

uint64_t udpai_transfer_take_number(udpai_transfer_reader *reader, uint64_t max);
bool udpai_transfer_take_flag(udpai_transfer_reader *reader);
/* Views of the message. A text is UTF-8 without zero bytes. */
udpai_str udpai_transfer_take_bytes(udpai_transfer_reader *reader);
udpai_str udpai_transfer_take_text(udpai_transfer_reader *reader);
/* How many things follow, of which each takes at least so many bytes. */
size_t udpai_transfer_take_count(udpai_transfer_reader *reader, size_t least_size);
/* Room for a table of them, until the message has been read; NULL without memory. */
void *udpai_transfer_room(udpai_transfer_reader *reader, size_t n, size_t item_size);
const udpai_str *udpai_transfer_take_texts(udpai_transfer_reader *reader, size_t *ret_n);
udpa_bytes *udpai_transfer_take_own_bytes(udpai_transfer_reader *reader);

/* A type URL with a NUL, shared with those before; borrowed. NULL for one that is too long to be
 * kept, and after a failure. */
udpa_bytes *udpai_transfer_share_type(udpai_transfer_reader *reader, udpai_str type_url);
/* The same of a node's id, without a NUL; a new reference. */
udpa_bytes *udpai_transfer_share_node(udpai_transfer_reader *reader, udpai_str node_id);

/* ---- parts ---- */

void udpai_transfer_put_texts(udpai_proto_writer *writer, const udpai_str *texts, size_t n);

/* Nothing but a byte for none. */
void udpai_transfer_put_trace(udpai_proto_writer *writer, const udpai_trace *trace);
udpai_trace udpai_transfer_take_trace(udpai_transfer_reader *reader);

void udpai_transfer_put_error(udpai_proto_writer *writer, const udpa_error *error);
udpa_error *udpai_transfer_take_error(udpai_transfer_reader *reader);

void udpai_transfer_put_identity(udpai_proto_writer *writer, const udpai_identity *identity);
udpai_identity *udpai_transfer_take_identity(udpai_transfer_reader *reader);

void udpai_transfer_put_subscription(udpai_proto_writer *writer,
                                     const udpai_subscription_message *message);
/* Views of the message and of room. */
udpai_subscription_message udpai_transfer_take_subscription(udpai_transfer_reader *reader);

void udpai_transfer_put_acl(udpai_proto_writer *writer, const udpai_acl *acl);
udpai_acl *udpai_transfer_take_acl(udpai_transfer_reader *reader);

void udpai_transfer_put_changes(udpai_proto_writer *writer, const udpai_change_set *set);
udpai_change_set *udpai_transfer_take_changes(udpai_transfer_reader *reader);

void udpai_transfer_put_publication(udpai_proto_writer *writer,
                                    const udpai_publication *publication);
/* @p is_new: as its peer has sent it, so that what nobody has rejected must be allowed. */
udpai_publication *udpai_transfer_take_publication(udpai_transfer_reader *reader, bool is_new);

void udpai_transfer_put_settled(udpai_proto_writer *writer, const udpai_settled *settled);
udpai_settled *udpai_transfer_take_settled(udpai_transfer_reader *reader);

#endif
