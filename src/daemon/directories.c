/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/directories.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/config_difference.h"
#include "daemon/directory_namespaces.h"
#include "loop/clock.h"
#include "runtime/tree.h"
#include "transport/file/origin.h"

typedef UDPAI_VECTOR(udpa_resource *) resources;

/* An origin or a tree. */
typedef struct watched {
    udpai_directories *all;
    const udpai_plan_directory *plan;
    char *namespaces; /* of a source: those that providers take from it, one a line */
    udpai_file_origin *origin;
    udpai_runtime_tree *tree;
    bool is_held_back; /* it was read, and is not given to the node yet */
    resources read;    /* then: what it has */
    bool has_failed;   /* there was no memory for that */
    bool is_expected;  /* by the node, for the first time */
    bool is_reviewed;  /* what it gives next was looked at: it may be much less than before */
} watched;

typedef UDPAI_VECTOR(watched *) watched_list;

struct udpai_directories {
    udpai_directories_env env;
    const udpai_plan *first; /* of the start: its authorities outlive what reads files */
    uint64_t quiet_ms;       /* 0: as it is by default */
    size_t n_open;
    watched_list items;
};

/* ---- */

static void
keep_read(watched *self, const udpai_directory *directory)
{
    for (size_t i = 0; i < directory->n_resources && !self->has_failed; i++) {
        self->has_failed = !udpai_vector_push(&self->read, directory->resources[i]);
        if (!self->has_failed)
            udpa_resource_ref(directory->resources[i]);
    }
}

static void
forget_read(watched *self)
{
    while (self->read.n)
        udpa_resource_unref(self->read.items[--self->read.n]);
    udpai_vector_done(&self->read);
}

static void
on_changed(void *userdata, const udpai_directory *directory)
{
    watched *self = userdata;
    if (self->is_held_back) {
        keep_read(self, directory);
        return;
    }
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_directory bounded = *directory;
    bounded.max_withdrawal = self->is_reviewed ? 100 : self->plan->max_withdrawal;
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
put_problems(const udpai_directories *all)
{
    problems list = {0};
    for (size_t i = 0; i < all->items.n; i++)
        list_problems(all->items.items[i], &list);
    udpai_problems_set(all->env.problems, UDPAI_FOUND_IN_DIRECTORIES, list.items, list.n);
    udpai_vector_done(&list);
}

static void
on_problems_changed(void *userdata)
{
    put_problems(((watched *)userdata)->all);
}

static void
release(udpai_directories *all)
{
    if (--all->n_open)
        return;
    udpai_vector_done(&all->items);
    udpai_free(all);
}

static void
free_one(watched *self)
{
    udpai_free(self->namespaces);
    udpai_free(self);
}

static void
on_closed(void *userdata)
{
    watched *self = userdata;
    udpai_directories *all = self->all;
    free_one(self);
    release(all);
}

static void
close_one(watched *self)
{
    forget_read(self);
    if (self->origin)
        udpai_file_origin_close(self->origin, on_closed, self);
    else if (self->tree)
        udpai_runtime_tree_close(self->tree, on_closed, self);
    else
        free_one(self);
}

/* ---- */

static udpa_err
make_origin(watched *self,
            const udpai_plan *plan,
            const udpai_plan_directory *directory,
            const udpai_directory_namespaces *namespaces,
            udpa_error **ret_error)
{
    const udpai_file_origin_options options = {
        .root = directory->path,
        .source = directory->source,
        .authority = directory->authority,
        .default_namespace = directory->name_space,
        .authorities = self->all->first->authorities,
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
          const udpai_directory_namespaces *namespaces,
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
                .authorities = self->all->first->authorities,
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

/* What is made is to be closed, also with an error. */
static udpa_err
make_one(udpai_directories *all,
         const udpai_plan *plan,
         const udpai_plan_directory *directory,
         watched **ret_made,
         udpa_error **ret_error)
{
    watched *self = udpai_alloc(sizeof(*self));
    udpai_directory_namespaces namespaces = {0};
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_made = self;
    self->all = all;
    self->plan = directory;
    self->namespaces = udpai_directory_namespaces_name(plan, directory->source);
    udpa_err err = self->namespaces
                       ? udpai_directory_namespaces_find(plan, directory->source, &namespaces)
                       : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = (directory->tree ? make_tree : make_origin)(self, plan, directory, &namespaces,
                                                          ret_error);
    udpai_vector_done(&namespaces);
    all->n_open += err == UDPA_OK;
    return udpai_fail_code(ret_error, err);
}

static udpa_err
start_one(watched *self, udpa_error **ret_error)
{
    if (self->origin && self->all->quiet_ms)
        udpai_file_origin_set_quiet(self->origin, self->all->quiet_ms);
    return self->tree ? udpai_runtime_tree_start(self->tree, ret_error)
                      : udpai_file_origin_start(self->origin, ret_error);
}

static udpa_err
open_one(udpai_directories *all,
         const udpai_plan *plan,
         const udpai_plan_directory *directory,
         udpa_error **ret_error)
{
    watched *made = NULL;
    udpa_err err = make_one(all, plan, directory, &made, ret_error);
    if (err == UDPA_OK && !udpai_vector_push(&all->items, made))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        return start_one(made, ret_error);
    if (made)
        close_one(made);
    return err;
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
    udpai_directories *all = udpai_alloc(sizeof(*all));
    if (!all)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    all->env = *env;
    all->first = plan;
    all->n_open = 1;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->directories.n && err == UDPA_OK; i++)
        err = open_one(all, plan, &plan->directories.items[i], ret_error);
    if (err == UDPA_OK)
        *ret_directories = all;
    else
        udpai_directories_close(all);
    return err;
}

/* ---- other ones ---- */

struct udpai_directories_next {
    watched_list items; /* as the plan has them, some of those before among them */
    watched_list made;  /* those of them that were made for it */
    watched_list gone;  /* those that were there, and are not any more */
    udpai_directories_facts facts;
    resources read; /* what those that were made have, in order; borrowed */
};

static bool
is_text_same(const char *a, const char *b)
{
    return udpai_str_eq(udpai_str_from(a), udpai_str_from(b));
}

/* What reads it, and how. */
static bool
is_tree_same(const Udpa__Config__V1__RuntimeTreeSource *a,
             const Udpa__Config__V1__RuntimeTreeSource *b)
{
    return a && b ? udpai_config_is_same(&a->base, &b->base) : a == b;
}

/* Is it the same place, so that its contributions are those of one origin? */
static bool
is_same_place(const udpai_plan_directory *a, const udpai_plan_directory *b)
{
    return udpai_str_eq(a->source, b->source) && udpai_str_eq(root_of(a->path), root_of(b->path));
}

/* Without memory it is read anew. */
static bool
has_namespaces(const watched *one, const udpai_plan *plan)
{
    UDPAI_AUTO_FREE char *namespaces = udpai_directory_namespaces_name(plan, one->plan->source);
    return namespaces && strcmp(namespaces, one->namespaces) == 0;
}

/* Nothing has to be read anew. */
static bool
is_read_alike(const udpai_plan_directory *a, const udpai_plan_directory *b)
{
    return is_same_place(a, b) && is_text_same(a->path, b->path) &&
           udpai_str_eq(a->name_space, b->name_space) && udpai_str_eq(a->authority, b->authority) &&
           is_tree_same(a->tree, b->tree);
}

static watched *
find(const watched_list *in, const udpai_plan_directory *like)
{
    for (size_t i = 0; i < in->n; i++)
        if (is_same_place(in->items[i]->plan, like))
            return in->items[i];
    return NULL;
}

static bool
has(const watched_list *in, const watched *one)
{
    for (size_t i = 0; i < in->n; i++)
        if (in->items[i] == one)
            return true;
    return false;
}

/* It is expected from now on: until the loop runs on it is given to the node, or expected no more.
 */
static udpa_err
expect_one(watched *self)
{
    if (self->plan->source.len)
        return UDPA_OK;
    udpa_err err = udpai_node_expect_files(udpai_endpoint_node(self->all->env.endpoint),
                                           root_of(self->plan->path));
    self->is_expected = err == UDPA_OK;
    return err;
}

static udpa_err
prepare_one(udpai_directories_next *next,
            udpai_directories *all,
            const udpai_plan *plan,
            const udpai_plan_directory *directory,
            udpa_error **ret_error)
{
    watched *made = find(&all->items, directory);
    bool is_there = made && !has(&next->items, made);
    bool is_kept = is_there && is_read_alike(made->plan, directory) && has_namespaces(made, plan);
    udpa_err err = UDPA_OK;
    if (!is_kept) {
        made = NULL;
        err = make_one(all, plan, directory, &made, ret_error);
        if (made && !udpai_vector_push(&next->made, made)) {
            close_one(made);
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        }
    }
    if (err == UDPA_OK && !is_kept) {
        made->is_held_back = true;
        err = start_one(made, ret_error);
    }
    if (err == UDPA_OK && (made->has_failed || !udpai_vector_push(&next->items, made)))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK && !is_there)
        err = expect_one(made);
    next->facts.n_added += !is_there;
    next->facts.n_edited +=
        is_there && (!is_kept || made->plan->max_withdrawal != directory->max_withdrawal);
    return udpai_fail_code(ret_error, err);
}

/* ---- what would go ---- */

static int
compare(const void *a, const void *b)
{
    const udpa_resource *one = *(udpa_resource *const *)a, *other = *(udpa_resource *const *)b;
    int order = udpai_str_cmp(udpai_resource_name(one), udpai_resource_name(other));
    return order ? order
                 : udpai_str_cmp(udpai_resource_type_url(one), udpai_resource_type_url(other));
}

static bool
is_read(const udpai_directories_next *next, udpa_resource *resource)
{
    return next->read.n &&
           bsearch(&resource, next->read.items, next->read.n, sizeof(resource), compare) != NULL;
}

struct counting {
    const udpai_directories_next *next;
    size_t n_withdrawn;
};

static bool
count_withdrawn(void *userdata, udpa_resource *resource)
{
    struct counting *self = userdata;
    self->n_withdrawn += !is_read(self->next, resource);
    return true;
}

/* What a source has brought stays for a while if that is gone; then it is not counted here. */
static bool
is_of_source(const udpai_directories_next *next, const watched *gone)
{
    for (size_t i = 0; i < next->items.n; i++)
        if (udpai_str_eq(next->items.items[i]->plan->source, gone->plan->source))
            return true;
    return false;
}

/* What has only moved to another directory stays. */
static udpa_err
count_all(udpai_directories_next *next, const udpai_directories *all)
{
    struct counting counting = {.next = next};
    const udpai_node *node = udpai_endpoint_node(all->env.endpoint);
    for (size_t i = 0; i < next->made.n; i++)
        for (size_t k = 0; k < next->made.items[i]->read.n; k++)
            if (!udpai_vector_push(&next->read, next->made.items[i]->read.items[k]))
                return UDPA_ERR_NOMEM;
    if (next->read.n > 1)
        qsort(next->read.items, next->read.n, sizeof(next->read.items[0]), compare);
    for (size_t i = 0; i < next->gone.n; i++) {
        const watched *gone = next->gone.items[i];
        if (gone->plan->source.len == 0 || is_of_source(next, gone))
            udpai_node_visit_files(node, root_of(gone->plan->path), gone->plan->source,
                                   count_withdrawn, &counting);
    }
    next->facts.n_withdrawn = counting.n_withdrawn;
    return UDPA_OK;
}

static udpa_err
find_gone(udpai_directories_next *next, const udpai_directories *all)
{
    for (size_t i = 0; i < all->items.n; i++) {
        watched *one = all->items.items[i];
        if (has(&next->items, one))
            continue;
        if (!udpai_vector_push(&next->gone, one))
            return UDPA_ERR_NOMEM;
        next->facts.n_removed += !find(&next->items, one->plan);
    }
    return UDPA_OK;
}

static bool
is_same_list(const udpai_directories *all, const udpai_directories_next *next)
{
    return next->made.n == 0 && next->gone.n == 0 && next->facts.n_edited == 0 &&
           all->items.n == next->items.n;
}

static void
next_free(udpai_directories_next *next)
{
    udpai_vector_done(&next->items);
    udpai_vector_done(&next->made);
    udpai_vector_done(&next->gone);
    udpai_vector_done(&next->read);
    udpai_free(next);
}

udpa_err
udpai_directories_prepare(udpai_directories *all,
                          const udpai_plan *plan,
                          udpai_directories_next **ret_next,
                          udpa_error **ret_error)
{
    udpai_directories_next *next = udpai_alloc(sizeof(*next));
    udpa_err err = next ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_next = NULL;
    for (size_t i = 0; i < plan->directories.n && err == UDPA_OK; i++)
        err = prepare_one(next, all, plan, &plan->directories.items[i], ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, find_gone(next, all));
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, count_all(next, all));
    if (err == UDPA_OK && !is_same_list(all, next))
        *ret_next = next;
    else
        udpai_directories_leave(all, next);
    return err;
}

const udpai_directories_facts *
udpai_directories_facts_of(const udpai_directories_next *next)
{
    static const udpai_directories_facts none;
    return next ? &next->facts : &none;
}

void
udpai_directories_visit(const udpai_directories_next *next,
                        udpai_directories_fn visit,
                        void *userdata)
{
    for (size_t i = 0; next && i < next->made.n; i++)
        visit(userdata, next->made.items[i]->plan->path,
              find(&next->gone, next->made.items[i]->plan) ? "edited" : "added");
    for (size_t i = 0; next && i < next->gone.n; i++)
        if (!find(&next->items, next->gone.items[i]->plan))
            visit(userdata, next->gone.items[i]->plan->path, "removed");
}

/* ---- taking them ---- */

static void
report_again(watched *self)
{
    if (self->tree)
        udpai_runtime_tree_report_again(self->tree);
    else
        udpai_file_origin_report_again(self->origin);
}

static void
give(watched *self)
{
    forget_read(self);
    self->is_held_back = false;
    self->is_expected = false;
    self->is_reviewed = true;
    report_again(self);
    self->is_reviewed = false;
}

/* One that was edited has given its contributions to the one that has its place. */
static void
end_one(watched *self)
{
    udpai_node *node = udpai_endpoint_node(self->all->env.endpoint);
    udpai_str root = root_of(self->plan->path);
    if (self->plan->source.len == 0 && !find(&self->all->items, self->plan) &&
        udpai_node_end_files(node, root) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "file",
                  "directory %.*s: is not read any more, and some of it is served: out of memory",
                  UDPAI_SHOWN(root));
    udpai_endpoint_touch(self->all->env.endpoint);
    close_one(self);
}

void
udpai_directories_take(udpai_directories *all, udpai_directories_next *next)
{
    if (!next)
        return;
    watched_list before = all->items;
    all->items = next->items;
    next->items = before;
    for (size_t i = 0; i < next->made.n; i++)
        give(next->made.items[i]);
    for (size_t i = 0; i < next->gone.n; i++)
        end_one(next->gone.items[i]);
    put_problems(all);
    next_free(next);
}

void
udpai_directories_leave(udpai_directories *all, udpai_directories_next *next)
{
    udpai_node *node = udpai_endpoint_node(all->env.endpoint);
    if (!next)
        return;
    for (size_t i = 0; i < next->made.n; i++) {
        watched *one = next->made.items[i];
        if (one->is_expected)
            udpai_node_expect_files_no_more(node, root_of(one->plan->path));
        close_one(one);
    }
    next_free(next);
}

void
udpai_directories_set_plan(udpai_directories *all, const udpai_plan *plan)
{
    for (size_t i = 0; i < plan->directories.n; i++) {
        watched *one = find(&all->items, &plan->directories.items[i]);
        if (one)
            one->plan = &plan->directories.items[i];
    }
}

/* ---- all of them ---- */

void
udpai_directories_set_quiet(udpai_directories *all, uint64_t quiet_ms)
{
    if (!all)
        return;
    all->quiet_ms = quiet_ms;
    for (size_t i = 0; i < all->items.n; i++)
        if (all->items.items[i]->origin)
            udpai_file_origin_set_quiet(all->items.items[i]->origin, quiet_ms);
}

void
udpai_directories_look(udpai_directories *all)
{
    for (size_t i = 0; all && i < all->items.n; i++) {
        if (all->items.items[i]->tree)
            udpai_runtime_tree_look(all->items.items[i]->tree);
        else
            udpai_file_origin_poke(all->items.items[i]->origin);
    }
}

void
udpai_directories_report_again(udpai_directories *all)
{
    for (size_t i = 0; all && i < all->items.n; i++)
        report_again(all->items.items[i]);
}

void
udpai_directories_close(udpai_directories *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->items.n; i++)
        close_one(all->items.items[i]);
    all->items.n = 0;
    release(all);
}
