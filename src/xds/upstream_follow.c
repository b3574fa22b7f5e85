/* SPDX-License-Identifier: Apache-2.0 */
/* Types without a wildcard: what is there of them is what resources of other types refer to. The
 * endpoints of clusters, the routes of listeners and of their scopes. */
#include "xds/peek.h"
#include "xds/upstream_internal.h"

/* Those of one child are adjacent, in the order in which they are looked at. */
static const struct {
    const char *child, *parent;
} rules[] = {
    {UDPAI_TYPE_ENDPOINTS, UDPAI_TYPE_CLUSTER},
    {UDPAI_TYPE_ROUTES, UDPAI_TYPE_LISTENER},
    {UDPAI_TYPE_ROUTES, UDPAI_TYPE_SCOPES},
};

static bool
is_of(const udpai_upstream_type *type, const char *type_url)
{
    return udpai_str_eq(udpai_bytes_view(type->type), udpai_str_from(type_url));
}

udpa_err
udpai_upstream_find_parents(udpai_upstream_type *type)
{
    if (type->n_parents || udpai_upstream_options_of(type)->type_url.len)
        return UDPA_OK;
    udpai_upstream_type *found[UDPAI_UPSTREAM_PARENTS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(rules); i++) {
        if (!is_of(type, rules[i].child))
            continue;
        found[n] = udpai_upstream_type_get(type->session, udpai_str_from(rules[i].parent));
        if (!found[n++])
            return UDPA_ERR_NOMEM;
    }
    memcpy(type->parents, found, n * sizeof(*found));
    type->n_parents = n;
    return UDPA_OK;
}

/* ---- references ---- */

typedef struct referring {
    udpai_upstream_type *child;
    bool is_there; /* the reference comes; else it goes */
    udpa_err err;
} referring;

static void
add_reference(referring *self, udpai_str text)
{
    udpai_upstream_name *name = udpai_upstream_name_get(self->child, text);
    if (!name) {
        self->err = UDPA_ERR_NOMEM;
        return;
    }
    name->n_parents++;
    udpai_list_remove(&name->in_orphans);
    udpai_upstream_name_changed(name);
}

/* It may have another parent in a moment: whether it was removed is looked at in the end. */
static void
drop_reference(const referring *self, udpai_str text)
{
    udpai_upstream_name *name = udpai_map_get(&self->child->names, text);
    if (!name || name->n_parents == 0)
        return;
    if (--name->n_parents == 0)
        udpai_list_append(&self->child->orphans, &name->in_orphans);
}

static void
visit_reference(void *userdata, udpai_str server_name)
{
    referring *self = userdata;
    char room[UDPAI_NAME_MAX];
    udpai_str text;
    if (!udpai_upstream_full_name(self->child, server_name, room, &text))
        return;
    if (self->is_there)
        add_reference(self, text);
    else
        drop_reference(self, text);
}

static void
visit_listener(referring *self, udpai_str listener)
{
    udpai_upstream_type *child = self->child;
    udpai_xds_peek_routes(listener, visit_reference, self);
    if (!udpai_xds_peek_is_scoped(listener))
        return;
    if (self->is_there)
        child->n_scoped++;
    else if (child->n_scoped)
        child->n_scoped--;
}

static udpa_err
visit_references(const udpai_upstream_type *type, const udpa_resource *parent, bool is_there)
{
    referring self = {type->child, is_there, UDPA_OK};
    udpai_str payload = udpai_resource_value(parent), name;
    if (udpai_resource_is_redirect(parent)) /* what it leads to is not known here */
        return UDPA_OK;
    if (is_of(type, UDPAI_TYPE_LISTENER))
        visit_listener(&self, payload);
    else if (is_of(type, UDPAI_TYPE_SCOPES))
        udpai_xds_peek_scope(payload, visit_reference, &self);
    else if (udpai_xds_peek_endpoints_name(payload, &name))
        visit_reference(&self, name);
    return self.err;
}

static udpa_err follow_parents(udpai_upstream_type *child);

udpa_err
udpai_upstream_refer(udpai_upstream_type *type,
                     const udpa_resource *before,
                     const udpa_resource *after)
{
    udpa_err err = UDPA_OK;
    if (!type->child)
        return UDPA_OK;
    if (after)
        err = visit_references(type, after, true);
    if (before)
        (void)visit_references(type, before, false);
    return err == UDPA_OK ? follow_parents(type->child) : err;
}

/* ---- what has lost its parents ---- */

udpa_err
udpai_upstream_drop_orphans(udpai_upstream_type *child)
{
    udpai_publication *publication = NULL;
    udpa_err err = UDPA_OK;
    udpai_list *node;
    while (err == UDPA_OK && (node = udpai_list_pop(&child->orphans))) {
        udpai_upstream_name *name = UDPAI_LIST_ENTRY(node, udpai_upstream_name, in_orphans);
        udpai_upstream_held *held = udpai_map_get(&child->held, udpai_upstream_name_text(name));
        if (name->is_asked)
            continue;
        if (held && !publication && !(publication = udpai_publication_new()))
            return UDPA_ERR_NOMEM;
        if (held)
            err = udpai_upstream_hide(held, publication);
        udpai_list_remove(&name->in_waiting);
        udpai_upstream_name_changed(name);
    }
    return publication ? udpai_upstream_publish_or_free(child, publication, err) : err;
}

/* ---- following ---- */

static udpa_err
begin(udpai_upstream_type *child, udpai_upstream_type *parent)
{
    udpa_err err = UDPA_OK;
    size_t at = 0;
    const udpai_upstream_held *held;
    parent->child = child;
    parent->is_sotw_due = true;
    udpai_upstream_touch(parent);
    while (err == UDPA_OK && (held = udpai_map_next(&parent->held, &at)))
        if (udpai_upstream_known(held))
            err = visit_references(parent, held->resource, true);
    return err;
}

static void
end(udpai_upstream_type *parent)
{
    size_t at = 0;
    const udpai_upstream_held *held;
    while ((held = udpai_map_next(&parent->held, &at)))
        if (udpai_upstream_known(held))
            (void)visit_references(parent, held->resource, false);
    parent->child = NULL;
    parent->is_sotw_due = true;
    udpai_upstream_touch(parent);
}

/* Clients ask for scopes when a listener names them, and there are servers that never answer for
 * them. But the listeners may come from elsewhere. */
static bool
should_follow(const udpai_upstream_type *child, const udpai_upstream_type *parent)
{
    return child->prefixes.n &&
           (!is_of(parent, UDPAI_TYPE_SCOPES) || child->n_scoped || parent->prefixes.n);
}

/* The first parent may make the next one requested, or not any more. */
static udpa_err
follow_parents(udpai_upstream_type *child)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < child->n_parents && err == UDPA_OK; i++) {
        udpai_upstream_type *parent = child->parents[i];
        bool should = should_follow(child, parent);
        if (should && !parent->child)
            err = begin(child, parent);
        else if (!should && parent->child)
            end(parent);
    }
    return err;
}

static udpa_err
follow_as_parent(const udpai_upstream_type *type, const char *child_url)
{
    udpai_upstream_type *child = udpai_map_get(&type->session->types, udpai_str_from(child_url));
    if (!child || !child->n_parents)
        return UDPA_OK;
    udpa_err err = follow_parents(child);
    if (err == UDPA_OK)
        err = udpai_upstream_drop_orphans(child);
    return err == UDPA_OK ? udpai_upstream_answer(child) : err;
}

udpa_err
udpai_upstream_follow(udpai_upstream_type *type)
{
    udpa_err err = follow_parents(type);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(rules) && err == UDPA_OK; i++)
        if (is_of(type, rules[i].parent))
            err = follow_as_parent(type, rules[i].child);
    return err;
}

bool
udpai_upstream_parents_are_complete(const udpai_upstream_type *type)
{
    for (size_t i = 0; i < type->n_parents; i++) {
        const udpai_upstream_type *parent = type->parents[i];
        bool matters = !is_of(parent, UDPAI_TYPE_SCOPES) || type->n_scoped;
        if (matters && !parent->is_complete)
            return false;
    }
    return true;
}
