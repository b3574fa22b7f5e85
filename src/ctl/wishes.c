/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/wishes.h"

#include "base/alloc.h"
#include "ctl/names.h"
#include "ctl/node_status.h"

udpai_ctl_wish *
udpai_ctl_wishes_add(udpai_ctl_wishes *wishes, char *type_url)
{
    const udpai_ctl_wish wish = {.type_url = type_url};
    if (type_url && udpai_vector_push(wishes, wish))
        return &wishes->items[wishes->n - 1];
    udpai_free(type_url);
    return NULL;
}

udpa_err
udpai_ctl_wish_name(udpai_ctl_wish *wish, const char *name, const char *name_space)
{
    char *full = udpai_ctl_full_name(name, name_space);
    if (full && udpai_vector_push(&wish->names, full))
        return UDPA_OK;
    udpai_free(full);
    return UDPA_ERR_NOMEM;
}

bool
udpai_ctl_is_wished(const udpai_ctl_wishes *wishes, const char *type_url)
{
    for (size_t i = 0; i < wishes->n; i++)
        if (strcmp(wishes->items[i].type_url, type_url) == 0)
            return true;
    return false;
}

struct common {
    udpai_ctl_wishes *wishes;
    const char *name_space;
    udpa_err err;
};

static void
wish_for_type(void *userdata, const char *name, const char *also, const char *full)
{
    struct common *self = userdata;
    char *type_url = NULL;
    (void)also, (void)full;
    if (self->err == UDPA_OK)
        self->err = udpai_ctl_type_url(name, &type_url, NULL);
    if (self->err != UDPA_OK)
        return;
    if (udpai_ctl_is_status(type_url) || udpai_ctl_is_wished(self->wishes, type_url)) {
        udpai_free(type_url);
        return;
    }
    udpai_ctl_wish *wish = udpai_ctl_wishes_add(self->wishes, type_url);
    if (wish)
        wish->name_space = self->name_space;
    else
        self->err = UDPA_ERR_NOMEM;
}

udpa_err
udpai_ctl_wish_for_common_types(const char *name_space, udpai_ctl_wishes *wishes)
{
    struct common self = {wishes, name_space, UDPA_OK};
    udpai_ctl_visit_types(wish_for_type, &self);
    return self.err;
}

static void
wish_done(udpai_ctl_wish *wish)
{
    for (size_t i = 0; i < wish->names.n; i++)
        udpai_free(wish->names.items[i]);
    udpai_vector_done(&wish->names);
    udpai_free(wish->type_url);
}

void
udpai_ctl_wishes_done(udpai_ctl_wishes *wishes)
{
    for (size_t i = 0; i < wishes->n; i++)
        wish_done(&wishes->items[i]);
    udpai_vector_done(wishes);
}
