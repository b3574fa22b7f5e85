/* SPDX-License-Identifier: Apache-2.0 */
/* Validation. The first byte says what the rest is: a payload of one of the types that have rules
 * or something deprecated (ruled.proto, deprecated.proto), or, if it is even, first the rules: they
 * are put on fields of several types, and the rest is the payload. Whatever comes, it must end, and
 * what is told must be text. */
#include "base/proto.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "codec/validate.h"
#include "tests/fuzz/fuzz.h"

extern const unsigned char ruled_descriptors[];
extern const unsigned long ruled_descriptors_size;
extern const unsigned char deprecated_descriptors[];
extern const unsigned long deprecated_descriptors_size;

static const char *const types[] = {
    "codec.ruled.Numbers", "codec.ruled.Texts", "codec.ruled.Bytes", "codec.ruled.Plain",
    "codec.ruled.Lists",   "codec.ruled.Needy", "codec.ruled.Times", "codec.ruled.Holder",
    "codec.old.Holder",    "codec.old.Modes",   "codec.old.Source",  "codec.old.Sources",
};

static udpai_schema *
new_schema(void)
{
    udpai_schema *made = NULL;
    const udpai_str set = {(const char *)ruled_descriptors, ruled_descriptors_size};
    FUZZ_CHECK(udpai_schema_new(&made, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_schema_add_set(made, set, "ruled", NULL) == UDPA_OK);
    return made;
}

static udpai_schema *
new_known_schema(void)
{
    udpai_schema *made = new_schema();
    const udpai_str set = {(const char *)deprecated_descriptors, deprecated_descriptors_size};
    FUZZ_CHECK(udpai_schema_add_set(made, set, "deprecated", NULL) == UDPA_OK);
    return made;
}

/* ---- a type with any rules ---- */

/* Of descriptor.proto. */
enum {
    SET_FILE = 1,
    FILE_NAME = 1,
    FILE_IMPORT = 3,
    FILE_MESSAGE = 4,
    FILE_SYNTAX = 12,
    MESSAGE_NAME = 1,
    MESSAGE_FIELD = 2,
    FIELD_NAME = 1,
    FIELD_NUMBER = 3,
    FIELD_LABEL = 4,
    FIELD_TYPE = 5,
    FIELD_TYPE_NAME = 6,
    FIELD_OPTIONS = 8,
    RULES = 1071,
};

static const struct any_field {
    uint64_t label, type;
    const char *type_name;
} any_fields[] = {
    {1, 5, ""},                     /* int32 */
    {1, 4, ""},                     /* uint64 */
    {1, 2, ""},                     /* float */
    {1, 9, ""},                     /* string */
    {1, 12, ""},                    /* bytes */
    {1, 8, ""},                     /* bool */
    {1, 14, ".codec.ruled.Colour"}, /* an enum */
    {1, 11, ".codec.ruled.Plain"},  /* messages */
    {1, 11, ".google.protobuf.Any"},
    {1, 11, ".google.protobuf.Duration"},
    {1, 11, ".google.protobuf.UInt32Value"},
    {3, 9, ""}, /* lists */
    {3, 11, ".codec.ruled.Plain"},
};

static void
put_field(udpai_proto_writer *to, size_t index, udpai_str rules)
{
    char name[8];
    snprintf(name, sizeof(name), "f%zu", index);
    udpai_proto_put_bytes(to, FIELD_NAME, udpai_str_from(name));
    udpai_proto_put_varint(to, FIELD_NUMBER, index + 1);
    udpai_proto_put_varint(to, FIELD_LABEL, any_fields[index].label);
    udpai_proto_put_varint(to, FIELD_TYPE, any_fields[index].type);
    udpai_proto_put_bytes_opt(to, FIELD_TYPE_NAME, udpai_str_from(any_fields[index].type_name));
    udpai_proto_put_head(to, FIELD_OPTIONS, udpai_proto_bytes_size(RULES, rules.len));
    udpai_proto_put_bytes(to, RULES, rules);
}

static void
put_message(udpai_proto_writer *to, udpai_str rules)
{
    udpai_proto_put_bytes(to, MESSAGE_NAME, UDPAI_STR("Any"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(any_fields); i++) {
        udpai_proto_writer size = {0};
        put_field(&size, i, rules);
        udpai_proto_put_head(to, MESSAGE_FIELD, size.size);
        put_field(to, i, rules);
    }
}

static void
put_file(udpai_proto_writer *to, udpai_str rules)
{
    static const char *const imports[] = {"ruled.proto", "google/protobuf/any.proto",
                                          "google/protobuf/duration.proto",
                                          "google/protobuf/wrappers.proto"};
    udpai_proto_writer size = {0};
    udpai_proto_put_bytes(to, FILE_NAME, UDPAI_STR("any.proto"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(imports); i++)
        udpai_proto_put_bytes(to, FILE_IMPORT, udpai_str_from(imports[i]));
    put_message(&size, rules);
    udpai_proto_put_head(to, FILE_MESSAGE, size.size);
    put_message(to, rules);
    udpai_proto_put_bytes(to, FILE_SYNTAX, UDPAI_STR("proto3"));
}

static udpai_schema *
schema_with(udpai_str rules)
{
    udpai_proto_writer file = {0}, set = {0};
    udpai_strbuf text = {0};
    udpai_schema *schema = new_schema();
    put_file(&file, rules);
    udpai_proto_put_head(&set, SET_FILE, file.size);
    char *room = udpai_strbuf_extend(&text, set.size + file.size);
    FUZZ_CHECK(room);
    set = (udpai_proto_writer){(uint8_t *)room, 0};
    udpai_proto_put_head(&set, SET_FILE, file.size);
    put_file(&set, rules);
    FUZZ_CHECK(udpai_schema_add_set(schema, udpai_strbuf_view(&text), "any", NULL) == UDPA_OK);
    udpai_strbuf_done(&text);
    return schema;
}

/* ---- */

static void
check_told(void *userdata, const char *path, const char *reason)
{
    ++*(size_t *)userdata;
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(path)));
    FUZZ_CHECK(*reason);
}

/* Asked once for each, and then told of those that were allowed. */
struct features {
    const char *asked[16];
    size_t n_asked, n_allowed, n_used;
};

static bool
allows(void *userdata, const udpai_deprecated *feature)
{
    struct features *features = userdata;
    for (size_t i = 0; i < features->n_asked; i++)
        FUZZ_CHECK(features->asked[i] != feature->name);
    FUZZ_CHECK(features->n_asked < UDPAI_ARRAY_LEN(features->asked));
    features->asked[features->n_asked++] = feature->name;
    bool allows = !feature->is_disallowed;
    features->n_allowed += allows;
    return allows;
}

static void
used(void *userdata, const udpai_deprecated *feature)
{
    struct features *features = userdata;
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(feature->path)));
    FUZZ_CHECK(*feature->path && *feature->name && feature->n_uses);
    features->n_used++;
}

static void
validate(const udpai_validator *validator, const char *type, udpai_str payload)
{
    for (unsigned checks = 0; checks < 16; checks++) {
        struct features features = {0};
        const udpai_validation validation = {
            .checks = checks,
            .now_us = 1000000,
            .deprecation = {allows, used, &features},
        };
        size_t n = 0;
        udpa_err err =
            udpai_validate(validator, udpai_str_from(type), payload, &validation, check_told, &n);
        FUZZ_CHECK(err == (n ? UDPA_ERR_INVAL : UDPA_OK));
        FUZZ_CHECK(n <= UDPAI_VIOLATIONS_MAX && (checks || n == 0));
        FUZZ_CHECK(features.n_used == (n ? 0 : features.n_asked));
        FUZZ_CHECK(n || features.n_allowed == features.n_asked);
        FUZZ_CHECK((checks & UDPAI_CHECK_DEPRECATED) || features.n_asked == 0);
    }
}

static void
validate_with(udpai_schema *schema, const char *type, udpai_str payload)
{
    UDPA_AUTO(udpai_validator_unref) udpai_validator *validator = NULL;
    FUZZ_CHECK(udpai_validator_new(&validator, schema, NULL) == UDPA_OK);
    validate(validator, type, payload);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static udpai_schema *known;
    udpai_str input = {(const char *)data, size};
    size_t kind = fuzz_take_byte(&input);
    if (!known)
        known = new_known_schema();
    if (kind % 2) {
        validate_with(known, types[kind / 2 % UDPAI_ARRAY_LEN(types)], input);
        return 0;
    }
    UDPA_AUTO(udpai_schema_unref) udpai_schema *schema = schema_with(fuzz_take_text(&input));
    validate_with(schema, "Any", input);
    return 0;
}
