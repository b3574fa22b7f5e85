/* SPDX-License-Identifier: Apache-2.0 */
/* Resource messages as protobuf-c unpacked them, to values; shared by the files of this folder. */
#ifndef UDPAI_RESOURCE_DECODE_H
#define UDPAI_RESOURCE_DECODE_H

#include "udpa/service/discovery/v1/discovery.pb-c.h"
#include "wire/message.h"

/* Makes a value of one Resource. @p any: its Any as it arrived, or empty if it had none. The name
 * is checked and everything else too; what is wrong is returned, and then, if it can be made at
 * all, the resource all the same, so that the refusal can name it. */
udpa_err udpai_resource_from_message(udpai_decoder *decoder,
                                     const Udpa__Service__Discovery__V1__Resource *message,
                                     udpai_str any,
                                     udpa_resource **ret_resource,
                                     udpa_error **ret_error);

/* Adds the removals of a publish, of the type that the publication has already. A statement of them
 * counts for one with a type and a generation; if it may not be, that removal is refused. */
udpa_err udpai_removals_from_message(udpai_decoder *decoder,
                                     const Udpa__Service__Discovery__V1__DeltaPublish *delta,
                                     udpai_publication *publication);

#endif
