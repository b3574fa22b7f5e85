/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bootstrap_fields.h"
#include "daemon/dynamic_sources.h"
#include "daemon/mesh.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "daemon/source_changes.h"

static void
collect(udpai_plan *plan)
{
    udpai_node_config *node = &plan->settings.node;
    node->sources = plan->sources.items;
    node->n_sources = plan->sources.n;
    node->providers = plan->providers.items;
    node->n_providers = plan->providers.n;
    node->dials = plan->dials.items;
    node->n_dials = plan->dials.n;
    node->is_durable = plan->state_directory != NULL;
    node->is_durable |= plan->audit.is_on;
    node->has_audit = plan->audit.is_on;
    node->is_restored = plan->is_restored;
    plan->settings.load_upstreams = plan->load_upstreams.items;
    plan->settings.n_load_upstreams = plan->load_upstreams.n;
    plan->settings.serves_status = true;
    plan->settings.name_space = plan->name_space;
}

udpa_err
udpai_plan_make(udpai_plan *plan,
                udpai_bootstrap *bootstrap,
                const udpai_options *options,
                udpa_error **ret_error)
{
    const udpai_section *section = &udpai_bootstrap_section;
    udpa_err err = UDPA_OK;
    plan->bootstrap = *bootstrap;
    bootstrap->message = NULL;
    udpai_endpoint_settings_init(&plan->settings);
    (void)udpai_section_apply(section, plan->bootstrap.message, plan);
    for (size_t i = 0; i < section->n_fields && err == UDPA_OK; i++)
        if (section->fields[i].use)
            err = section->fields[i].use(plan, options, ret_error);
    collect(plan);
    return udpai_fail_code(ret_error, err);
}

void
udpai_plan_done(udpai_plan *plan)
{
    udpai_dynamic_sources_done(plan);
    udpai_daemon_mesh_done(plan);
    udpai_plan_sinks_done(plan);
    for (size_t i = 0; i < plan->sources.n; i++)
        udpai_grpc_target_drop(plan->sources.items[i].target);
    for (size_t i = 0; i < plan->read_sources.n; i++)
        udpai_grpc_target_drop(plan->read_sources.items[i].target);
    for (size_t i = 0; i < plan->dials.n; i++)
        udpai_grpc_target_drop(plan->dials.items[i].target);
    for (size_t i = 0; i < plan->load_upstreams.n; i++)
        udpai_grpc_target_drop(plan->load_upstreams.items[i].target);
    for (size_t i = 0; i < plan->writers.n; i++)
        udpai_node_info_unref(plan->writers.items[i].client);
    for (size_t i = 0; i < plan->owned.n; i++)
        udpai_free(plan->owned.items[i]);
    udpai_node_info_unref(plan->settings.info);
    udpai_acl_unref(plan->settings.node.acl);
    udpai_keyring_unref(plan->settings.node.keyring);
    udpai_debounce_rules_unref(plan->settings.debounce);
    udpai_tls_files_done(&plan->etcd_tls);
    udpai_vector_done(&plan->sockets);
    udpai_vector_done(&plan->http_sockets);
    udpai_vector_done(&plan->admin_sockets);
    udpai_vector_done(&plan->directories);
    udpai_vector_done(&plan->writers);
    udpai_vector_done(&plan->sources);
    udpai_vector_done(&plan->read_sources);
    udpai_vector_done(&plan->load_upstreams);
    udpai_vector_done(&plan->reported_load);
    udpai_vector_done(&plan->dialled);
    udpai_vector_done(&plan->providers);
    udpai_vector_done(&plan->named);
    udpai_vector_done(&plan->rtds);
    udpai_vector_done(&plan->dials);
    udpai_vector_done(&plan->owned);
    udpai_bootstrap_done(&plan->bootstrap);
}

udpa_err
udpai_plan_new(udpai_plan **ret_plan,
               udpai_bootstrap *bootstrap,
               const udpai_options *options,
               udpai_schema *schema,
               udpa_error **ret_error)
{
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    if (!plan)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    plan->n_refs = 1;
    plan->schema = schema;
    udpa_err err = udpai_plan_make(plan, bootstrap, options, ret_error);
    if (err == UDPA_OK)
        *ret_plan = plan;
    else
        udpai_plan_free(plan);
    return err;
}

udpa_err
udpai_plan_values_new(udpai_plan **ret_plan,
                      udpai_str packed,
                      const udpai_options *options,
                      udpa_error **ret_error)
{
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    if (!plan)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    plan->n_refs = 1;
    udpa_err err = udpai_bootstrap_unpack(&plan->bootstrap, packed);
    if (err == UDPA_OK) {
        udpai_endpoint_settings_init(&plan->settings);
        (void)udpai_section_apply(&udpai_bootstrap_section, plan->bootstrap.message, plan);
        err = udpai_use_limits(plan, options, ret_error);
    }
    if (err == UDPA_OK)
        err = udpai_use_log(plan, options, ret_error);
    if (err == UDPA_OK)
        err = udpai_use_push(plan, options, ret_error);
    if (err == UDPA_OK)
        *ret_plan = plan;
    else
        udpai_plan_free(plan);
    return udpai_fail_code(ret_error, err);
}

udpai_plan *
udpai_plan_ref(udpai_plan *plan)
{
    if (plan->n_refs)
        plan->n_refs++;
    return plan;
}

udpai_plan *
udpai_plan_free(udpai_plan *plan)
{
    if (!plan || plan->n_refs == 0 || --plan->n_refs)
        return NULL;
    udpai_plan_done(plan);
    udpai_free(plan);
    return NULL;
}

/* ---- one in the place of another ---- */

static bool
is_kept(const udpai_plan *plan, const udpai_plan *before, udpai_str source)
{
    return udpai_source_is_reached_alike(before->bootstrap.message, plan->bootstrap.message,
                                         source);
}

static udpai_source_config *
find_source(const udpai_plan *plan, udpai_str name)
{
    for (size_t i = 0; i < plan->sources.n; i++)
        if (udpai_str_eq(plan->sources.items[i].name, name))
            return &plan->sources.items[i];
    return NULL;
}

void *
udpai_plan_kept_target(const udpai_plan *plan, const udpai_plan *before, udpai_str source)
{
    const udpai_source_config *former = find_source(before, source);
    return former && is_kept(plan, before, source) ? former->target : NULL;
}

static udpai_plan_dialled *
find_dialled(const udpai_plan *plan, const udpai_plan_dialled *like)
{
    for (size_t i = 0; i < plan->dialled.n; i++)
        if (strcmp(plan->dialled.items[i].kind, like->kind) == 0 &&
            strcmp(plan->dialled.items[i].name, like->name) == 0)
            return &plan->dialled.items[i];
    return NULL;
}

static void
swap(void **a, void **b)
{
    void *was = *a;
    *a = *b;
    *b = was;
}

/* What is dialled is a peer of its own, which takes a restart, or one of the sources. */
static void
keep_dialled(udpai_plan *plan, const udpai_plan *before)
{
    for (size_t i = 0; i < plan->dialled.n; i++) {
        udpai_plan_dialled *now = &plan->dialled.items[i], *then = find_dialled(before, now);
        bool is_source = strcmp(now->kind, "source") == 0;
        if (!then || (is_source && !is_kept(plan, before, udpai_str_from(now->name))))
            continue;
        const udpai_plan_dialled was = *now;
        now->target = then->target;
        now->client = then->client;
        then->target = was.target;
        then->client = was.client;
    }
}

void
udpai_plan_keep_targets(udpai_plan *plan, udpai_plan *before)
{
    keep_dialled(plan, before);
    for (size_t i = 0; i < plan->sources.n; i++) {
        udpai_source_config *now = &plan->sources.items[i], *then = find_source(before, now->name);
        if (then && is_kept(plan, before, now->name))
            swap(&now->target, &then->target);
    }
    for (size_t i = 0; i < plan->read_sources.n && i < before->read_sources.n; i++)
        swap(&plan->read_sources.items[i].target, &before->read_sources.items[i].target);
    for (size_t i = 0; i < plan->dials.n && i < before->dials.n; i++)
        swap(&plan->dials.items[i].target, &before->dials.items[i].target);
    for (size_t i = 0; i < plan->load_upstreams.n && i < before->load_upstreams.n; i++)
        swap(&plan->load_upstreams.items[i].target, &before->load_upstreams.items[i].target);
}
