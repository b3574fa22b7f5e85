/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/wishes.h"

#include "base/alloc.h"
#include "cli/names.h"
#include "cli/node_status.h"

udpai_cli_wish *
udpai_cli_wishes_add(udpai_cli_wishes *wishes, char *type_url)
{
    const udpai_cli_wish wish = {.type_url = type_url};
    if (type_url && udpai_vector_push(wishes, wish))
        return &wishes->items[wishes->n - 1];
    udpai_free(type_url);
    return NULL;
}

/* NULL: there is none. */
static udpai_cli_wish *
find_type(const udpai_cli_wishes *wishes, const char *type_url)
{
    for (size_t i = 0; i < wishes->n; i++)
        if (strcmp(wishes->items[i].type_url, type_url) == 0)
            return &wishes->items[i];
    return NULL;
}

udpai_cli_wish *
udpai_cli_wishes_of_type(udpai_cli_wishes *wishes, const char *type_url)
{
    udpai_cli_wish *wish = find_type(wishes, type_url);
    return wish ? wish : udpai_cli_wishes_add(wishes, udpai_strdup(type_url));
}

/* Takes the name over. */
static udpa_err
add_name(udpai_cli_wish *wish, char *name)
{
    if (name && udpai_vector_push(&wish->names, name))
        return UDPA_OK;
    udpai_free(name);
    return UDPA_ERR_NOMEM;
}

udpa_err
udpai_cli_wish_full_name(udpai_cli_wish *wish, const char *name)
{
    return add_name(wish, udpai_strdup(name));
}

static char *
name_of_id(const char *id, const char *name_space)
{
    udpai_strbuf full = {0};
    udpai_strbuf_printf(&full, "%s/%s", name_space, id);
    return udpai_strbuf_take(&full);
}

udpa_err
udpai_cli_wish_name(udpai_cli_wish *wish, const char *name, const char *name_space)
{
    udpa_err err = add_name(wish, udpai_cli_full_name(name, name_space));
    if (err != UDPA_OK || !udpai_cli_may_be_id(name, name_space))
        return err;
    err = add_name(wish, name_of_id(name, name_space));
    if (err == UDPA_OK && !udpai_vector_push(&wish->seconds, wish->names.n - 1))
        err = UDPA_ERR_NOMEM;
    return err;
}

bool
udpai_cli_is_wished(const udpai_cli_wishes *wishes, const char *type_url)
{
    return find_type(wishes, type_url) != NULL;
}

struct common {
    udpai_cli_wishes *wishes;
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
        self->err = udpai_cli_type_url(name, &type_url, NULL);
    if (self->err != UDPA_OK)
        return;
    if (udpai_cli_is_status(type_url) || udpai_cli_is_wished(self->wishes, type_url)) {
        udpai_free(type_url);
        return;
    }
    udpai_cli_wish *wish = udpai_cli_wishes_add(self->wishes, type_url);
    if (wish)
        wish->name_space = self->name_space;
    else
        self->err = UDPA_ERR_NOMEM;
}

udpa_err
udpai_cli_wish_for_common_types(const char *name_space, udpai_cli_wishes *wishes)
{
    struct common self = {wishes, name_space, UDPA_OK};
    udpai_cli_visit_types(wish_for_type, &self);
    return self.err;
}

/* ---- names that can be read in two ways ---- */

static udpa_resource *
find(const udpai_cli_wish *wish, const udpai_cli_found *found, size_t index)
{
    return udpai_cli_found_get(found, udpai_str_from(wish->type_url),
                               udpai_str_from(wish->names.items[index]));
}

static void
drop_name(udpai_cli_wish *wish, size_t index)
{
    udpai_free(wish->names.items[index]);
    memmove(wish->names.items + index, wish->names.items + index + 1,
            (wish->names.n - index - 1) * sizeof(*wish->names.items));
    wish->names.n--;
}

/* It may have been asked for by another name too. */
static void
drop_unless_named(const udpai_cli_wish *wish, udpai_cli_found *found, udpa_resource *resource)
{
    for (size_t i = 0; i < wish->names.n; i++)
        if (find(wish, found, i) == resource)
            return;
    udpai_cli_found_drop(found, resource);
}

static void
decide(udpai_cli_wish *wish, udpai_cli_found *found, size_t second)
{
    udpa_resource *as_id = find(wish, found, second);
    bool is_id = as_id && !find(wish, found, second - 1);
    drop_name(wish, is_id ? second - 1 : second);
    if (as_id && !is_id)
        drop_unless_named(wish, found, as_id);
}

void
udpai_cli_wishes_decide(udpai_cli_wishes *wishes, udpai_cli_found *found)
{
    for (size_t i = 0; i < wishes->n; i++) {
        udpai_cli_wish *wish = &wishes->items[i];
        while (wish->seconds.n) /* from the last: places before it stay what they are */
            decide(wish, found, wish->seconds.items[--wish->seconds.n]);
    }
}

/* ---- the end ---- */

static void
wish_done(udpai_cli_wish *wish)
{
    for (size_t i = 0; i < wish->names.n; i++)
        udpai_free(wish->names.items[i]);
    udpai_vector_done(&wish->names);
    udpai_vector_done(&wish->seconds);
    udpai_free(wish->type_url);
}

void
udpai_cli_wishes_done(udpai_cli_wishes *wishes)
{
    for (size_t i = 0; i < wishes->n; i++)
        wish_done(&wishes->items[i]);
    udpai_vector_done(wishes);
}
