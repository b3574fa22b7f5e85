/* SPDX-License-Identifier: Apache-2.0 */
/* A map of names to versions, as a field of a message: taken straight from the message's bytes.
 * protobuf-c would make three objects of each entry, and a client has many thousands. */
#ifndef UDPAI_VERSIONS_H
#define UDPAI_VERSIONS_H

#include "wire/message.h"

typedef struct udpai_versions {
    const udpai_held_version *items; /* views into the message, not NUL-terminated; in its order */
    size_t n;
    udpai_str rest; /* all other fields; the message itself if there are no versions */
} udpai_versions;

/* Takes field @p number, a map<string, string>, out of a message. Checks of the entries what the
 * scan (wire/scan.h) checks of a message, and counts as it does; the rest is still to be scanned.
 * UDPA_ERR_MALFORMED: a scan of the whole message will report what is wrong. UDPA_ERR_NOMEM. */
udpa_err udpai_versions_take(udpai_arena *arena,
                             udpai_str message,
                             uint32_t number,
                             udpai_versions *ret_versions);

#endif
