/* SPDX-License-Identifier: Apache-2.0 */
/* How many streams others open, and how much they may be sending at a time. Belongs to the stream
 * thread. */
#ifndef UDPAI_ADMISSION_H
#define UDPAI_ADMISSION_H

#include "base/error.h"
#include "base/map.h"

/* How many streams others have opened, and what is set aside for messages that they may be sending;
 * in all and of each name. */
typedef struct udpai_admission {
    udpai_map by_name; /* of udpai_admitted */
    size_t n, max, max_per_name;
    size_t reserved, max_reserved; /* bytes; a quarter of that of each name */
} udpai_admission;

typedef enum udpai_reservation {
    UDPAI_RESERVED,
    UDPAI_NAME_HAS_NO_ROOM,
    UDPAI_NO_ROOM,
} udpai_reservation;

typedef struct udpai_admitted udpai_admitted;

void udpai_admission_init(udpai_admission *admission, size_t max, size_t max_per_name);
void udpai_admission_done(udpai_admission *admission);
/* UDPA_ERR_LIMIT says which limit. */
udpa_err udpai_admission_enter(udpai_admission *admission,
                               udpai_str name,
                               udpai_admitted **ret_admitted,
                               udpa_error **ret_error);
void udpai_admission_leave(udpai_admission *admission, udpai_admitted *admitted);
/* One reservation there always is, of each name if nothing of others is in the way, however large.
 */
udpai_reservation
udpai_admission_reserve(udpai_admission *admission, udpai_admitted *admitted, size_t bytes);
/* Whether there is room or not. */
void
udpai_admission_reserve_anyway(udpai_admission *admission, udpai_admitted *admitted, size_t bytes);
void udpai_admission_release(udpai_admission *admission, udpai_admitted *admitted, size_t bytes);

#endif
