/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/reading.h"

#include "base/alloc.h"
#include "model/secret_type.h"

struct udpai_reading {
    udpai_directory directory;
    udpa_bytes *root, *source, *authority, *unread;
    size_t n;
    udpa_resource *resources[]; /* and the removals */
};

static udpa_err
keep(udpa_bytes **copy, udpai_str *text)
{
    udpa_err err = udpa_bytes_new(copy, text->data, text->len);
    if (err == UDPA_OK)
        *text = udpai_bytes_view(*copy);
    return err;
}

udpa_err
udpai_reading_new(udpai_reading **ret_reading, const udpai_directory *directory)
{
    size_t n = directory->n_resources, n_all = n + directory->n_removals;
    udpai_reading *reading = udpai_alloc(sizeof(*reading) + n_all * sizeof(reading->resources[0]));
    if (!reading)
        return UDPA_ERR_NOMEM;
    reading->directory = *directory;
    reading->directory.fault = NULL; /* it was noted when this was received */
    for (; reading->n < n_all; reading->n++)
        reading->resources[reading->n] =
            udpa_resource_ref(reading->n < n ? directory->resources[reading->n]
                                             : directory->removals[reading->n - n]);
    reading->directory.resources = reading->resources;
    reading->directory.removals = reading->resources + n;
    udpa_err err = keep(&reading->root, &reading->directory.root);
    if (err == UDPA_OK)
        err = keep(&reading->source, &reading->directory.source);
    if (err == UDPA_OK)
        err = keep(&reading->authority, &reading->directory.authority);
    if (err == UDPA_OK)
        err = keep(&reading->unread, &reading->directory.unread);
    if (err == UDPA_OK)
        *ret_reading = reading;
    else
        udpai_reading_free(reading);
    return err;
}

udpai_reading *
udpai_reading_free(udpai_reading *reading)
{
    if (!reading)
        return NULL;
    for (size_t i = 0; i < reading->n; i++)
        udpa_resource_unref(reading->resources[i]);
    udpa_bytes_unref(reading->root);
    udpa_bytes_unref(reading->source);
    udpa_bytes_unref(reading->authority);
    udpa_bytes_unref(reading->unread);
    udpai_free(reading);
    return NULL;
}

const udpai_directory *
udpai_reading_directory(const udpai_reading *reading)
{
    return &reading->directory;
}

uint64_t
udpai_reading_digest(const udpai_directory *directory)
{
    udpai_set_hash sum = {directory->is_partial, 0};
    for (size_t i = 0; i < directory->n_resources; i++) {
        const udpa_resource *resource = directory->resources[i];
        udpai_str type_url = udpai_resource_type_url(resource);
        udpai_content_hash content = {0, udpai_digest_behind(0, type_url)};
        if (!udpai_type_is_secret(type_url))
            content.high = udpai_resource_digest(resource);
        udpai_set_hash_add(&sum, udpai_resource_name(resource), content);
    }
    return sum.high ^ sum.low;
}
