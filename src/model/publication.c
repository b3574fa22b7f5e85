/* SPDX-License-Identifier: Apache-2.0 */
#include "model/publication.h"

#include "base/alloc.h"

udpai_publication *
udpai_publication_new(void)
{
    return udpai_alloc(sizeof(udpai_publication));
}

udpai_publication *
udpai_publication_free(udpai_publication *publication)
{
    if (!publication)
        return NULL;
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpa_resource_unref(publication->entries.items[i].resource);
        udpa_error_unref(publication->entries.items[i].error);
    }
    for (size_t i = 0; i < publication->removals.n; i++) {
        udpai_free((char *)publication->removals.items[i].name.data);
        udpa_resource_unref(publication->removals.items[i].statement);
        udpa_error_unref(publication->removals.items[i].error);
    }
    for (size_t i = 0; i < publication->effects.n; i++)
        udpai_free((char *)publication->effects.items[i].effective.data);
    udpai_vector_done(&publication->effects);
    udpai_vector_done(&publication->entries);
    udpai_vector_done(&publication->removals);
    udpai_free((char *)publication->type_url.data);
    udpai_free((char *)publication->name_space.data);
    udpai_free((char *)publication->nonce.data);
    udpai_free((char *)publication->waits.data);
    udpai_free(publication);
    return NULL;
}

udpa_err
udpai_publication_set(udpai_str *field, udpai_str text)
{
    char *copy = udpai_strndup(text.data, text.len);
    if (!copy)
        return UDPA_ERR_NOMEM;
    udpai_free((char *)field->data);
    *field = (udpai_str){copy, text.len};
    return UDPA_OK;
}

udpa_err
udpai_publication_add(udpai_publication *publication, udpa_resource *resource, bool is_refresh)
{
    udpai_publication_entry entry = {.resource = udpa_resource_ref(resource),
                                     .is_refresh = is_refresh};
    if (udpai_vector_push(&publication->entries, entry))
        return UDPA_OK;
    udpa_resource_unref(resource);
    return UDPA_ERR_NOMEM;
}

udpa_err
udpai_publication_remove(udpai_publication *publication, udpai_str name)
{
    return udpai_publication_remove_stated(publication, name, NULL);
}

udpa_err
udpai_publication_remove_stated(udpai_publication *publication,
                                udpai_str name,
                                udpa_resource *statement)
{
    char *copy = udpai_strndup(name.data, name.len);
    const udpai_removal removal = {.name = {copy, name.len}, .statement = statement};
    if (copy && udpai_vector_push(&publication->removals, removal)) {
        udpa_resource_ref(statement);
        return UDPA_OK;
    }
    udpai_free(copy);
    return UDPA_ERR_NOMEM;
}

udpa_err
udpai_publication_add_effect(udpai_publication *publication,
                             udpai_effect_kind kind,
                             udpai_str effective)
{
    udpai_effect effect = {.kind = kind};
    udpa_err err = effective.len ? udpai_publication_set(&effect.effective, effective) : UDPA_OK;
    if (err == UDPA_OK && !udpai_vector_push(&publication->effects, effect)) {
        udpai_free((char *)effect.effective.data);
        err = UDPA_ERR_NOMEM;
    }
    return err;
}

void
udpai_publication_refuse(udpa_error **entry_error, udpa_error *error)
{
    if (*entry_error)
        udpa_error_unref(error);
    else
        *entry_error = error;
}

static void
refuse_named(udpa_error **entry_error, udpa_err code, udpai_str name, const char *why)
{
    if (!*entry_error)
        *entry_error = udpa_error_new(code, NULL, "'%.*s': %s", (int)name.len, name.data, why);
}

void
udpai_publication_refuse_all(udpai_publication *publication, udpa_err code, const char *why)
{
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpai_publication_entry *entry = &publication->entries.items[i];
        refuse_named(&entry->error, code, udpai_resource_name(entry->resource), why);
    }
    for (size_t i = 0; i < publication->removals.n; i++)
        refuse_named(&publication->removals.items[i].error, code,
                     publication->removals.items[i].name, why);
}

static void
reopen(bool is_decided, bool *is_invalid, udpa_error **error)
{
    if (!is_decided)
        *is_invalid = *error != NULL;
    else if (!*is_invalid)
        *error = udpa_error_unref(*error);
}

void
udpai_publication_decide(udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpai_publication_entry *entry = &publication->entries.items[i];
        reopen(publication->is_decided, &entry->is_invalid, &entry->error);
    }
    for (size_t i = 0; i < publication->removals.n; i++) {
        udpai_removal *removal = &publication->removals.items[i];
        reopen(publication->is_decided, &removal->is_invalid, &removal->error);
    }
    publication->is_decided = true;
}

bool
udpai_publication_has_errors(const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++)
        if (publication->entries.items[i].error)
            return true;
    for (size_t i = 0; i < publication->removals.n; i++)
        if (publication->removals.items[i].error)
            return true;
    return false;
}
