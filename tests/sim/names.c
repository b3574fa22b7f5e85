/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a scenario: their names, and what is special about some of them. */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

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
    return key < N_OPEN_KEYS && key % 5 == 1;
}

bool
sim_key_is_lazy(int key)
{
    return key < N_OPEN_KEYS && key % 8 == 2;
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

int
sim_key_of(const char *name)
{
    return (int)strtol(strrchr(name, 'r') + 1, NULL, 10);
}

int
sim_version_of(const udpa_resource *resource)
{
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    return (int)strtol(strchr(payload, ' ') + 1, NULL, 10);
}

udpa_resource *
sim_make_resource(int key, const char *authority, bool says_authority, int version)
{
    char name[64], alias[64], payload[64];
    const char *const aliases[] = {alias};
    sim_key_name(key, name);
    sim_key_alias(key, alias);
    snprintf(payload, sizeof(payload), "%s %d", authority, version);
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = name;
    spec.type_url = sim_types[sim_key_type(key)];
    spec.payload = payload;
    spec.payload_size = strlen(payload) + 1;
    spec.authority = says_authority ? authority : NULL;
    spec.aliases = aliases;
    spec.n_aliases = sim_key_has_alias(key);
    spec.lazy = sim_key_is_lazy(key);
    spec.ttl_ms = sim_key_expires(key) ? TTL_MS : 0;
    udpa_resource *resource;
    udpa_error *error = NULL;
    if (udpa_resource_new(&resource, &spec, &error) != UDPA_OK) {
        fprintf(stderr, "FAIL: %s\n", udpa_error_message(error));
        exit(EXIT_FAILURE);
    }
    return resource;
}
