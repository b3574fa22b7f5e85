/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/rtds_check.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "daemon/option_rules.h"
#include "daemon/source_names.h"
#include "model/name.h"
#include "runtime/layers.h"
#include "runtime/rtds.h"

/* What stands for the node's namespace, of which only the form is looked at, if the file does not
 * say it: the command line may. */
#define ANY_NAMESPACE "local"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__RuntimeRtdsLayer rtds_message;

/* A layer, with what it is looked at with. */
struct subject {
    const bootstrap_message *message;
    udpai_diagnostics *diagnostics;
    const rtds_message *layer;
    size_t index;                    /* among all layers */
    char path[UDPAI_FIELD_PATH_MAX]; /* of the layer */
    char *name;                      /* in full */
};

/* ---- names and sources ---- */

static const source_message *
source_of(const bootstrap_message *message, const rtds_message *layer)
{
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    for (size_t i = 0; all && *layer->rtds_config && i < all->n_config_sources; i++)
        if (strcmp(all->config_sources[i]->name, layer->rtds_config) == 0)
            return all->config_sources[i];
    return NULL;
}

/* Where all its names are, if it says so; "": it does not. */
static const char *
namespace_of(const source_message *source)
{
    if (source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS)
        return source->xds->namespace_;
    if (source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST)
        return source->rest->namespace_;
    return "";
}

char *
udpai_rtds_full_name(const bootstrap_message *message,
                     const rtds_message *layer,
                     const char *name_space)
{
    const char *own = namespace_of(source_of(message, layer));
    udpai_strbuf name = {0};
    if (!strchr(layer->name, '/'))
        udpai_strbuf_printf(&name, "%s/", *own ? own : name_space);
    udpai_strbuf_puts(&name, layer->name);
    return udpai_strbuf_take(&name);
}

/* ---- one layer ---- */

static bool
is_per_client(const source_message *source)
{
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS)
        return source->xds->audience != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED;
    return source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST &&
           source->rest->audience != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED;
}

/* A server of one service alone, which is another one. */
static bool
is_of_another_type(const source_message *source)
{
    return source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS && *source->xds->type &&
           strcmp(udpai_type_without_prefix(source->xds->type),
                  udpai_type_without_prefix(UDPAI_TYPE_RUNTIME)) != 0;
}

static void
check_there(const struct subject *self, const char *path)
{
    char hint[UDPAI_CHOICE_TEXT];
    const char *name = self->layer->rtds_config;
    udpai_static_source_suggest(self->message->static_resources, name, hint);
    if (udpai_diagnostics_is_unread(self->diagnostics, "static_resources"))
        return;
    if (self->message->dynamic_sources)
        udpai_diagnostics_warn(self->diagnostics, path,
                               "there is no ConfigSource '%s' in static_resources.config_sources: "
                               "until a resource brings it, the layer is not there%s",
                               name, hint);
    else
        udpai_diagnostics_error(self->diagnostics, path,
                                "there is no ConfigSource '%s' in static_resources.config_sources: "
                                "add it there, or leave rtds_config out, to ask whom the providers "
                                "say%s",
                                name, hint);
}

static void
check_source(const struct subject *self)
{
    char path[UDPAI_FIELD_PATH_MAX];
    const source_message *source = source_of(self->message, self->layer);
    udpai_path_field(path, self->path, "rtds_config");
    if (!source)
        check_there(self, path);
    else if (is_per_client(source))
        udpai_diagnostics_error(
            self->diagnostics, path,
            "'%s' is asked for each group of clients by itself: name the server "
            "in another ConfigSource, without 'audience', for the layer",
            source->name);
    else if (is_of_another_type(source))
        udpai_diagnostics_error(self->diagnostics, path,
                                "'%s' is asked for the type %s alone: name the server in another "
                                "ConfigSource, without 'type', for the layer",
                                source->name, udpai_type_without_prefix(source->xds->type));
}

static void
check_name(const struct subject *self)
{
    char path[UDPAI_FIELD_PATH_MAX];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const char *own = namespace_of(source_of(self->message, self->layer));
    udpai_path_field(path, self->path, "name");
    if (udpai_name_check(udpai_str_from(self->name), &error) != UDPA_OK)
        udpai_diagnostics_error(self->diagnostics, path, "%s", udpa_error_message(error));
    else if (*own && !udpai_prefix_covers(udpai_str_from(own), udpai_str_from(self->name)))
        udpai_diagnostics_error(
            self->diagnostics, path,
            "'%s' cannot be had from '%s', all names of which are in '%s': write "
            "'%s/…'",
            self->name, self->layer->rtds_config, own, own);
}

/* One resource comes from one place. */
static void
check_before(const struct subject *self, const struct subject *other)
{
    char path[UDPAI_FIELD_PATH_MAX];
    if (strcmp(self->name, other->name) == 0 &&
        strcmp(self->layer->rtds_config, other->layer->rtds_config) != 0)
        udpai_diagnostics_error(
            self->diagnostics, udpai_path_field(path, self->path, "rtds_config"),
            "runtime.layers[%zu] has '%s' from somewhere else: a resource comes "
            "from one place, so say the same in both",
            other->index, self->name);
}

static void
check_layer(const struct subject *self)
{
    udpai_diagnostics_require(self->diagnostics, self->path, "name", *self->layer->name);
    if (*self->layer->rtds_config)
        check_source(self);
    if (*self->layer->name)
        check_name(self);
}

/* ---- all ---- */

/* False: the layer is of another kind, or there is no memory. */
static bool
begin(struct subject *self, const bootstrap_message *message, size_t index, udpai_diagnostics *to)
{
    const Udpa__Config__V1__RuntimeLayer *layer = message->runtime->layers[index];
    const char *own =
        message->node && *message->node->namespace_ ? message->node->namespace_ : ANY_NAMESPACE;
    if (layer->layer_case != UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_RTDS_LAYER)
        return false;
    *self = (struct subject){message, to, layer->rtds_layer, index, "", NULL};
    udpai_path_item(self->path, "runtime.layers", index);
    udpai_path_field(self->path, self->path, "rtds_layer");
    self->name = udpai_rtds_full_name(message, self->layer, own);
    to->has_failed |= !self->name;
    return self->name;
}

void
udpai_rtds_check(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    struct subject self, other;
    const Udpa__Config__V1__Runtime *runtime = message->runtime;
    size_t n = !runtime                                       ? 0
               : runtime->n_layers < UDPAI_RUNTIME_LAYERS_MAX ? runtime->n_layers
                                                              : UDPAI_RUNTIME_LAYERS_MAX;
    for (size_t i = 0; i < n; i++) {
        if (!begin(&self, message, i, diagnostics))
            continue;
        check_layer(&self);
        for (size_t k = 0; k < i; k++)
            if (begin(&other, message, k, diagnostics)) {
                check_before(&self, &other);
                udpai_free(other.name);
            }
        udpai_free(self.name);
    }
}
