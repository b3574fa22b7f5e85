/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/interrupt.h"

#include <signal.h>
#include <time.h>

static volatile sig_atomic_t is_interrupted;

static void
on_signal(int number)
{
    (void)number;
    is_interrupted = 1;
}

void
udpai_ctl_catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool
udpai_ctl_is_interrupted(void)
{
    return is_interrupted;
}

/* Second by second: one may come just before the sleep. */
void
udpai_ctl_wait_s(uint64_t seconds)
{
    const struct timespec second = {.tv_sec = 1};
    for (uint64_t i = 0; i < seconds && !is_interrupted; i++)
        (void)nanosleep(&second, NULL);
}
