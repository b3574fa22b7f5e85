/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/writers.h"

#include "base/alloc.h"
#include "daemon/config_difference.h"
#include "transport/file/writer.h"

/* A writer borrows its audience from the plan, which lives as long as it does. */
typedef struct item {
    udpai_writers *all;
    udpai_plan *plan; /* a reference */
    const Udpa__Config__V1__WriteFiles *from;
    udpai_file_writer *writer;
} item;

typedef UDPAI_VECTOR(item *) item_list;

struct udpai_writers {
    udpai_writers_env env;
    size_t n_open;
    item_list items; /* as the present plan has them */
};

struct udpai_writers_next {
    udpai_writers *all;
    item_list items; /* as the plan has them, some of those before among them */
    item_list made;  /* those that were made for it */
};

static void
on_node_called(void *userdata)
{
    const item *self = userdata;
    udpai_endpoint_touch(self->all->env.endpoint);
}

static void
put_problems(const udpai_writers *self)
{
    UDPAI_VECTOR(const char *) texts = {0};
    for (size_t i = 0; i < self->items.n; i++) {
        const udpa_error *problem = udpai_file_writer_problem(self->items.items[i]->writer);
        if (problem)
            (void)udpai_vector_push(&texts, udpa_error_message(problem));
    }
    udpai_problems_set(self->env.problems, UDPAI_FOUND_WRITING, texts.items, texts.n);
    udpai_vector_done(&texts);
}

static void
on_problem_changed(void *userdata)
{
    put_problems(((const item *)userdata)->all);
}

/* ---- the end ---- */

static void
release(udpai_writers *self)
{
    if (--self->n_open)
        return;
    udpai_vector_done(&self->items);
    udpai_free(self);
}

static void
on_closed(void *userdata)
{
    item *self = userdata;
    udpai_writers *all = self->all;
    udpai_plan_free(self->plan);
    udpai_free(self);
    release(all);
}

static void
close_one(item *self)
{
    udpai_file_writer_close(self->writer, on_closed, self);
}

/* ---- making them ---- */

static udpa_err
open_writer(item *self, const udpai_plan_writer *as, udpa_error **ret_error)
{
    const udpai_writers_env *env = &self->all->env;
    const udpai_file_writer_options options = {
        .directory = as->directory,
        .audience = as->audience,
        .types = as->types,
        .n_types = as->n_types,
        .format = as->format,
        .schema = env->schema,
    };
    const udpai_file_writer_ops ops = {on_node_called, on_problem_changed, self};
    udpai_node *node = udpai_endpoint_node(env->endpoint);
    udpa_err err =
        as->client ? udpai_node_expect_clients(node, as->audience->default_namespace, as->client)
                   : UDPA_OK;
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    return udpai_file_writer_new(&self->writer, env->loop, node, &options, &ops, ret_error);
}

static udpa_err
open_one(
    udpai_writers *all, udpai_plan *plan, size_t index, item **ret_item, udpa_error **ret_error)
{
    item *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->all = all;
    self->from = plan->bootstrap.message->write_files[index];
    udpa_err err = open_writer(self, &plan->writers.items[index], ret_error);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    self->plan = udpai_plan_ref(plan);
    all->n_open++;
    *ret_item = self;
    return UDPA_OK;
}

udpa_err
udpai_writers_open(udpai_writers **ret_writers,
                   const udpai_writers_env *env,
                   udpai_plan *plan,
                   udpa_error **ret_error)
{
    udpai_writers *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->env = *env;
    self->n_open = 1;
    udpai_writers_next *next = NULL;
    udpa_err err = udpai_writers_prepare(self, plan, &next, ret_error);
    if (err == UDPA_OK) {
        udpai_writers_take(next);
        *ret_writers = self;
    } else {
        udpai_writers_close(self);
    }
    return err;
}

void
udpai_writers_close(udpai_writers *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->items.n; i++)
        close_one(self->items.items[i]);
    self->items.n = 0;
    release(self);
}

/* ---- other ones ---- */

static bool
has(const item_list *list, const item *one)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i] == one)
            return true;
    return false;
}

static item *
find(const udpai_writers *all, const udpai_writers_next *next, const ProtobufCMessage *like)
{
    for (size_t i = 0; i < all->items.n; i++)
        if (udpai_config_is_same(&all->items.items[i]->from->base, like) &&
            !has(&next->items, all->items.items[i]))
            return all->items.items[i];
    return NULL;
}

static udpa_err
prepare_one(udpai_writers_next *next, udpai_plan *plan, size_t index, udpa_error **ret_error)
{
    const Udpa__Config__V1__WriteFiles *from = plan->bootstrap.message->write_files[index];
    item *one = find(next->all, next, &from->base);
    if (!udpai_vector_reserve(&next->items, 1) || !udpai_vector_reserve(&next->made, 1))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (!one) {
        udpa_err err = open_one(next->all, plan, index, &one, ret_error);
        if (err != UDPA_OK)
            return err;
        next->made.items[next->made.n++] = one;
    }
    next->items.items[next->items.n++] = one;
    return UDPA_OK;
}

static void
next_free(udpai_writers_next *next)
{
    udpai_vector_done(&next->items);
    udpai_vector_done(&next->made);
    udpai_free(next);
}

udpa_err
udpai_writers_prepare(udpai_writers *writers,
                      udpai_plan *plan,
                      udpai_writers_next **ret_next,
                      udpa_error **ret_error)
{
    udpai_writers_next *next = udpai_alloc(sizeof(*next));
    if (!next)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    next->all = writers;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->writers.n && err == UDPA_OK; i++)
        err = prepare_one(next, plan, i, ret_error);
    if (err == UDPA_OK)
        *ret_next = next;
    else
        udpai_writers_leave(next);
    return err;
}

void
udpai_writers_take(udpai_writers_next *next)
{
    udpai_writers *all = next->all;
    item_list before = all->items;
    all->items = next->items;
    next->items = before;
    for (size_t i = 0; i < before.n; i++)
        if (!has(&all->items, before.items[i]))
            close_one(before.items[i]);
    put_problems(all);
    next_free(next);
}

void
udpai_writers_leave(udpai_writers_next *next)
{
    if (!next)
        return;
    for (size_t i = 0; i < next->made.n; i++)
        close_one(next->made.items[i]);
    next_free(next);
}
