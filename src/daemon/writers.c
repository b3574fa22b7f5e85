/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/writers.h"

#include "base/alloc.h"
#include "transport/file/writer.h"

struct udpai_writers {
    udpai_writers_env env;
    size_t n_open;
    size_t n;
    udpai_file_writer *items[];
};

static void
on_node_called(void *userdata)
{
    const udpai_writers *self = userdata;
    udpai_endpoint_touch(self->env.endpoint);
}

static void
on_problem_changed(void *userdata)
{
    const udpai_writers *self = userdata;
    UDPAI_VECTOR(const char *) texts = {0};
    for (size_t i = 0; i < self->n; i++) {
        const udpa_error *problem = udpai_file_writer_problem(self->items[i]);
        if (problem)
            (void)udpai_vector_push(&texts, udpa_error_message(problem));
    }
    udpai_problems_set(self->env.problems, UDPAI_FOUND_WRITING, texts.items, texts.n);
    udpai_vector_done(&texts);
}

static void
release(void *userdata)
{
    udpai_writers *self = userdata;
    if (--self->n_open == 0)
        udpai_free(self);
}

static udpa_err
open_one(udpai_writers *self, const udpai_plan_writer *plan, udpa_error **ret_error)
{
    const udpai_file_writer_options options = {
        .directory = plan->directory,
        .audience = plan->audience,
        .types = plan->types,
        .n_types = plan->n_types,
        .format = plan->format,
        .schema = self->env.schema,
    };
    udpai_node *node = udpai_endpoint_node(self->env.endpoint);
    udpa_err err = plan->client ? udpai_node_expect_clients(node, plan->audience->default_namespace,
                                                            plan->client)
                                : UDPA_OK;
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    const udpai_file_writer_ops ops = {on_node_called, on_problem_changed, self};
    err = udpai_file_writer_new(&self->items[self->n], self->env.loop, node, &options, &ops,
                                ret_error);
    self->n += err == UDPA_OK;
    self->n_open += err == UDPA_OK;
    return err;
}

udpa_err
udpai_writers_open(udpai_writers **ret_writers,
                   const udpai_writers_env *env,
                   const udpai_plan *plan,
                   udpa_error **ret_error)
{
    size_t n = plan->writers.n;
    udpai_writers *self = udpai_alloc(sizeof(*self) + n * sizeof(self->items[0]));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->env = *env;
    self->n_open = 1;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = open_one(self, &plan->writers.items[i], ret_error);
    if (err == UDPA_OK)
        *ret_writers = self;
    else
        udpai_writers_close(self);
    return err;
}

void
udpai_writers_close(udpai_writers *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->n; i++)
        udpai_file_writer_close(self->items[i], release, self);
    release(self);
}
