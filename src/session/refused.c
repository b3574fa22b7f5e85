/* SPDX-License-Identifier: Apache-2.0 */
/* The list is short, so that the oldest is dropped by moving the others up. */
#include "session/refused.h"

#include "base/alloc.h"

static void
free_refused(udpai_refused *refused)
{
    udpa_error_unref(refused->error);
    udpai_free(refused);
}

static void
drop_oldest(udpai_refused_list *list)
{
    free_refused(list->items[0]);
    memmove(list->items, list->items + 1, --list->n * sizeof(*list->items));
}

void
udpai_refused_add(udpai_refused_list *list, udpai_str name, udpai_str version, udpa_error *error)
{
    udpai_refused *refused = udpai_alloc(sizeof(*refused) + name.len + version.len);
    if (!refused)
        return;
    char *text = (char *)(refused + 1);
    if (name.len)
        memcpy(text, name.data, name.len);
    if (version.len)
        memcpy(text + name.len, version.data, version.len);
    refused->name = (udpai_str){text, name.len};
    refused->version = (udpai_str){text + name.len, version.len};
    refused->error = udpa_error_ref(error);
    if (list->n == UDPAI_REFUSED_KEPT)
        drop_oldest(list);
    if (!udpai_vector_push(list, refused))
        free_refused(refused);
}

void
udpai_refused_done(udpai_refused_list *list)
{
    while (list->n)
        free_refused(list->items[--list->n]);
    udpai_vector_done(list);
}
