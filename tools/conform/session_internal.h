/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that make up a script's language. */
#ifndef UDPAI_CONFORM_SESSION_INTERNAL_H
#define UDPAI_CONFORM_SESSION_INTERNAL_H

#include "tools/conform/script.h"

/* Can the session send and receive: is it open, in a script that still runs? */
bool udpai_test_session_is_usable(const udpai_test_session *session);
/* Sends a request; puts the Node in if it is due. */
void udpai_test_session_send(udpai_test_session *session, udpai_kind kind, udpai_xds_ask *ask);
/* Notes what a response has in resource_errors. */
void udpai_note_errors(udpai_test_session *session, udpai_kind kind, udpai_str message);

typedef struct udpai_expected {
    udpai_kind kind;
    udpai_names names;
    size_t n_responses; /* that there were before */
} udpai_expected;

typedef bool (*udpai_met_fn)(const udpai_test_session *session, const udpai_expected *what);

/* Whether it was met; false if the script has ended, too. */
bool udpai_wait_until(udpai_test_session *session,
                      udpai_met_fn met,
                      const udpai_expected *what,
                      uint64_t timeout_ms);

/* The name on the wire; NULL: there is none, and the script has ended. */
const char *udpai_resolve(udpai_script *script, udpai_kind kind, const char *name);

#endif
