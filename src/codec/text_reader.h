/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf text to bytes, with errors as those of the other formats: what libprotobuf reports, and
 * where, with hints added. */
#ifndef UDPAI_TEXT_READER_H
#define UDPAI_TEXT_READER_H

#include <udpa/bytes.h>

#include "codec/message.h"
#include "codec/source.h"

/* @p notes may be NULL. */
udpa_err udpai_text_read(const udpai_schema *schema,
                         const udpai_type *type,
                         const udpai_source *source,
                         udpa_bytes **ret_bytes,
                         udpai_text_notes *notes,
                         udpa_error **ret_error);

#endif
