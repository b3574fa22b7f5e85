/* SPDX-License-Identifier: Apache-2.0 */
/* What was learned in the stead of a node that was away becomes its own (recovery.h). */
#ifndef UDPAI_FEDERATION_ADOPTION_H
#define UDPAI_FEDERATION_ADOPTION_H

#include "federation/intake.h"

/* The source's contribution of this name has been put. */
udpa_err udpai_recovery_taken(const udpai_intake *intake,
                              const udpa_resource *resource,
                              udpa_error **ret_error);
/* The origin of what was taken over; NULL without memory. */
udpai_origin *udpai_recovery_origin(udpai_receiver *receiver);
/* Is the name's contribution of this generation replaced by what was taken over? */
bool udpai_recovery_replaces(const udpai_receiver *receiver,
                             udpai_str type_url,
                             udpai_str name,
                             uint64_t generation);

#endif
