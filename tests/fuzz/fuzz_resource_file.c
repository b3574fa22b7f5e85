/* SPDX-License-Identifier: Apache-2.0 */
/* Resource files from any bytes: the first byte picks the format, the rest is the file. What comes
 * of a YAML or JSON file must be a resource that may exist, and must survive being shown and read
 * again. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "codec/convert.h"
#include "codec/resource_file.h"
#include "model/name.h"
#include "model/resource.h"
#include "tests/fuzz/fuzz.h"

static const char *const names[] = {"f.yaml", "f.json", "f.textproto", "f.pb"};

static udpai_schema *
schema(void)
{
    static udpai_schema *made;
    if (!made)
        FUZZ_CHECK(udpai_schema_new(&made, NULL) == UDPA_OK);
    return made;
}

/* Written field by field, these types may hold what their JSON form has no spelling for. */
static bool
may_be_unspeakable(udpai_str file)
{
    static const char *const fields[] = {"paths", "seconds", "nanos"};
    for (size_t i = 0; file.len && i < UDPAI_ARRAY_LEN(fields); i++)
        if (memmem(file.data, file.len, fields[i], strlen(fields[i])))
            return true;
    return memmem(file.data, file.len, "\\", 1) != NULL; /* escapes can hide a name */
}

static void
check_comes_back(const udpa_resource *resource, udpai_format format)
{
    udpai_str type = udpai_resource_type_url(resource), value = udpai_resource_value(resource);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *again = NULL;
    UDPAI_AUTO_FREE char *text = NULL;
    FUZZ_CHECK(udpai_convert_from_binary(schema(), type, value, format, &text, NULL) == UDPA_OK);
    const udpai_source source = {
        .name = "shown", .text = udpai_str_from(text), .format = format, .max_depth = 500};
    FUZZ_CHECK(udpai_convert_to_binary(schema(), type, &source, &again, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(again), value));
}

static void
check_resource(const udpai_file_resource *item, udpai_str file, bool is_document)
{
    FUZZ_CHECK(item->resource);
    FUZZ_CHECK(udpai_name_check(udpai_resource_name(item->resource), NULL) == UDPA_OK);
    FUZZ_CHECK(!is_document || (item->line > 0 && item->column > 0));
    if (is_document && !may_be_unspeakable(file)) {
        check_comes_back(item->resource, UDPAI_FORMAT_JSON);
        check_comes_back(item->resource, UDPAI_FORMAT_YAML);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    size_t kind = fuzz_take_byte(&input) % UDPAI_ARRAY_LEN(names);
    const udpai_resource_file file = {names[kind], input, UDPAI_STR("local"), {0}, 0, false};
    udpai_resource_list list = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_resource_file_read(schema(), &file, &list, &error);
    FUZZ_CHECK(err == udpa_error_code(error));
    FUZZ_CHECK(err == UDPA_OK || list.n == 0);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    FUZZ_CHECK(err == UDPA_OK || udpai_str_starts(udpai_str_from(udpa_error_message(error)),
                                                  udpai_str_from(names[kind])));
    for (size_t i = 0; i < list.n; i++)
        check_resource(&list.items[i], input, kind < 2);
    udpai_resource_list_done(&list);
    return 0;
}
