/* SPDX-License-Identifier: Apache-2.0 */
/* What origins have that they do not name any more. It is rare: it lies beside the contributions,
 * in a table of the origin's, and takes no room in them. */
#include "store/store_internal.h"

#include "model/name.h"

struct udpai_absent {
    udpai_stored *stored;
    udpai_absence absence;
};

static udpai_str
key_of(udpai_stored *const *stored)
{
    return (udpai_str){(const char *)stored, sizeof(*stored)};
}

static udpai_str
absent_key(const void *item)
{
    return key_of(&((const udpai_absent *)item)->stored);
}

void
udpai_store_init_absences(udpai_origin *origin)
{
    udpai_map_init(&origin->absences, absent_key);
}

void
udpai_store_free_absences(udpai_origin *origin)
{
    size_t at = 0;
    udpai_absent *absent;
    while ((absent = udpai_map_next(&origin->absences, &at)))
        udpai_free(absent);
    udpai_map_done(&origin->absences);
    for (size_t i = 0; i < origin->absence_counts.n; i++)
        udpa_bytes_unref(origin->absence_counts.items[i].type);
    udpai_vector_done(&origin->absence_counts);
}

udpai_absence
udpai_store_absence_of(const udpai_stored *stored)
{
    udpai_stored *self = (udpai_stored *)(uintptr_t)stored;
    const udpai_map *absences = &stored->origin->absences;
    const udpai_absent *absent = absences->n ? udpai_map_get(absences, key_of(&self)) : NULL;
    return absent ? absent->absence : UDPAI_ABSENCE_NONE;
}

/* ---- counts ---- */

static udpai_absence_count *
find_count(const udpai_origin *origin, udpai_str type_url)
{
    for (size_t i = 0; i < origin->absence_counts.n; i++) {
        udpai_absence_count *count = &origin->absence_counts.items[i];
        if (udpai_str_eq(
                (udpai_str){udpa_bytes_data(count->type), udpa_bytes_size(count->type) - 1},
                type_url))
            return count;
    }
    return NULL;
}

static bool
make_count(udpai_origin *origin, const udpai_store_type *type)
{
    if (find_count(origin, udpai_store_type_url(type)))
        return true;
    const udpai_absence_count count = {.type = type->url};
    if (!udpai_vector_push(&origin->absence_counts, count))
        return false;
    udpa_bytes_ref(type->url);
    return true;
}

static void
count(const udpai_stored *stored, udpai_absence absence, size_t more)
{
    udpai_str type_url = udpai_store_type_url(stored->entry->type);
    find_count(stored->origin, type_url)->n[absence] += more;
}

size_t
udpai_origin_n_absent(const udpai_origin *origin, udpai_str type_url, udpai_absence absence)
{
    const udpai_absence_count *found = find_count(origin, type_url);
    return found ? found->n[absence] : 0;
}

bool
udpai_origin_has_absent(const udpai_origin *origin)
{
    return origin->absences.n > 0;
}

void
udpai_origin_visit_absent(const udpai_origin *origin,
                          udpai_absence absence,
                          udpai_origin_absent_fn visit,
                          void *userdata)
{
    for (size_t i = 0; i < origin->absence_counts.n; i++) {
        const udpai_absence_count *at = &origin->absence_counts.items[i];
        const udpai_str type_url = {udpa_bytes_data(at->type), udpa_bytes_size(at->type) - 1};
        if (at->n[absence])
            visit(userdata, type_url, at->n[absence]);
    }
}

/* ---- one ---- */

static void
note_held(udpai_store *store, udpai_stored *stored, bool is_held)
{
    if (stored->origin->durable)
        (void)udpai_store_note(store, is_held ? UDPAI_DURABLE_HOLD : UDPAI_DURABLE_RELEASE,
                               stored->origin, udpai_store_type_url(stored->entry->type),
                               udpai_store_entry_name(stored->entry));
}

static void
drop(udpai_store *store, udpai_absent *absent, bool is_noted)
{
    count(absent->stored, absent->absence, (size_t)-1);
    if (is_noted && absent->absence == UDPAI_ABSENCE_HELD)
        note_held(store, absent->stored, false);
    udpai_map_remove(&absent->stored->origin->absences, absent_key(absent));
    udpai_free(absent);
}

void
udpai_store_drop_absence(udpai_store *store, udpai_stored *stored, bool is_noted)
{
    udpai_map *absences = &stored->origin->absences;
    udpai_absent *absent = absences->n ? udpai_map_get(absences, key_of(&stored)) : NULL;
    if (absent)
        drop(store, absent, is_noted);
}

static void
change(udpai_store *store, udpai_absent *absent, udpai_absence absence)
{
    count(absent->stored, absent->absence, (size_t)-1);
    count(absent->stored, absence, 1);
    absent->absence = absence;
    if (absence == UDPAI_ABSENCE_HELD)
        note_held(store, absent->stored, true);
}

udpa_err
udpai_store_set_absent(udpai_store *store, udpai_stored *stored, udpai_absence absence)
{
    udpai_map *absences = &stored->origin->absences;
    udpai_absent *absent = udpai_map_get(absences, key_of(&stored));
    if (absent) {
        if (absent->absence < absence)
            change(store, absent, absence);
        return UDPA_OK;
    }
    absent = udpai_alloc(sizeof(*absent));
    if (absent)
        *absent = (udpai_absent){stored, absence};
    if (!absent || !make_count(stored->origin, stored->entry->type) ||
        !udpai_map_add(absences, absent)) {
        udpai_free(absent);
        return UDPA_ERR_NOMEM;
    }
    count(stored, absence, 1);
    if (absence == UDPAI_ABSENCE_HELD)
        note_held(store, stored, true);
    return UDPA_OK;
}

udpa_err
udpai_store_set_absence(udpai_store *store,
                        udpai_origin *origin,
                        udpai_str type_url,
                        udpai_str name,
                        udpai_absence absence)
{
    udpai_stored *stored = absence || origin->absences.n
                               ? udpai_store_find_stored(store, origin, type_url, name)
                               : NULL;
    if (stored && absence == UDPAI_ABSENCE_NONE)
        udpai_store_drop_absence(store, stored, true);
    return stored && absence ? udpai_store_set_absent(store, stored, absence) : UDPA_OK;
}

/* ---- many ---- */

udpa_err
udpai_store_set_all_absent(udpai_store *store,
                           udpai_origin *origin,
                           const udpai_store_scope *scope,
                           udpai_absence absence)
{
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH (node, &origin->contributions) {
        udpai_stored *stored = UDPAI_LIST_ENTRY(node, udpai_stored, in_origin);
        bool is_meant =
            (scope->type_url.len == 0 ||
             udpai_str_eq(udpai_store_type_url(stored->entry->type), scope->type_url)) &&
            udpai_prefix_covers(scope->prefix, udpai_store_entry_name(stored->entry));
        if (is_meant && !(scope->keep && scope->keep(scope->userdata, stored->resource)) &&
            udpai_store_set_absent(store, stored, absence) != UDPA_OK)
            err = UDPA_ERR_NOMEM;
    }
    return err;
}
