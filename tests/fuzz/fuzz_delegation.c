/* SPDX-License-Identifier: Apache-2.0 */
/* A delegation: a line with its name, then its payload. What is read of it lies in its name, and
 * has no more descriptors than may be. */
#include "federation/delegation.h"
#include "tests/fuzz/fuzz.h"

static udpa_resource *
make(udpai_str name, udpai_str payload)
{
    udpa_resource *resource = NULL;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_DELEGATION_TYPE), payload);
    const udpai_resource_parts parts = {.name = name, .any = any};
    return any && udpai_resource_make(&resource, &parts) == UDPA_OK ? resource : NULL;
}

static void
check(const udpai_delegation *delegation, udpai_str name)
{
    udpai_str delegated = delegation->named.name;
    FUZZ_CHECK(udpai_name_check(delegated, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_str_starts(name, delegated) && delegated.len < name.len);
    FUZZ_CHECK(delegation->named.n_descriptors <= UDPAI_DESCRIPTORS_MAX);
    for (size_t i = 0; i < delegation->named.n_descriptors; i++)
        FUZZ_CHECK((unsigned)delegation->descriptors[i].continuation <= UDPAI_CONTINUE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    udpai_str name = fuzz_take_line(&input);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make(name, input);
    udpai_delegation delegation;
    if (!resource)
        return 0;
    if (udpai_delegation_read(&delegation, resource, NULL) == UDPA_OK)
        check(&delegation, name);
    udpai_delegation_done(&delegation);
    return 0;
}
