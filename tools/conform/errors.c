/* SPDX-License-Identifier: Apache-2.0 */
/* resource_errors of a response that was scanned. */
#include "base/alloc.h"
#include "base/proto.h"
#include "tools/conform/session_internal.h"

static int
code_of(udpai_str status)
{
    udpai_proto_reader reader = udpai_proto_read(status);
    udpai_proto_field field;
    int code = 0;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1 && field.type == UDPAI_WIRE_VARINT)
            code = (int)field.value;
    return code;
}

static void
note_error(udpai_test_session *session, udpai_kind kind, udpai_str error)
{
    udpai_str name = udpai_proto_last_bytes(udpai_proto_last_bytes(error, 1), 1);
    udpai_resource_error noted = {
        .kind = kind,
        .name = udpai_strndup(name.data, name.len),
        .code = code_of(udpai_proto_last_bytes(error, 2)),
        .response = session->responses.n,
    };
    udpai_transcribe(session->script, "< %u   an error of %.*s: code %d", session->number,
                     UDPAI_SHOWN(name), noted.code);
    if (noted.name && udpai_vector_push(&session->errors, noted))
        return;
    udpai_free(noted.name);
    udpai_fail_script(session->script, "out of memory");
}

void
udpai_note_errors(udpai_test_session *session, udpai_kind kind, udpai_str message)
{
    enum {
        SOTW_ERRORS = 7,
        DELTA_ERRORS = 9
    };

    uint32_t number = session->is_delta ? DELTA_ERRORS : SOTW_ERRORS;
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            note_error(session, kind, field.bytes);
}
