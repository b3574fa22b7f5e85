/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a scenario: their names, and what is special about some of them. */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

/* It expires, and who asks by its alias has it renewed. */
#define ALIASED_LEASE 28
/* Longer than what is copied with a resource. */
#define PAYLOAD_MAX (UDPAI_SMALL_MAX + 100)
#define CLUSTER_MAX (PAYLOAD_MAX + 100)

const char *const sim_namespaces[N_NAMESPACES] = {
    "com.acme",
    "com.acme.foo",
    "org.blah",
    "net.refused",
};

const char *const sim_types[N_TYPES] = {
    "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    "type.googleapis.com/test.Thing",
};

const char *const sim_colours[N_COLOURS] = {"red", "green", "blue"};

static bool
is_of_link(int key)
{
    return key >= N_OPEN_KEYS && key < FORGED_KEY;
}

int
sim_key_type(int key)
{
    if (is_of_link(key)) /* two clusters, and a thing */
        return (key - N_OPEN_KEYS) % N_LINK_KEYS == 2;
    return key == FORGED_KEY ? 1 : key % N_TYPES;
}

bool
sim_key_is_refused(int key)
{
    return key == 22 || key == 23 || key == 31;
}

int
sim_key_namespace(int key)
{
    if (is_of_link(key))
        return (key - N_OPEN_KEYS) / N_LINK_KEYS ? 0 : LIMITED_NAMESPACE;
    return sim_key_is_refused(key) ? 3 : key / 2 % N_OPEN_NAMESPACES;
}

bool
sim_key_has_alias(int key)
{
    return (key < N_OPEN_KEYS && key % 5 == 1) || key == ALIASED_LEASE;
}

bool
sim_key_is_lazy(int key)
{
    return key < N_OPEN_KEYS && key % 8 == 2;
}

bool
sim_key_is_uncached(int key)
{
    return key == 13;
}

/* Mostly what changes is the payload; of these every second change is of their aliases alone. */
static bool
is_still(int key)
{
    return key == 11 || key == 16;
}

int
sim_key_payload_version(int key, int version)
{
    return is_still(key) ? version | 1 : version;
}

bool
sim_key_expires(int key)
{
    return key == 28 || key == 29;
}

bool
sim_key_is_stable(int key)
{
    return key < N_OPEN_KEYS && key % 4 < 2 && !sim_key_expires(key);
}

int
sim_key_publisher(const sim_scenario *scenario, int key)
{
    bool is_published = key >= N_FILE_KEYS && key < N_OPEN_KEYS;
    return is_published ? scenario->publishers[key % scenario->n_publishers] : -1;
}

void
sim_key_name(int key, char name[64])
{
    snprintf(name, 64, "%s/r%d", sim_namespaces[sim_key_namespace(key)], key);
}

void
sim_key_alias(int key, char alias[64])
{
    snprintf(alias, 64, "%s/also-r%d", sim_namespaces[sim_key_namespace(key)], key);
}

/* What the alias that is a pattern matches. */
void
sim_key_matched_alias(int key, char alias[64])
{
    snprintf(alias, 64, "%s/any-r%d/this", sim_namespaces[sim_key_namespace(key)], key);
}

int
sim_key_of(const char *name)
{
    return (int)strtol(strrchr(name, 'r') + 1, NULL, 10);
}

/* Fields of a cluster: its name, and another one, which has what is said. */
enum {
    CLUSTER_NAME = 1,
    CLUSTER_STATISTICS_NAME = 28,
};

udpai_str
sim_said_in(int type, udpai_str value)
{
    return type == 0 ? udpai_proto_last_bytes(value, CLUSTER_STATISTICS_NAME) : value;
}

int
sim_version_in(int type, udpai_str value)
{
    udpai_str said = sim_said_in(type, value);
    return (int)strtol(said.data + strcspn(said.data, " "), NULL, 10);
}

int
sim_version_of(const udpa_resource *resource)
{
    int type = sim_key_type(sim_key_of(udpa_resource_name(resource)));
    return sim_version_in(type, udpai_resource_value(resource));
}

/* Some are too long to be copied with the resource. */
static udpai_str
make_text(char text[PAYLOAD_MAX], int key, const char *authority, int version)
{
    version = sim_key_payload_version(key, version);
    size_t n = (size_t)snprintf(text, PAYLOAD_MAX, "%s %d ", authority, version);
    size_t size = version % 5 == 3 ? PAYLOAD_MAX : n + 1;
    for (size_t i = n; i < size; i++)
        text[i] = (char)('a' + (i + (size_t)key) % 26);
    return (udpai_str){text, size};
}

/* Of the default namespace of clients of xDS a name is shown without it. */
static udpai_str
make_cluster(char cluster[CLUSTER_MAX], int key, udpai_str text)
{
    char name[64];
    sim_key_name(key, name);
    udpai_proto_writer writer = {.at = (uint8_t *)cluster};
    udpai_proto_put_bytes(
        &writer, CLUSTER_NAME,
        udpai_str_from(sim_key_namespace(key) == 0 ? strchr(name, '/') + 1 : name));
    udpai_proto_put_bytes(&writer, CLUSTER_STATISTICS_NAME, text);
    return (udpai_str){cluster, writer.size};
}

udpa_resource *
sim_make_resource(int key, const char *authority, bool says_authority, int version)
{
    char name[64], alias[64], pattern[64], another[64], text[PAYLOAD_MAX], cluster[CLUSTER_MAX];
    const char *const aliases[] = {alias, pattern, another};
    sim_key_name(key, name);
    sim_key_alias(key, alias);
    snprintf(another, sizeof(another), "%s/once-r%d", sim_namespaces[sim_key_namespace(key)], key);
    snprintf(pattern, sizeof(pattern), "%s/any-r%d/*", sim_namespaces[sim_key_namespace(key)], key);
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = name;
    spec.type_url = sim_types[sim_key_type(key)];
    udpai_str payload = make_text(text, key, authority, version);
    if (sim_key_type(key) == 0)
        payload = make_cluster(cluster, key, payload);
    spec.payload = payload.data;
    spec.payload_size = payload.len;
    spec.authority = says_authority ? authority : NULL;
    spec.aliases = aliases;
    spec.n_aliases = sim_key_has_alias(key) ? 2 + (size_t)(version & 1) : 0;
    spec.lazy = sim_key_is_lazy(key);
    spec.do_not_cache = sim_key_is_uncached(key);
    spec.ttl_ms = sim_key_expires(key) ? TTL_MS + (version & 1) * TTL_MS / 4 : 0;
    udpa_resource *resource;
    udpa_error *error = NULL;
    if (udpa_resource_new(&resource, &spec, &error) != UDPA_OK) {
        fprintf(stderr, "FAIL: %s\n", udpa_error_message(error));
        exit(EXIT_FAILURE);
    }
    return resource;
}
