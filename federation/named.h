/* SPDX-License-Identifier: Apache-2.0 */
/* Providers of single names: a (type, name) that has other sources than its type, for the files of
 * this folder. They come and go at run time. */
#ifndef UDPAI_NAMED_H
#define UDPAI_NAMED_H

#include "federation/named_table.h"
#include "federation/provider_internal.h"

struct udpai_named {
    udpa_bytes *key;          /* type, space, name */
    udpai_provider *provider; /* without descriptors: it ends */
    /* Those that it had before: they count until what takes their place has spoken. */
    UDPAI_VECTOR(udpai_descriptor) leaving;
    bool is_in_force; /* what comes by the type counts no more */
    bool at_once;
    udpai_timer patience; /* with the first of those that leave */
};

static inline udpai_str
udpai_named_type(const udpai_named *named)
{
    return udpai_bytes_view(named->provider->type);
}

static inline udpai_str
udpai_named_name(const udpai_named *named)
{
    return udpai_bytes_view(named->provider->name);
}

/* ---- named.c ---- */

void udpai_named_interest(udpai_providers *providers,
                          udpai_str type_url,
                          udpai_str text,
                          bool subscribed);
/* Looks at all of them. */
void udpai_named_evaluate(udpai_providers *providers);

/* ---- named_new.c ---- */

/* Those of the configuration, which names none twice. */
udpa_err udpai_named_configure(udpai_providers *providers,
                               const udpai_node_config *config,
                               udpa_error **ret_error);

/* Makes one, or gives the one of this name other descriptors: make before break. On failure nothing
 * has changed. */
udpa_err udpai_named_set(udpai_providers *providers,
                         const udpai_named_config *config,
                         udpa_error **ret_error);
/* What came by it is removed when the sources of its type have answered whether they have the name,
 * or after interest_linger. */
void udpai_named_end(udpai_providers *providers, udpai_str type_url, udpai_str name);
/* Those that leave go by this time (by the wheel), with what came by them. */
void udpai_named_drop_leaving(udpai_named *named, uint64_t due_ms);
/* It is in the map no more. */
void udpai_named_free(udpai_named *named);
void udpai_named_free_all(udpai_providers *providers);

/* ---- named_settled.c ---- */

/* Notes what is known of each name: the table before, if nothing has changed. */
void udpai_named_note_settled(udpai_providers *providers);

#endif
