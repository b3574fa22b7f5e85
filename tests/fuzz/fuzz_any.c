/* SPDX-License-Identifier: Apache-2.0 */
/* Resources from any bytes: name, version and authority, one hop and one alias, each with its
 * length before it, and the rest as the Any. */
#include "base/utf8.h"
#include "model/resource.h"
#include "tests/fuzz/fuzz.h"

static void
check_parse(udpai_str any)
{
    udpai_str type_url, value, again_url, again_value;
    if (!udpai_any_parse(any, &type_url, &value))
        return;
    FUZZ_CHECK(type_url.len + value.len <= any.len);
    FUZZ_CHECK(!type_url.len ||
               (type_url.data > any.data && type_url.data + type_url.len <= any.data + any.len));
    FUZZ_CHECK(!value.len ||
               (value.data > any.data && value.data + value.len <= any.data + any.len));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *made = udpai_any_make(type_url, value);
    FUZZ_CHECK(udpai_any_parse(udpai_bytes_view(made), &again_url, &again_value));
    FUZZ_CHECK(udpai_str_eq(type_url, again_url) && udpai_str_eq(value, again_value));
}

/* What the parts say is what the resource says. */
static void
check_same(const udpai_resource_parts *parts, const udpa_resource *resource)
{
    udpai_str type_url, value;
    FUZZ_CHECK(udpai_any_parse(udpai_bytes_view(parts->any), &type_url, &value));
    FUZZ_CHECK(udpai_str_eq(udpai_resource_name(resource), parts->name));
    FUZZ_CHECK(udpai_str_eq(udpai_resource_authority(resource), parts->authority));
    FUZZ_CHECK(udpai_str_eq(udpai_resource_type_url(resource), type_url));
    FUZZ_CHECK(udpai_str_eq(udpai_resource_value(resource), value));
    FUZZ_CHECK(udpai_resource_version(resource).len ==
               (parts->version.len ? parts->version.len : UDPAI_CONTENT_HASH_HEX));
    FUZZ_CHECK(udpai_str_eq(udpai_resource_hop(resource, 0).node_id, parts->hops[0].node_id));
    FUZZ_CHECK(udpai_str_eq(udpai_resource_alias(resource, 0), parts->aliases[0]));
    FUZZ_CHECK(udpai_resource_passed(resource, parts->hops[0].node_id, parts->hops[0].instance));
    FUZZ_CHECK(udpai_resource_footprint(resource) > udpa_bytes_size(parts->any));
}

static void
check_again(const udpa_resource *resource)
{
    static udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    udpa_resource *again = NULL;
    FUZZ_CHECK(udpai_resource_make(&again, &parts) == UDPA_OK);
    FUZZ_CHECK(udpai_resource_same_payload(resource, again));
    FUZZ_CHECK(udpai_resource_same_origin_info(resource, again));
    FUZZ_CHECK(udpai_resource_digest(resource) == udpai_resource_digest(again));
    udpa_resource_unref(again);
}

/* Making needs a parsing Any and no more; what passes the check, and is no refresh, has one. */
static void
check_parts(const udpai_resource_parts *parts)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err checked = udpai_resource_parts_check(parts, &error);
    FUZZ_CHECK(udpa_error_code(error) == checked);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    udpa_resource *resource = NULL;
    udpa_err made = udpai_resource_make(&resource, parts);
    FUZZ_CHECK(made == UDPA_OK || (made == UDPA_ERR_MALFORMED && checked != UDPA_OK));
    if (made == UDPA_OK) {
        check_same(parts, resource);
        check_again(resource);
    }
    udpa_resource_unref(resource);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    check_parse(input);
    udpai_resource_parts parts = {.n_hops = 1, .n_aliases = 1};
    uint8_t flags = fuzz_take_byte(&input);
    parts.lazy = flags & 1;
    parts.do_not_cache = flags & 2;
    parts.signature.algorithm = flags >> 2 & 3;
    parts.name = fuzz_take_text(&input);
    parts.version = fuzz_take_text(&input);
    parts.authority = fuzz_take_text(&input);
    parts.signature.key_id = fuzz_take_text(&input);
    udpai_hop hop = {.node_id = fuzz_take_text(&input)};
    udpai_str alias = fuzz_take_text(&input);
    parts.hops = &hop;
    parts.aliases = &alias;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = NULL;
    FUZZ_CHECK(udpa_bytes_new(&any, input.data, input.len) == UDPA_OK);
    parts.any = any;
    check_parts(&parts);
    return 0;
}
