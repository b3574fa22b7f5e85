/* SPDX-License-Identifier: Apache-2.0 */
/* One client, or one of each protocol, in a settled world. */
#include "xds_test.h"

int
xds_one_setup(void **state)
{
    xds_one *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    xds_world_init(&self->world);
    xds_settle(&self->world);
    *state = self;
    return 0;
}

static int
setup_and_open(void **state, bool is_delta)
{
    xds_one_setup(state);
    xds_one *self = *state;
    xds_client_open(&self->client, &self->world, is_delta);
    return 0;
}

int
xds_one_setup_delta(void **state)
{
    return setup_and_open(state, true);
}

int
xds_one_setup_sotw(void **state)
{
    return setup_and_open(state, false);
}

int
xds_one_teardown(void **state)
{
    xds_one *self = *state;
    xds_client_close(&self->client);
    xds_world_done(&self->world);
    free(self);
    return 0;
}

int
xds_pair_setup(void **state)
{
    xds_pair *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    xds_world_init(&self->world);
    xds_settle(&self->world);
    xds_client_open(&self->delta, &self->world, true);
    xds_client_open(&self->sotw, &self->world, false);
    *state = self;
    return 0;
}

int
xds_pair_teardown(void **state)
{
    xds_pair *self = *state;
    xds_client_close(&self->delta);
    xds_client_close(&self->sotw);
    xds_world_done(&self->world);
    free(self);
    return 0;
}

void
xds_pair_ask(xds_pair *pair, const char *type, const char *names)
{
    xds_subscribe(&pair->delta, type, names);
    xds_ask_for(&pair->sotw, type, names);
}

void
xds_pair_expect(xds_pair *pair, const char *delta, const char *sotw)
{
    xds_expect(&pair->delta, delta);
    xds_expect(&pair->sotw, sotw);
}
