/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a publisher, in the records of what it has published: by it the rules of every
 * replica decide, also of those that it is not connected to.
 *
 * Source: docs/design/replicas.md */
#ifndef UDPAI_REPLICA_RECORD_IDENTITY_H
#define UDPAI_REPLICA_RECORD_IDENTITY_H

#include "base/proto.h"
#include "model/identity.h"

/* So many URIs, and as many DNS names, one may have. */
#define UDPAI_RECORD_NAMES_MAX 256

/* Nothing, if it is NULL. */
void udpai_record_put_identity(udpai_proto_writer *writer,
                               uint32_t number,
                               const udpai_identity *identity);
/* UDPA_ERR_MALFORMED: no replica writes such a field. */
udpa_err udpai_record_read_identity(udpai_str bytes, udpai_identity **ret_identity);

#endif
