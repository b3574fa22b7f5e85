/* SPDX-License-Identifier: Apache-2.0 */
#include "session/worker_pool_answers.h"

#include "base/proto.h"
#include "session/acknowledgement.h"
#include "session/status.h"

void
udpai_worker_pool_join_sessions(udpai_report *answer, udpai_report *more)
{
    if (udpai_vector_reserve(&answer->statuses, more->statuses.n)) {
        for (size_t i = 0; i < more->statuses.n; i++)
            answer->statuses.items[answer->statuses.n++] = more->statuses.items[i];
        more->statuses.n = 0;
    }
    udpai_report_free(more);
}

/* ---- acknowledgements ---- */

/* Fields of udpa.status.v1.AcknowledgementStatus, and of its sessions. */
enum {
    EXISTS = 3,
    VERSION = 4,
    CONTENT_VERSION = 5,
    N_SUBSCRIBED = 6,
    N_REFUSED = 9,
    SESSIONS = 10,
    N_UNTOLD = 11,
    N_FIELDS = 12,
    STATE = 20,
};

typedef struct pair {
    udpai_str statuses[2];
    size_t n_most; /* sessions that are named */
} pair;

/* A number, or the bytes of a field that is there once. */
static udpai_proto_field
field_of(udpai_str status, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(status);
    udpai_proto_field field, found = {0};
    while (udpai_proto_next(&reader, &field))
        if (field.number == number)
            found = field;
    return found;
}

/* Rejections first, then sessions that have not acknowledged it, then those that have. */
static unsigned
rank_of(udpai_str session)
{
    uint64_t state = field_of(session, STATE).value;
    if (state == UDPAI_ACKNOWLEDGEMENT_REFUSED)
        return 0;
    return state == UDPAI_ACKNOWLEDGEMENT_GIVEN ? 2 : 1;
}

static void
put_sessions(udpai_proto_writer *writer, const pair *both)
{
    size_t n = 0;
    for (unsigned rank = 0; rank <= 2; rank++)
        for (size_t i = 0; i < UDPAI_ARRAY_LEN(both->statuses); i++) {
            udpai_proto_reader reader = udpai_proto_read(both->statuses[i]);
            udpai_proto_field field;
            while (udpai_proto_next(&reader, &field))
                if (field.number == SESSIONS && field.type == UDPAI_WIRE_BYTES &&
                    rank_of(field.bytes) == rank && n++ < both->n_most)
                    udpai_proto_put_bytes(writer, SESSIONS, field.bytes);
        }
}

static void
put_pair(udpai_proto_writer *writer, const void *what)
{
    const pair *both = what;
    for (uint32_t number = 1; number < N_FIELDS; number++) {
        udpai_proto_field one = field_of(both->statuses[0], number);
        udpai_proto_field other = field_of(both->statuses[1], number);
        if (number == SESSIONS)
            put_sessions(writer, both);
        else if (number == EXISTS)
            udpai_proto_put_varint_opt(writer, number, one.value | other.value);
        else if (number >= N_SUBSCRIBED)
            udpai_proto_put_varint_opt(writer, number, one.value + other.value);
        else
            udpai_proto_put_bytes_opt(writer, number, one.bytes.len ? one.bytes : other.bytes);
    }
}

/* What some of the members have answered is no answer. */
udpa_bytes *
udpai_acknowledgement_join(udpa_bytes *one, udpa_bytes *other)
{
    if (!one || !other)
        return NULL;
    const pair both = {{udpai_bytes_view(one), udpai_bytes_view(other)},
                       UDPAI_ACKNOWLEDGEMENT_SESSIONS_MAX};
    return udpai_proto_encode(put_pair, &both);
}

void
udpai_worker_pool_join_acknowledgements(udpai_report *answer, udpai_report *more)
{
    while (answer->statuses.n > more->statuses.n)
        udpa_bytes_unref(answer->statuses.items[--answer->statuses.n]);
    for (size_t i = 0; i < answer->statuses.n; i++) {
        udpa_bytes *joined =
            udpai_acknowledgement_join(answer->statuses.items[i], more->statuses.items[i]);
        udpa_bytes_unref(answer->statuses.items[i]);
        answer->statuses.items[i] = joined;
    }
    udpai_report_free(more);
}

/* ---- replicas ---- */

bool
udpai_acknowledgements_agree(udpa_bytes *one, udpa_bytes *other)
{
    udpai_str a = udpai_bytes_view(one), b = udpai_bytes_view(other);
    return field_of(a, EXISTS).value == field_of(b, EXISTS).value &&
           udpai_str_eq(field_of(a, CONTENT_VERSION).bytes, field_of(b, CONTENT_VERSION).bytes);
}

/* Fields of a session. */
enum {
    PROTOCOL = 2,
    ADDRESS = 3,
    MESSAGE = 23,
};

struct missing {
    udpai_str replica;
    const char *why;
};

/* It has no id: it is not to be missed as a client that has left. */
static void
put_missing_session(udpai_proto_writer *writer, const struct missing *missing)
{
    udpai_proto_put_bytes(writer, PROTOCOL, UDPAI_STR("replica"));
    udpai_proto_put_bytes(writer, ADDRESS, missing->replica);
    udpai_proto_put_varint(writer, STATE, UDPAI_ACKNOWLEDGEMENT_BEHIND);
    udpai_proto_put_bytes(writer, MESSAGE, udpai_str_from(missing->why));
}

static void
put_missing(udpai_proto_writer *writer, const void *what)
{
    udpai_proto_writer size = {0};
    udpai_proto_put_varint(writer, N_SUBSCRIBED, 1);
    put_missing_session(&size, what);
    udpai_proto_put_head(writer, SESSIONS, size.size);
    put_missing_session(writer, what);
}

udpa_bytes *
udpai_acknowledgement_missing(udpai_str replica, const char *why)
{
    const struct missing missing = {replica, why};
    return udpai_proto_encode(put_missing, &missing);
}
