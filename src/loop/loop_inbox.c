/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop_inbox.h"

#include <assert.h>

#include "base/alloc.h"

struct udpai_loop_inbox {
    udpai_inbox inbox;
    uv_async_t async;
    udpai_loop_inbox_fn receive;
    void *userdata;
};

static void
wake_loop(void *userdata)
{
    udpai_loop_inbox *self = userdata;
    int sent = uv_async_send(&self->async);
    assert(sent == 0);
    (void)sent;
}

static void
on_async(uv_async_t *async)
{
    udpai_loop_inbox *self = UDPAI_CONTAINER_OF(async, udpai_loop_inbox, async);
    udpai_list messages;
    udpai_list_init(&messages);
    udpai_inbox_take(&self->inbox, &messages);
    /* libuv may call once more than was asked for. */
    if (!udpai_list_empty(&messages))
        self->receive(self->userdata, &messages);
    assert(udpai_list_empty(&messages));
}

udpa_err
udpai_loop_inbox_new(udpai_loop_inbox **ret_inbox,
                     uv_loop_t *loop,
                     udpai_loop_inbox_fn receive,
                     void *userdata,
                     udpa_error **ret_error)
{
    udpai_loop_inbox *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->receive = receive;
    self->userdata = userdata;
    if (udpai_inbox_init(&self->inbox, wake_loop, self) != UDPA_OK) {
        udpai_free(self);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    int result = uv_async_init(loop, &self->async, on_async);
    if (result != 0) {
        udpai_inbox_done(&self->inbox);
        udpai_free(self);
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "cannot make a way for other threads to wake the event loop: %s; are too "
                          "many files open?",
                          uv_strerror(result));
    }
    *ret_inbox = self;
    return UDPA_OK;
}

void
udpai_loop_inbox_push(udpai_loop_inbox *self, udpai_list *message)
{
    bool taken = udpai_inbox_push(&self->inbox, message);
    assert(taken);
    (void)taken;
}

static void
on_closed(uv_handle_t *handle)
{
    udpai_loop_inbox *self = UDPAI_CONTAINER_OF(handle, udpai_loop_inbox, async);
    udpai_inbox_done(&self->inbox);
    udpai_free(self);
}

void
udpai_loop_inbox_close(udpai_loop_inbox *self, udpai_list *to)
{
    udpai_inbox_close(&self->inbox, to);
    uv_close((uv_handle_t *)&self->async, on_closed);
}
