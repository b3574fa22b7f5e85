/* SPDX-License-Identifier: Apache-2.0 */
/* Our descriptors, as reflection finds files and symbols in them. */
#include "tests/harness/test.h"

#include "base/proto.h"
#include "proto/own_descriptors.h"
#include "transport/grpc/descriptors.h"

static udpai_str
name_of(udpai_str file)
{
    udpai_proto_reader reader = udpai_proto_read(file);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1)
            return field.bytes;
    return (udpai_str){0};
}

static void
test_every_file_is_found(void **state)
{
    (void)state;
    udpai_proto_reader reader = udpai_proto_read(
        (udpai_str){(const char *)udpai_own_descriptors, udpai_own_descriptors_size});
    udpai_proto_field field;
    size_t n = 0;
    for (; udpai_proto_next(&reader, &field); n++) {
        udpai_str name = name_of(field.bytes);
        assert_ptr_equal(udpai_descriptors_file(name).data, field.bytes.data);
        name.len--; /* a part of a name is no name */
        assert_int_equal(udpai_descriptors_file(name).len, 0);
    }
    assert_false(reader.failed);
    assert_true(n > 5);
    assert_int_equal(udpai_descriptors_file(UDPAI_STR("")).len, 0);
}

static void
test_symbols(void **state)
{
    (void)state;

    static const struct {
        const char *symbol, *file;
    } symbols[] = {
        {"udpa.service.discovery.v1.UdpaDiscoveryService",
         "udpa/service/discovery/v1/discovery.proto"},
        {"udpa.service.discovery.v1.UdpaDiscoveryService.StreamMessages",
         "udpa/service/discovery/v1/discovery.proto"},
        {"udpa.service.discovery.v1.Resource", "udpa/service/discovery/v1/discovery.proto"},
        {"udpa.service.discovery.v1.Resource.ttl", "udpa/service/discovery/v1/discovery.proto"},
        {"udpa.service.discovery.v1.Delivery", "udpa/service/discovery/v1/discovery.proto"},
        {"udpa.service.discovery.v1.Delivery.LAZY", "udpa/service/discovery/v1/discovery.proto"},
        {"udpa.service.discovery.v1.Signature.Algorithm",
         "udpa/service/discovery/v1/discovery.proto"},
        {"udpa.service.discovery.v1.Publish.kind", "udpa/service/discovery/v1/discovery.proto"},
        {"udpa.service.discovery.v1.Subscribe.InitialDigestsEntry.key",
         "udpa/service/discovery/v1/discovery.proto"},
        {"grpc.health.v1.Health.Watch", "grpc/health/v1/health.proto"},
        {"google.protobuf.Any", "google/protobuf/any.proto"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(symbols); i++)
        assert_str(name_of(udpai_descriptors_file_of(udpai_str_from(symbols[i].symbol))),
                   symbols[i].file);
}

static void
test_what_is_no_symbol(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "",
        ".",
        "udpa",
        "udpa.service.discovery.v1",
        "udpa.service.discovery.v1.",
        "udpa.service.discovery.v1.Nothing",
        "udpa.service.discovery.v1.Resource.",
        "udpa.service.discovery.v1.Resource.nothing",
        "udpa.service.discovery.v1.Resource.ttl.x",
        "udpa.service.discovery.v1..Resource",
        ".udpa.service.discovery.v1.Resource",
        "udpa.service.discovery.v1.UdpaDiscoveryService.StreamMessages.x",
        "udpa.service.discovery.v1Resource",
        "Resource",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(symbols); i++)
        assert_int_equal(udpai_descriptors_file_of(udpai_str_from(symbols[i])).len, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_file_is_found),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_what_is_no_symbol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
