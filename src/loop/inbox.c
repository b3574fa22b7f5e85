/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/inbox.h"

udpa_err
udpai_inbox_init(udpai_inbox *inbox, void (*wake)(void *userdata), void *userdata)
{
    if (pthread_mutex_init(&inbox->mutex, NULL) != 0)
        return UDPA_ERR_NOMEM;
    udpai_list_init(&inbox->messages);
    inbox->is_closed = false;
    inbox->wake = wake;
    inbox->userdata = userdata;
    return UDPA_OK;
}

void
udpai_inbox_done(udpai_inbox *inbox)
{
    pthread_mutex_destroy(&inbox->mutex);
}

bool
udpai_inbox_push(udpai_inbox *inbox, udpai_list *message)
{
    pthread_mutex_lock(&inbox->mutex);
    bool taken = !inbox->is_closed;
    if (taken) {
        bool was_empty = udpai_list_empty(&inbox->messages);
        udpai_list_append(&inbox->messages, message);
        if (was_empty)
            inbox->wake(inbox->userdata);
    }
    pthread_mutex_unlock(&inbox->mutex);
    return taken;
}

void
udpai_inbox_take(udpai_inbox *inbox, udpai_list *to)
{
    pthread_mutex_lock(&inbox->mutex);
    udpai_list_splice(to, &inbox->messages);
    pthread_mutex_unlock(&inbox->mutex);
}

void
udpai_inbox_close(udpai_inbox *inbox, udpai_list *to)
{
    pthread_mutex_lock(&inbox->mutex);
    inbox->is_closed = true;
    udpai_list_splice(to, &inbox->messages);
    pthread_mutex_unlock(&inbox->mutex);
}
