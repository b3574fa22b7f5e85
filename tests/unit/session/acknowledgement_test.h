/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says of who has acknowledged a resource, in one line.
 *
 * "2 of 3; udpa#1 refused 'bad'": so many have, of so many; then those that have not, by protocol
 * and the number of their session. Gone resources are shown as "gone: 1 of 1". */
#ifndef UDPAI_TESTS_ACKNOWLEDGEMENT_TEST_H
#define UDPAI_TESTS_ACKNOWLEDGEMENT_TEST_H

#include <stdio.h>

#include "session/acknowledgement.h"
#include "tests/harness/test.h"
#include "udpa/status/v1/status.pb-c.h"

static inline void
acknowledgement_put(char *text, size_t size, const Udpa__Status__V1__AcknowledgementStatus *status)
{
    static const char *const states[] = {"?",        "behind", "unanswered", "refused",
                                         "in doubt", "untold", "sent"};
    size_t n =
        (size_t)snprintf(text, size, "%s%llu of %llu",
                         status->exists ? "" : "gone: ", (unsigned long long)status->n_acknowledged,
                         (unsigned long long)status->n_subscribed);
    assert_int_equal(status->n_sessions, status->n_subscribed);
    for (size_t i = 0; i < status->n_sessions; i++) {
        const Udpa__Status__V1__SessionAcknowledgement *session = status->sessions[i];
        if (session->state == UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__ACKNOWLEDGED)
            continue;
        assert_in_range(session->state, 1, UDPAI_ARRAY_LEN(states) - 1);
        n += (size_t)snprintf(text + n, size - n, "; %s#%s %s", session->protocol, session->id,
                              states[session->state]);
        if (*session->message)
            n += (size_t)snprintf(text + n, size - n, " '%s'", session->message);
        /* Since when it waits is known of what was sent. */
        const int state = session->state;
        bool is_timed = state == UDPAI_ACKNOWLEDGEMENT_UNANSWERED ||
                        state == UDPAI_ACKNOWLEDGEMENT_REFUSED ||
                        state == UDPAI_ACKNOWLEDGEMENT_DOUBTFUL;
        assert_int_equal(session->since && session->since->seconds > 0, is_timed);
    }
    assert_true(n < size);
}

/* Valid until the next call. */
static inline const char *
acknowledgement_of(udpai_hub *hub, const char *type_url, const char *name)
{
    static char text[4096];
    char question[2048];
    snprintf(question, sizeof(question), UDPAI_ACKNOWLEDGEMENT_PREFIX "t/%s/%s", type_url, name);
    udpa_bytes *bytes = udpai_acknowledgement_describe(hub, udpai_str_from(question));
    assert_non_null(bytes);
    Udpa__Status__V1__AcknowledgementStatus *status =
        udpa__status__v1__acknowledgement_status__unpack(NULL, udpa_bytes_size(bytes),
                                                         udpa_bytes_data(bytes));
    assert_non_null(status);
    assert_int_equal(status->base.n_unknown_fields, 0);
    assert_string_equal(status->type_url, type_url);
    acknowledgement_put(text, sizeof(text), status);
    udpa__status__v1__acknowledgement_status__free_unpacked(status, NULL);
    udpa_bytes_unref(bytes);
    return text;
}

#endif
