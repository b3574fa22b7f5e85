/* SPDX-License-Identifier: Apache-2.0 */
/* grpc.reflection, asked in both of its versions: every answer says what was asked, and gives a
 * file, a list or an error. */
#include "bed.h"
#include "raw.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "transport/grpc/descriptors.h"

#define V1 "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
#define V1ALPHA "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
#define TAGS_OF_LISTENER 32

/* Field numbers of the request … */
#define HOST 1
#define FILE_BY_FILENAME 3
#define FILE_CONTAINING_SYMBOL 4
#define FILE_CONTAINING_EXTENSION 5
#define ALL_EXTENSION_NUMBERS 6
#define LIST_SERVICES 7
/* … and of the answer. */
#define ORIGINAL_REQUEST 2
#define FILE_DESCRIPTORS 4
#define LIST_OF_SERVICES 6
#define ERROR 7

struct world {
    test_bed bed;
    raw_client client;
    raw_call call;
    uint8_t request[8192];
    size_t request_len;
};

static int
setup_path(void **state, const char *path)
{
    struct world *world = udpai_alloc(sizeof(*world));
    bed_start(&world->bed, NULL);
    bed_listen(&world->bed, NULL);
    raw_connect(&world->client, world->bed.port, NULL, NULL);
    raw_begin(&world->client, &world->call, path);
    *state = world;
    return 0;
}

static int
setup(void **state)
{
    return setup_path(state, V1);
}

static int
setup_v1alpha(void **state)
{
    return setup_path(state, V1ALPHA);
}

static int
teardown(void **state)
{
    struct world *world = *state;
    raw_end(&world->call);
    raw_disconnect(&world->client);
    bed_stop(&world->bed);
    udpai_free(world);
    return 0;
}

static void
send_question(struct world *world, uint32_t number, udpai_str argument)
{
    udpai_proto_writer writer = {world->request, 0};
    udpai_proto_put_bytes(&writer, HOST, UDPAI_STR("here"));
    udpai_proto_put_bytes(&writer, number, argument);
    assert_true(writer.size <= sizeof(world->request));
    world->request_len = writer.size;
    assert_true(raw_send(&world->call, world->request, writer.size));
}

static udpai_str
field_of(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpai_str found = {0};
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            found = field.bytes;
    assert_false(reader.failed);
    return found;
}

static uint64_t
number_of(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number)
            return field.value;
    return 0;
}

/* Asks, and returns what the one field of the answer that was expected has in it. */
static udpai_str
ask(struct world *world, uint32_t question, const char *argument, uint32_t expected)
{
    send_question(world, question, udpai_str_from(argument));
    assert_true(raw_receive(&world->call));
    udpai_str answer = {world->call.data, world->call.len};
    udpai_str original = field_of(answer, ORIGINAL_REQUEST);
    assert_int_equal(original.len, world->request_len);
    assert_memory_equal(original.data, world->request, world->request_len);
    assert_str(field_of(answer, HOST), "here");
    static const uint32_t kinds[] = {FILE_DESCRIPTORS, 5, LIST_OF_SERVICES, ERROR};
    udpai_str found = {0};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(kinds); i++) {
        udpai_str field = field_of(answer, kinds[i]);
        assert_int_equal(field.data != NULL, kinds[i] == expected);
        if (field.data)
            found = field;
    }
    return found;
}

static void
expect_error(struct world *world, uint32_t question, const char *argument, const char *words)
{
    udpai_str error = ask(world, question, argument, ERROR);
    assert_int_equal(number_of(error, 1), GRPC_STATUS_NOT_FOUND);
    assert_str(field_of(error, 2), words);
}

static void
test_services(void **state)
{
    struct world *world = *state;
    udpai_str list = ask(world, LIST_SERVICES, "", LIST_OF_SERVICES);
    udpai_strbuf names = {0};
    udpai_proto_reader reader = udpai_proto_read(list);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        udpai_strbuf_str(&names, field_of(field.bytes, 1));
        udpai_strbuf_putc(&names, ' ');
    }
    assert_string_equal(names.data, "test.Obedient grpc.health.v1.Health "
                                    "grpc.reflection.v1.ServerReflection "
                                    "grpc.reflection.v1alpha.ServerReflection ");
    udpai_strbuf_done(&names);
}

static void
expect_file(struct world *world, uint32_t question, const char *argument, const char *name)
{
    udpai_str file = field_of(ask(world, question, argument, FILE_DESCRIPTORS), 1);
    udpai_str expected = udpai_descriptors_file(udpai_str_from(name));
    assert_true(expected.len > 0);
    assert_int_equal(file.len, expected.len);
    assert_memory_equal(file.data, expected.data, expected.len);
}

static void
test_files(void **state)
{
    struct world *world = *state;
    expect_file(world, FILE_BY_FILENAME, "grpc/health/v1/health.proto",
                "grpc/health/v1/health.proto");
    expect_file(world, FILE_BY_FILENAME, "google/protobuf/any.proto", "google/protobuf/any.proto");
    expect_file(world, FILE_CONTAINING_SYMBOL, "grpc.health.v1.Health",
                "grpc/health/v1/health.proto");
    expect_file(world, FILE_CONTAINING_SYMBOL, "udpa.service.discovery.v1.UdpaDiscoveryService",
                "udpa/service/discovery/v1/discovery.proto");
}

/* The one kind of answer that ends nothing: the next question is answered again. */
static void
test_what_is_not_there(void **state)
{
    struct world *world = *state;
    expect_error(world, FILE_BY_FILENAME, "no/such.proto", "there is no file no/such.proto here");
    expect_error(world, FILE_CONTAINING_SYMBOL, "no.Such", "there is no symbol no.Such here");
    expect_error(world, FILE_CONTAINING_EXTENSION, "\x0a\x01x\x10\x01",
                 "there are no extensions here");
    expect_error(world, ALL_EXTENSION_NUMBERS, "x", "there are no extensions here");
    expect_file(world, FILE_BY_FILENAME, "grpc/health/v1/health.proto",
                "grpc/health/v1/health.proto");
    char name[3000], words[400];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(words, sizeof(words), "there is no symbol %.200s here", name);
    expect_error(world, FILE_CONTAINING_SYMBOL, name, words);
}

static void
test_no_question(void **state)
{
    struct world *world = *state;
    udpai_str error = ask(world, HOST, "here", ERROR);
    assert_int_equal(number_of(error, 1), GRPC_STATUS_INVALID_ARGUMENT);
}

static void
test_end_in_peace(void **state)
{
    struct world *world = *state;
    ask(world, LIST_SERVICES, "", LIST_OF_SERVICES);
    raw_half_close(&world->call);
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_OK);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

/* All questions and the end come before the first answer was read. */
static void
test_many_questions_at_once(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 50; i++)
        send_question(world, FILE_CONTAINING_SYMBOL,
                      UDPAI_STR("udpa.service.discovery.v1.UdpaMessage"));
    raw_half_close(&world->call);
    for (int i = 0; i < 50; i++) {
        assert_true(raw_receive(&world->call));
        udpai_str answer = {world->call.data, world->call.len};
        assert_true(field_of(answer, FILE_DESCRIPTORS).len > 0);
    }
    assert_false(raw_receive(&world->call));
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_OK);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_malformed_request(void **state)
{
    struct world *world = *state;
    assert_true(raw_say(&world->call, "\x3a\x7fshort"));
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_INVALID_ARGUMENT);
}

static void
test_large_request(void **state)
{
    struct world *world = *state;
    static char name[4096];
    memset(name, 'n', sizeof(name) - 1);
    send_question(world, FILE_CONTAINING_SYMBOL, udpai_str_from(name));
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(world->call.text, "a reflection request has 4096 bytes at most");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_services, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_there, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_question, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end_in_peace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_questions_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_malformed_request, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_request, setup, teardown),
        cmocka_unit_test_setup_teardown(test_services, setup_v1alpha, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup_v1alpha, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
