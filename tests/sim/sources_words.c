/* SPDX-License-Identifier: Apache-2.0 */
#include "sources_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "udpa/config/v1/resource_provider.pb-c.h"

static udpa_resource *
make(const char *name, const char *type, udpai_str value, const char *authority)
{
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = name;
    spec.type_url = type;
    spec.payload = value.data;
    spec.payload_size = value.len;
    spec.authority = authority;
    udpa_resource *resource;
    if (udpa_resource_new(&resource, &spec, NULL) != UDPA_OK)
        abort();
    return resource;
}

udpa_resource *
sources_make_cluster(const char *owner, int key, int version)
{
    char name[32], said[32], message[96];
    snprintf(name, sizeof(name), SOURCES_SPACE "/r%d", key);
    snprintf(said, sizeof(said), "%s %d", owner, version);
    udpai_proto_writer writer = {.at = (uint8_t *)message};
    udpai_proto_put_bytes(&writer, 1, udpai_str_from(strchr(name, '/') + 1));
    udpai_proto_put_bytes(&writer, 28, udpai_str_from(said));
    return make(name, SOURCES_TYPE, (udpai_str){message, writer.size}, owner);
}

udpa_resource *
sources_make_delegation(const char *authority, int key, const sources_delegation *said)
{
    Udpa__Config__V1__ConfigDescriptor descriptors[SOURCES_LIST_MAX], *list[SOURCES_LIST_MAX];
    Udpa__Config__V1__ResourceProvider provider = UDPA__CONFIG__V1__RESOURCE_PROVIDER__INIT;
    const char *type = strchr(SOURCES_TYPE, '/') + 1;
    char name[96], of[32];
    uint8_t message[512];
    snprintf(of, sizeof(of), SOURCES_SPACE "/r%d", key);
    snprintf(name, sizeof(name), "%s/%s", of, type);
    provider.type = (char *)(uintptr_t)type;
    provider.resource_name = of;
    provider.config_descriptors = list;
    provider.n_config_descriptors = said->n;
    for (size_t i = 0; i < said->n; i++) {
        list[i] = &descriptors[i];
        udpa__config__v1__config_descriptor__init(list[i]);
        list[i]->source_case = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME;
        list[i]->resource_name = (char *)(uintptr_t)said->ids[i];
        list[i]->mode = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__ON_DEMAND;
        list[i]->continuation =
            (Udpa__Config__V1__ConfigDescriptor__ContinuationBehavior)said->continuations[i];
    }
    size_t size = udpa__config__v1__resource_provider__pack(&provider, message);
    return make(name, SOURCES_DELEGATION, (udpai_str){(const char *)message, size}, authority);
}

udpa_resource *
sources_make_source(const char *authority, const char *owner)
{
    char name[32];
    uint8_t message[128];
    Udpa__Config__V1__UdpaSource udpa = UDPA__CONFIG__V1__UDPA_SOURCE__INIT;
    Udpa__Config__V1__ConfigSource source = UDPA__CONFIG__V1__CONFIG_SOURCE__INIT;
    snprintf(name, sizeof(name), SOURCES_SPACE "/source-%s", owner);
    udpa.address = (char *)(uintptr_t)owner;
    source.name = (char *)(uintptr_t)owner;
    source.kind_case = UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA;
    source.udpa = &udpa;
    size_t size = udpa__config__v1__config_source__pack(&source, message);
    return make(name, SOURCES_SOURCE, (udpai_str){(const char *)message, size}, authority);
}
