/* SPDX-License-Identifier: Apache-2.0 */
/* Types without a wildcard: what is there of them is what resources of another type refer to. The
 * endpoints of clusters, the routes of listeners. */
#include "xds/peek.h"
#include "xds/upstream_internal.h"

udpai_str
udpai_upstream_parent_type(udpai_str type_url)
{
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_XDS_TYPE_ENDPOINTS)))
        return UDPAI_STR(UDPAI_XDS_TYPE_CLUSTER);
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_XDS_TYPE_ROUTES)))
        return UDPAI_STR(UDPAI_XDS_TYPE_LISTENER);
    return UDPAI_STR("");
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

/* It may have another parent in a moment: whether it is gone is looked at in the end. */
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

static udpa_err
visit_references(udpai_upstream_type *child, const udpa_resource *parent, bool is_there)
{
    referring self = {child, is_there, UDPA_OK};
    udpai_str payload = udpai_resource_value(parent), name;
    if (udpai_resource_is_redirect(parent)) /* what it leads to is not known here */
        return UDPA_OK;
    if (!udpai_str_eq(udpai_bytes_view(child->type), UDPAI_STR(UDPAI_XDS_TYPE_ENDPOINTS)))
        udpai_xds_peek_routes(payload, visit_reference, &self);
    else if (udpai_xds_peek_endpoints_name(payload, &name))
        visit_reference(&self, name);
    return self.err;
}

udpa_err
udpai_upstream_refer(udpai_upstream_type *type,
                     const udpa_resource *before,
                     const udpa_resource *after)
{
    udpa_err err = UDPA_OK;
    if (!type->child)
        return UDPA_OK;
    if (after)
        err = visit_references(type->child, after, true);
    if (before)
        (void)visit_references(type->child, before, false);
    return err;
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

udpa_err
udpai_upstream_follow(udpai_upstream_type *child)
{
    udpai_upstream_type *parent = child->parent;
    udpa_err err = UDPA_OK;
    size_t at = 0;
    const udpai_upstream_held *held;
    if (parent->child)
        return UDPA_OK;
    parent->child = child;
    parent->is_sotw_due = true;
    udpai_upstream_touch(parent);
    while (err == UDPA_OK && (held = udpai_map_next(&parent->held, &at)))
        if (udpai_upstream_known(held))
            err = visit_references(child, held->resource, true);
    return err;
}

void
udpai_upstream_follow_no_more(udpai_upstream_type *child)
{
    udpai_upstream_type *parent = child->parent;
    size_t at = 0;
    const udpai_upstream_held *held;
    while ((held = udpai_map_next(&parent->held, &at)))
        if (udpai_upstream_known(held))
            (void)visit_references(child, held->resource, false);
    parent->child = NULL;
    parent->is_sotw_due = true;
    udpai_upstream_touch(parent);
}
