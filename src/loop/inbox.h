/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from one thread to another, which carry their own list node, under one mutex.
 *
 * The receiver takes the whole list at once and then works without the lock. It is woken only when
 * the first message comes into an empty inbox, while the lock is held: so at most one wake is under
 * way, and none is begun once the inbox was closed. */
#ifndef UDPAI_INBOX_H
#define UDPAI_INBOX_H

#include <pthread.h>

#include "base/error.h"
#include "base/list.h"

typedef struct udpai_inbox {
    pthread_mutex_t mutex;
    /* all under the mutex */
    udpai_list messages;
    bool is_closed;
    void (*wake)(void *userdata);
    void *userdata;
} udpai_inbox;

/* @p wake runs on the sender's thread and under the lock: it must not come back to the inbox. */
udpa_err udpai_inbox_init(udpai_inbox *inbox, void (*wake)(void *userdata), void *userdata);
/* No other thread knows it any more, and its messages were taken. */
void udpai_inbox_done(udpai_inbox *inbox);

/* Any thread. Messages of one sender arrive in order. False: the inbox is closed, the message stays
 * the sender's. */
bool udpai_inbox_push(udpai_inbox *inbox, udpai_list *message);
/* Moves everything to the end of @p to; the receiver calls it once per wake. */
void udpai_inbox_take(udpai_inbox *inbox, udpai_list *to);
/* Nothing is taken in and nobody is woken any more; moves what is left to the end of @p to. */
void udpai_inbox_close(udpai_inbox *inbox, udpai_list *to);

#endif
