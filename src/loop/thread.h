/* SPDX-License-Identifier: Apache-2.0 */
/* Beginning a thread. */
#ifndef UDPAI_THREAD_H
#define UDPAI_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Signals are for the threads of the application, until udpai_signals_restore(). What a library
 * begins meanwhile gets none either. */
static inline void
udpai_signals_block(sigset_t *ret_before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, ret_before);
}

static inline void
udpai_signals_restore(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* One that gets no signals. The name has at most 15 bytes. 0, or a number for strerror(). */
static inline int
udpai_thread_begin(pthread_t *ret_thread,
                   const char *name,
                   void *(*run)(void *userdata),
                   void *userdata)
{
    sigset_t before;
    udpai_signals_block(&before);
    int number = pthread_create(ret_thread, NULL, run, userdata);
    udpai_signals_restore(&before);
    if (number == 0)
        pthread_setname_np(*ret_thread, name);
    return number;
}

#endif
