/* SPDX-License-Identifier: Apache-2.0 */
/* Recorders for tests, and a look into the messages that they make. */
#ifndef UDPAI_TESTS_RECORDING_H
#define UDPAI_TESTS_RECORDING_H

#include "base/proto.h"
#include "base/strbuf.h"
#include "recorder/recorder.h"
#include "tests/harness/test.h"

/* A recorder with these limits; 0: the defaults. */
static inline udpa_load_recorder *
new_recorder(size_t max_clusters, size_t max_handles)
{
    udpa_load_recorder_options options = UDPA_LOAD_RECORDER_OPTIONS_INIT;
    udpa_load_recorder *recorder = NULL;
    options.max_clusters = max_clusters;
    options.max_handles = max_handles;
    assert_ok(udpa_load_recorder_new(&recorder, &options, NULL));
    return recorder;
}

/* The place of an endpoint in the zone "a"; no address: of the zone. */
static inline udpa_load_place
place_of(const char *cluster, const char *address)
{
    udpa_load_place place = UDPA_LOAD_PLACE_INIT;
    place.cluster = cluster;
    place.zone = "a";
    place.address = address;
    place.port = address ? 80 : 0;
    return place;
}

static inline udpa_load_target *
get_target(udpa_load_recorder *recorder, const char *cluster, const char *address)
{
    udpa_load_target *target = NULL;
    const udpa_load_place place = place_of(cluster, address);
    assert_ok(udpa_load_target_get(&target, recorder, &place, NULL));
    return target;
}

static inline void
count_requests(udpa_load_target *target, unsigned n_good, unsigned n_bad)
{
    for (unsigned i = 0; i < n_good + n_bad; i++)
        udpa_load_request_started(target);
    for (unsigned i = 0; i < n_good; i++)
        udpa_load_request_succeeded(target);
    for (unsigned i = 0; i < n_bad; i++)
        udpa_load_request_failed(target);
}

/* ---- messages ---- */

/* The field at a path such as "5[1].5.3": in the second field 5, in the field 5, field 3. False: it
 * is not there. */
static inline bool
find_field(udpai_str message, const char *path, udpai_proto_field *ret_field)
{
    while (true) {
        char *end;
        unsigned long number = strtoul(path, &end, 10), index = 0;
        if (*end == '[')
            index = strtoul(end + 1, &end, 10), end++;
        udpai_proto_reader reader = udpai_proto_read(message);
        bool is_found = false;
        while (!is_found && udpai_proto_next(&reader, ret_field))
            is_found = ret_field->number == number && index-- == 0;
        assert_false(reader.failed);
        if (!is_found || *end == '\0')
            return is_found;
        assert_int_equal(ret_field->type, UDPAI_WIRE_BYTES);
        message = ret_field->bytes;
        path = end + 1;
    }
}

/* 0: it is not there. */
static inline uint64_t
number_at(udpai_str message, const char *path)
{
    udpai_proto_field field = {0};
    return find_field(message, path, &field) ? field.value : 0;
}

static inline udpai_str
text_at(udpai_str message, const char *path)
{
    udpai_proto_field field = {0};
    return find_field(message, path, &field) ? field.bytes : (udpai_str){"", 0};
}

static inline double
double_at(udpai_str message, const char *path)
{
    uint64_t bits = number_at(message, path);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

#endif
