/* SPDX-License-Identifier: Apache-2.0 */
/* The sections 'delegation' and 'dynamic_sources' of the bootstrap file: the origins with resources
 * that name where others come from, and how sources that come by resources may be reached. */
#include "daemon/dynamic_sources.h"

#include "base/log.h"
#include "daemon/certificates.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "endpoint/exposure.h"
#include "transport/http/curl_client.h"

#define DEFAULT_MAX 64
#define SOURCES_MAX 1024

typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__Credential credential_message;

/* ---- delegation ---- */

static const udpai_field delegation_fields[] = {
    {.name = "authorities",
     UDPAI_PUBLIC,
     .none = "is required: whose delegations shall be followed? \"*\" is every authority",
     UDPAI_NOT_EMPTY},
    {.name = "namespaces", UDPAI_PUBLIC, UDPAI_PREFIXES, .is_namespace = true},
};

const udpai_section udpai_section_delegation = {UDPAI_SECTION(delegation, delegation_fields)};

udpa_err
udpai_use_delegation(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__Delegation *from = plan->bootstrap.message->delegation;
    udpai_delegation_config *to = &plan->settings.node.delegation;
    if (!from)
        return UDPA_OK;
    to->n_authorities = from->n_authorities;
    to->n_prefixes = from->n_namespaces;
    udpa_err err = udpai_plan_words(plan, from->authorities, from->n_authorities, &to->authorities);
    return err == UDPA_OK
               ? udpai_plan_words(plan, from->namespaces, from->n_namespaces, &to->prefixes)
               : err;
}

/* ---- dynamic sources ---- */

static const udpai_field fields[] = {
    {.name = "authorities",
     UDPAI_PUBLIC,
     .none = "is required: whose resources shall become sources? \"*\" is every authority's",
     UDPAI_NOT_EMPTY},
    {.name = "namespaces", UDPAI_PUBLIC, UDPAI_PREFIXES, .is_namespace = true},
    {.name = "credentials", .of = &udpai_section_credential},
    {.name = "max", .max = SOURCES_MAX, .bounds = "is too many"},
};

const udpai_section udpai_section_dynamic_sources = {UDPAI_SECTION(dynamic_sources, fields)};

/* One that there is: what its target uses may change. */
struct reached {
    char *name;
    const credential_message *credential; /* NULL: none */
    void *target;                         /* a reference */
    udpai_http_client *client;            /* of kind rest: the target's */
};

struct udpai_plan_delivery {
    udpai_plan *plan;
    UDPAI_VECTOR(struct reached) items;
    UDPAI_VECTOR(char *) sockets; /* where the node listens itself */
};

static const Udpa__Config__V1__DynamicSources *
section(const udpai_plan *plan)
{
    return plan->bootstrap.message->dynamic_sources;
}

/* ---- what may be reached ---- */

static udpa_err
find_credential(const udpai_plan *plan,
                const udpai_dynamic_source_config *source,
                const credential_message **ret_credential,
                udpa_error **ret_error)
{
    const Udpa__Config__V1__DynamicSources *all = section(plan);
    *ret_credential = NULL;
    for (size_t i = 0; i < all->n_credentials && source->credential.len; i++)
        if (udpai_str_eq(udpai_str_from(all->credentials[i]->name), source->credential))
            *ret_credential = all->credentials[i];
    if (*ret_credential || source->credential.len == 0)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "the ConfigSource '%.*s' names the credential '%.*s', which this node does "
                      "not have: it is not among its dynamic_sources.credentials",
                      UDPAI_SHOWN(source->name), UDPAI_SHOWN(source->credential));
}

static udpa_err
check_address(const udpai_plan *plan,
              const char *address,
              bool has_credential,
              udpa_error **ret_error)
{
    const udpai_plan_delivery *self = plan->delivery;
    for (size_t i = 0; i < self->sockets.n; i++)
        if (udpai_self_is_led_to(address, self->sockets.items[i]))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "'%s' is this node itself: it listens there", address);
    if (has_credential || udpai_exposure_is_loopback(address))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is beyond loopback, and without a credential the peer of this node "
                      "would not be verified: name one",
                      address);
}

/* ---- targets ---- */

/* The plan keeps nothing of it: there may be many, one after the other. */
static udpa_err
make_xds(udpai_plan *plan,
         const source_message *message,
         Udpa__Config__V1__ClientTls *tls,
         void **ret_target,
         udpa_error **ret_error)
{
    Udpa__Config__V1__XdsSource xds = *message->xds;
    udpai_source_config source = {0};
    size_t n_owned = plan->owned.n;
    xds.tls = tls;
    udpa_err err = udpai_plan_xds_source(plan, &xds, &source, ret_error);
    while (plan->owned.n > n_owned)
        udpai_free(plan->owned.items[--plan->owned.n]);
    *ret_target = source.target;
    return err;
}

/* The same. */
static udpa_err
make_rest(udpai_plan *plan,
          const source_message *message,
          Udpa__Config__V1__ClientTls *tls,
          struct reached *reached,
          udpa_error **ret_error)
{
    Udpa__Config__V1__RestSource rest = *message->rest;
    udpai_grpc_target *target = NULL;
    size_t n_owned = plan->owned.n;
    rest.tls = tls;
    udpa_err err = udpai_plan_polled_target(plan, &rest, &target, &reached->client, ret_error);
    while (plan->owned.n > n_owned)
        udpai_free(plan->owned.items[--plan->owned.n]);
    reached->target = target;
    return err;
}

/* Its publisher is not sent what files there are here. */
static udpa_err
check_credential(const credential_message *credential, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_tls_files files = {0};
    udpa_err err =
        credential ? udpai_certificates_read_client(credential->tls, &files, &error) : UDPA_OK;
    if (credential)
        udpai_tls_files_done(&files);
    if (err == UDPA_OK || err == UDPA_ERR_NOMEM)
        return udpai_fail_code(ret_error, err);
    udpai_log(UDPA_LOG_ERROR, "daemon", "credential %s: %s", credential->name,
              error ? udpa_error_message(error) : "out of memory");
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "the credential '%s' cannot be used: see the log of this node",
                      credential->name);
}

static const char *
address_in(const source_message *message, udpai_source_kind kind)
{
    return kind == UDPAI_SOURCE_UDPA  ? message->udpa->address
           : kind == UDPAI_SOURCE_XDS ? message->xds->address
                                      : message->rest->address;
}

/* Makes the target of what is reached by this credential. */
static udpa_err
make(udpai_plan *plan,
     const udpai_dynamic_source_config *source,
     struct reached *reached,
     udpa_error **ret_error)
{
    const source_message *message = source->message;
    const credential_message *credential = reached->credential;
    const char *address = address_in(message, source->kind);
    udpa_err err = check_address(plan, address, credential != NULL, ret_error);
    if (err == UDPA_OK)
        err = check_credential(credential, ret_error);
    if (err != UDPA_OK)
        return err;
    Udpa__Config__V1__ClientTls *tls = credential ? credential->tls : NULL;
    if (source->kind == UDPAI_SOURCE_REST)
        return make_rest(plan, message, tls, reached, ret_error);
    return source->kind == UDPAI_SOURCE_UDPA
               ? udpai_plan_udpa_target(&reached->target, message->udpa, tls, ret_error)
               : make_xds(plan, message, tls, &reached->target, ret_error);
}

/* ---- those that there are ---- */

static void
reached_done(struct reached *reached)
{
    udpai_free(reached->name);
    udpai_grpc_target_drop(reached->target);
}

static void
on_ended(void *userdata, udpai_str name)
{
    udpai_plan_delivery *self = userdata;
    for (size_t i = 0; i < self->items.n; i++) {
        if (!udpai_str_eq(udpai_str_from(self->items.items[i].name), name))
            continue;
        reached_done(&self->items.items[i]);
        udpai_vector_remove_unordered(&self->items, i);
        return;
    }
}

/* Takes the place of what the source had; with a reference of its own. */
static bool
keep(udpai_plan_delivery *self, udpai_str name, const struct reached *made)
{
    struct reached reached = *made;
    reached.name = udpai_strndup(name.data, name.len);
    on_ended(self, name);
    if (!reached.name || !udpai_vector_push(&self->items, reached)) {
        udpai_free(reached.name);
        return false;
    }
    (void)udpai_grpc_target_hold(made->target);
    return true;
}

static udpa_err
on_make_target(void *userdata,
               const udpai_dynamic_source_config *source,
               void **ret_target,
               udpa_error **ret_error)
{
    udpai_plan_delivery *self = userdata;
    struct reached reached = {0};
    udpa_err err = find_credential(self->plan, source, &reached.credential, ret_error);
    if (err == UDPA_OK)
        err = make(self->plan, source, &reached, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!keep(self, source->name, &reached)) {
        udpai_grpc_target_drop(reached.target);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    *ret_target = reached.target;
    return UDPA_OK;
}

udpa_err
udpai_dynamic_sources_replace_tls(const udpai_plan *plan,
                                  size_t index,
                                  const udpai_tls_files *files,
                                  udpa_error **ret_error)
{
    const udpai_plan_delivery *self = plan->delivery;
    const credential_message *credential = section(plan)->credentials[index];
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < self->items.n && err == UDPA_OK; i++) {
        const struct reached *reached = &self->items.items[i];
        if (reached->credential != credential)
            continue;
        err = reached->client ? udpai_curl_client_replace_tls(reached->client, files, ret_error)
                              : udpai_grpc_target_replace_tls(reached->target, files, ret_error);
    }
    return err;
}

/* ---- the whole ---- */

udpa_err
udpai_dynamic_sources_note_socket(const udpai_plan *plan, const char *address)
{
    char *copy = plan->delivery ? udpai_strdup(address) : NULL;
    if (!plan->delivery || (copy && udpai_vector_push(&plan->delivery->sockets, copy)))
        return UDPA_OK;
    udpai_free(copy);
    return UDPA_ERR_NOMEM;
}

void
udpai_dynamic_sources_forget_sockets(const udpai_plan *plan)
{
    udpai_plan_delivery *self = plan->delivery;
    while (self && self->sockets.n)
        udpai_free(self->sockets.items[--self->sockets.n]);
}

udpa_err
udpai_use_dynamic_sources(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__DynamicSources *from = section(plan);
    udpai_dynamic_sources_config *to = &plan->settings.node.delivery;
    if (!from)
        return UDPA_OK;
    plan->delivery = udpai_alloc(sizeof(*plan->delivery));
    if (!plan->delivery)
        return UDPA_ERR_NOMEM;
    plan->delivery->plan = plan;
    *to = (udpai_dynamic_sources_config){
        .n_authorities = from->n_authorities,
        .n_prefixes = from->n_namespaces,
        .max = from->max ? from->max : DEFAULT_MAX,
        .make_target = on_make_target,
        .ended = on_ended,
        .ref_target = udpai_grpc_target_hold,
        .release_target = udpai_grpc_target_drop,
        .userdata = plan->delivery,
    };
    udpa_err err = udpai_plan_words(plan, from->authorities, from->n_authorities, &to->authorities);
    return err == UDPA_OK
               ? udpai_plan_words(plan, from->namespaces, from->n_namespaces, &to->prefixes)
               : err;
}

void
udpai_dynamic_sources_done(udpai_plan *plan)
{
    udpai_plan_delivery *self = plan->delivery;
    for (size_t i = 0; self && i < self->items.n; i++)
        reached_done(&self->items.items[i]);
    udpai_dynamic_sources_forget_sockets(plan);
    if (self) {
        udpai_vector_done(&self->items);
        udpai_vector_done(&self->sockets);
    }
    udpai_free(self);
}
