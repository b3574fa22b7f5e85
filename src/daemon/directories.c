/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/directories.h"

#include "base/log.h"
#include "loop/clock.h"
#include "runtime/tree.h"
#include "transport/file/origin.h"

/* One of the two. */
typedef struct watched {
    udpai_directories *all;
    const udpai_plan_directory *plan;
    udpai_file_origin *origin;
    udpai_runtime_tree *tree;
} watched;

struct udpai_directories {
    udpai_directories_env env;
    size_t n_open;
    size_t n;
    watched items[];
};

/* ---- */

static void
on_changed(void *userdata, const udpai_directory *directory)
{
    watched *self = userdata;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_directory bounded = *directory;
    bounded.max_withdrawal = self->plan->max_withdrawal;
    bounded.must_agree = self->plan->must_agree;
    if (udpai_node_set_files(udpai_endpoint_node(self->all->env.endpoint), &bounded, &error) !=
        UDPA_OK)
        udpai_log_about(
            UDPA_LOG_ERROR, "file",
            UDPAI_ABOUT({UDPAI_LOG_NAME, directory->root}, {UDPAI_LOG_CODE, udpai_log_code(error)}),
            "directory %.*s: rejected in part: %s", (int)directory->root.len, directory->root.data,
            udpa_error_message(error));
    udpai_endpoint_touch(self->all->env.endpoint);
}

typedef UDPAI_VECTOR(const char *) problems;

/* Without memory some are left out. */
static void
list_problems(const watched *self, problems *list)
{
    const udpa_error *problem = NULL;
    size_t n = self->origin ? udpai_file_origin_n_problems(self->origin, NULL) : 0;
    for (size_t i = 0; i < n; i++)
        if ((problem = udpai_file_origin_problem(self->origin, i, NULL)))
            (void)udpai_vector_push(list, udpa_error_message(problem));
    for (size_t i = 0; self->tree && (problem = udpai_runtime_tree_problem(self->tree, i)); i++)
        (void)udpai_vector_push(list, udpa_error_message(problem));
}

/* The problems of all directories are one list. */
static void
on_problems_changed(void *userdata)
{
    const udpai_directories *all = ((watched *)userdata)->all;
    problems list = {0};
    for (size_t i = 0; i < all->n; i++)
        list_problems(&all->items[i], &list);
    udpai_problems_set(all->env.problems, UDPAI_FOUND_IN_DIRECTORIES, list.items, list.n);
    udpai_vector_done(&list);
}

static void
release(udpai_directories *all)
{
    if (--all->n_open == 0)
        udpai_free(all);
}

static void
on_closed(void *userdata)
{
    release(((watched *)userdata)->all);
}

/* ---- which names a ConfigSource may have ---- */

typedef UDPAI_VECTOR(udpai_str) prefixes;

/* The namespaces that providers take from the source; none: any. */
static udpa_err
find_namespaces(const udpai_plan *plan, udpai_str source, prefixes *ret)
{
    for (size_t i = 0; i < plan->providers.n; i++) {
        const udpai_provider_config *provider = &plan->providers.items[i];
        for (size_t k = 0; k < provider->n_descriptors; k++) {
            const udpai_descriptor_config *descriptor = &provider->descriptors[k];
            if (!udpai_str_eq(descriptor->source, source))
                continue;
            if (descriptor->prefix.len == 0) {
                ret->n = 0;
                return UDPA_OK;
            }
            if (!udpai_vector_push(ret, descriptor->prefix))
                return UDPA_ERR_NOMEM;
        }
    }
    return UDPA_OK;
}

/* ---- */

static udpa_err
make_origin(watched *self,
            const udpai_plan *plan,
            const udpai_plan_directory *directory,
            const prefixes *namespaces,
            udpa_error **ret_error)
{
    const udpai_file_origin_options options = {
        .root = directory->path,
        .source = directory->source,
        .authority = directory->authority,
        .default_namespace = directory->name_space,
        .authorities = plan->authorities,
        .namespaces = namespaces->items,
        .n_namespaces = namespaces->n,
        .schema = self->all->env.schema,
        .policy = self->all->env.policy,
    };
    const udpai_file_origin_ops ops = {on_changed, on_problems_changed, self};
    return udpai_file_origin_new(&self->origin, self->all->env.loop, &options, &ops, ret_error);
}

static udpa_err
check_policy(const void *userdata, const udpa_resource *resource, udpa_error **ret_error)
{
    const watched *self = userdata;
    const udpai_inspected inspected = {resource, udpai_str_from(self->plan->path)};
    return udpai_policy_check(self->all->env.policy, &inspected, udpai_wall_us(), ret_error);
}

static udpa_err
make_tree(watched *self,
          const udpai_plan *plan,
          const udpai_plan_directory *directory,
          const prefixes *namespaces,
          udpa_error **ret_error)
{
    const udpai_runtime_tree_options options = {
        .loop = self->all->env.loop,
        .rules =
            {
                .root = directory->path,
                .subdirectory = directory->tree->subdirectory,
                .prefix = udpai_str_from(directory->tree->prefix),
                .default_namespace = directory->name_space,
                .authorities = plan->authorities,
                .namespaces = namespaces->items,
                .n_namespaces = namespaces->n,
                .check = self->all->env.policy ? check_policy : NULL,
                .check_userdata = self,
            },
        .source = directory->source,
        .authority = directory->authority,
    };
    const udpai_runtime_tree_ops ops = {on_changed, on_problems_changed, self};
    return udpai_runtime_tree_new(&self->tree, &options, &ops, ret_error);
}

static udpa_err
open_one(udpai_directories *all, const udpai_plan *plan, size_t index, udpa_error **ret_error)
{
    const udpai_plan_directory *directory = &plan->directories.items[index];
    watched *self = &all->items[index];
    self->plan = directory;
    prefixes namespaces = {0};
    self->all = all;
    udpa_err err =
        directory->source.len ? find_namespaces(plan, directory->source, &namespaces) : UDPA_OK;
    if (err == UDPA_OK)
        err = (directory->tree ? make_tree : make_origin)(self, plan, directory, &namespaces,
                                                          ret_error);
    udpai_vector_done(&namespaces);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    all->n_open++;
    all->n = index + 1;
    return self->tree ? udpai_runtime_tree_start(self->tree, ret_error)
                      : udpai_file_origin_start(self->origin, ret_error);
}

/* As the origin will call it: without slashes at its end. */
static udpai_str
root_of(const char *path)
{
    udpai_str root = udpai_str_from(path);
    while (root.len > 1 && path[root.len - 1] == '/')
        root.len--;
    return root;
}

udpa_err
udpai_directories_expect(udpa_endpoint *endpoint, const udpai_plan *plan, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    udpai_node *node = udpai_endpoint_node(endpoint);
    for (size_t i = 0; i < plan->directories.n && err == UDPA_OK; i++) {
        const udpai_plan_directory *directory = &plan->directories.items[i];
        udpai_str root = root_of(directory->path);
        if (directory->source.len == 0)
            err = udpai_node_expect_files(node, root);
        if (err == UDPA_OK && directory->is_shared)
            err = udpai_node_share_files(node, root, directory->source);
    }
    return udpai_fail_code(ret_error, err);
}

udpa_err
udpai_directories_open(udpai_directories **ret_directories,
                       const udpai_directories_env *env,
                       const udpai_plan *plan,
                       udpa_error **ret_error)
{
    size_t n = plan->directories.n;
    udpai_directories *all = udpai_alloc(sizeof(*all) + n * sizeof(all->items[0]));
    if (!all)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    all->env = *env;
    all->n_open = 1;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = open_one(all, plan, i, ret_error);
    if (err == UDPA_OK)
        *ret_directories = all;
    else
        udpai_directories_close(all);
    return err;
}

void
udpai_directories_set_quiet(udpai_directories *all, uint64_t quiet_ms)
{
    for (size_t i = 0; all && i < all->n; i++)
        if (all->items[i].origin)
            udpai_file_origin_set_quiet(all->items[i].origin, quiet_ms);
}

void
udpai_directories_look(udpai_directories *all)
{
    for (size_t i = 0; all && i < all->n; i++) {
        if (all->items[i].tree)
            udpai_runtime_tree_look(all->items[i].tree);
        else
            udpai_file_origin_poke(all->items[i].origin);
    }
}

void
udpai_directories_report_again(udpai_directories *all)
{
    for (size_t i = 0; all && i < all->n; i++) {
        if (all->items[i].tree)
            udpai_runtime_tree_report_again(all->items[i].tree);
        else
            udpai_file_origin_report_again(all->items[i].origin);
    }
}

void
udpai_directories_close(udpai_directories *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->n; i++) {
        udpai_file_origin_close(all->items[i].origin, on_closed, &all->items[i]);
        udpai_runtime_tree_close(all->items[i].tree, on_closed, &all->items[i]);
    }
    release(all);
}
