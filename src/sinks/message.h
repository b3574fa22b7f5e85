/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at of a message that is streamed to a sink: the sender, which the first one has,
 * and that it is well-formed. The rest stays bytes. */
#ifndef UDPAI_SINK_MESSAGE_H
#define UDPAI_SINK_MESSAGE_H

#include <udpa/bytes.h>

#include "base/error.h"
#include "model/event_kind.h"

/* Of the name of a stream. */
#define UDPAI_STREAM_NAME_MAX 256

/* Views of the message. */
typedef struct udpai_event_identifier {
    bool is_there;
    udpai_str node;  /* serialised */
    udpai_str name;  /* of the stream */
    udpai_str whole; /* serialised */
} udpai_event_identifier;

/* UDPA_ERR_MALFORMED; UDPA_ERR_LIMIT: it has too many fields, or too long a name. */
udpa_err udpai_event_message_read(udpai_event_kind kind,
                                  udpai_str message,
                                  udpai_event_identifier *ret_identifier,
                                  udpa_error **ret_error);

/* A copy of a message that was read, without its identifier. NULL without memory. */
udpa_bytes *udpai_event_message_copy(udpai_str message);

#endif
