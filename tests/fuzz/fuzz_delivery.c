/* SPDX-License-Identifier: Apache-2.0 */
/* The payload of a ConfigSource that is a resource. What is read of it is of a kind that may come
 * so, has a name and an address, and names no files. */
#include "federation/dynamic_sources.h"
#include "tests/fuzz/fuzz.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

static udpa_resource *
make(udpai_str payload)
{
    udpa_resource *resource = NULL;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_DYNAMIC_SOURCE_TYPE), payload);
    const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/d"), .any = any};
    return any && udpai_resource_make(&resource, &parts) == UDPA_OK ? resource : NULL;
}

static void
check(const udpai_dynamic_source_config *config)
{
    const Udpa__Config__V1__ConfigSource *message = config->message;
    FUZZ_CHECK(udpai_dynamic_source_is_name(config->name));
    FUZZ_CHECK(config->address.len > 0 && config->address.len <= 512);
    FUZZ_CHECK(!message->recover && !message->standby_for);
    if (config->kind == UDPAI_SOURCE_UDPA)
        FUZZ_CHECK(!message->udpa->tls);
    else if (config->kind == UDPAI_SOURCE_REST)
        FUZZ_CHECK(!message->rest->tls && *message->rest->authority);
    else
        FUZZ_CHECK(config->kind == UDPAI_SOURCE_XDS && !message->xds->tls &&
                   *message->xds->authority);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make((udpai_str){(const char *)data, size});
    udpai_dynamic_source_reading reading;
    if (!resource)
        return 0;
    if (udpai_dynamic_source_read(&reading, resource, NULL) == UDPA_OK)
        check(&reading.config);
    udpai_dynamic_source_read_done(&reading);
    return 0;
}
