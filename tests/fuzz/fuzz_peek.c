/* SPDX-License-Identifier: Apache-2.0 */
/* Peeking into payloads: the first byte chooses the type, the rest is the payload. Whatever it is,
 * what is found is clean text that lies in it; and a field that is put behind it counts. */
#include "base/proto.h"
#include "base/utf8.h"
#include "model/types.h"
#include "tests/fuzz/fuzz.h"
#include "xds/peek.h"

static const char *const types[] = {
    UDPAI_TYPE_CLUSTER,
    UDPAI_TYPE_ENDPOINTS,
    UDPAI_TYPE_LISTENER,
    UDPAI_TYPE_PREFIX "envoy.config.route.v3.VirtualHost",
};

enum {
    N_NAMED = 3
}; /* types that have a name */

static void
check_found(udpai_str name, udpai_str payload)
{
    FUZZ_CHECK(name.len > 0 && udpai_utf8_valid(name));
    FUZZ_CHECK(name.data >= payload.data && name.data + name.len <= payload.data + payload.len);
}

static bool
is_well_formed(udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        ;
    return !reader.failed;
}

/* Puts a field behind the payload; the result is the caller's to free. */
static udpai_str
append(udpai_str payload, uint32_t number, const char *text)
{
    udpai_str value = udpai_str_from(text);
    char *room = malloc(payload.len + value.len + 16);
    FUZZ_CHECK(room);
    if (payload.len)
        memcpy(room, payload.data, payload.len);
    udpai_proto_writer writer = {(uint8_t *)room + payload.len, 0};
    udpai_proto_put_bytes(&writer, number, value);
    return (udpai_str){room, payload.len + writer.size};
}

static void
check_name(size_t type, udpai_str payload)
{
    udpai_str url = udpai_str_from(types[type]), name;
    bool is_good = is_well_formed(payload);
    if (udpai_xds_peek_name(url, payload, &name)) {
        FUZZ_CHECK(type < N_NAMED && is_good);
        check_found(name, payload);
    }
    udpai_str longer = append(payload, 1, "last");
    if (is_good && type < N_NAMED)
        FUZZ_CHECK(udpai_xds_peek_name(url, longer, &name) &&
                   udpai_str_eq(name, UDPAI_STR("last")));
    free((char *)longer.data);
}

static void
check_endpoints(udpai_str payload)
{
    udpai_str name, again;
    if (!udpai_xds_peek_endpoints_name(payload, &name))
        return;
    check_found(name, payload);
    udpai_str longer = append(payload, 38, ""); /* another way of discovery, in the same oneof */
    FUZZ_CHECK(!udpai_xds_peek_endpoints_name(longer, &again));
    free((char *)longer.data);
    longer = append(payload, 3, "\x12\x04last"); /* merges into what is there */
    FUZZ_CHECK(udpai_xds_peek_endpoints_name(longer, &again) &&
               udpai_str_eq(again, UDPAI_STR("last")));
    free((char *)longer.data);
}

struct found {
    udpai_str payload;
    size_t n;
};

static void
on_route(void *userdata, udpai_str name)
{
    struct found *found = userdata;
    check_found(name, found->payload);
    found->n++;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    size_t type = fuzz_take_byte(&input) % UDPAI_ARRAY_LEN(types);
    check_name(type, input);
    check_endpoints(input);
    struct found found = {.payload = input};
    udpai_xds_peek_routes(input, on_route, &found);
    FUZZ_CHECK(found.n <= input.len);
    FUZZ_CHECK(found.n == 0 || is_well_formed(input));
    FUZZ_CHECK(!udpai_xds_peek_is_scoped(input) || is_well_formed(input));
    found.n = 0;
    udpai_xds_peek_scope(input, on_route, &found);
    FUZZ_CHECK(found.n <= 1 && (found.n == 0 || is_well_formed(input)));
    found.n = 0;
    udpai_xds_peek_collections(input, on_route, &found);
    FUZZ_CHECK(found.n <= input.len);
    FUZZ_CHECK(found.n == 0 || is_well_formed(input));
    return 0;
}
