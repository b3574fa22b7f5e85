/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of this folder share: decoding with the words checked, and the fields of the UDPA
 * messages by name. */
#ifndef UDPAI_TESTS_WIRE_TEST_H
#define UDPAI_TESTS_WIRE_TEST_H

#include "base/utf8.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "wire/message.h"

enum { /* UdpaMessage */
    M_SUBSCRIBE = 1,
    M_UNSUBSCRIBE = 2,
    M_PUBLISH = 3,
    M_RECEIPT = 4,
    M_SUBSCRIPTION_ERROR = 5,
    M_ON_BEHALF_OF = 6,
    P_STATE = 1, /* Publish */
    P_DELTA = 2,
    P_TRIAL = 3,
    R_NAME = 1, /* Resource */
    R_VERSION = 2,
    R_ANY = 3,
    R_TTL = 4,
    R_ORIGIN = 5,
    R_ALIASES = 6,
    R_DELIVERY = 7,
    R_HOPS = 8,
    R_DO_NOT_CACHE = 9,
    R_CONSTRAINTS = 10,
};

#define W_DELTA(...) W_MESSAGE(M_PUBLISH, W_MESSAGE(P_DELTA, __VA_ARGS__))
#define W_RESOURCE(...) W_MESSAGE(1, __VA_ARGS__)
#define W_ANY(type, value) W_MESSAGE(R_ANY, W_TEXT(1, type), W_TEXT(2, value))

static inline int
free_wire(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

/* Decodes from memory of exactly the message's size, so that a read behind it is seen. What fails
 * leaves *ret_message as it was and says why. */
static inline udpa_err
decode(udpai_decoder *decoder, udpai_str bytes, bool extended, udpai_message *ret_message)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    static const udpai_message untouched = {.kind = UDPAI_MESSAGE_KINDS};
    *ret_message = untouched;
    udpa_err err = udpai_message_decode(decoder, bytes, extended, ret_message, &error);
    assert_int_equal(udpa_error_code(error), err);
    assert_true(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    if (err != UDPA_OK) {
        assert_memory_equal(ret_message, &untouched, sizeof(untouched));
        assert_true(strlen(udpa_error_message(error)) > 0);
    }
    return err;
}

#endif
