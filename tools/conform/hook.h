/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the user that changes the resources of the tested server. It runs as long as the
 * tests; requests are lines on its standard input, responses lines on its standard output. */
#ifndef UDPAI_CONFORM_HOOK_H
#define UDPAI_CONFORM_HOOK_H

#include "base/error.h"
#include "tools/conform/peer.h"

typedef struct udpai_hook udpai_hook;

/* Runs the command by sh, and asks it what it can do. */
udpa_err udpai_hook_new(udpai_hook **ret_hook, const char *command, udpa_error **ret_error);
/* Closes its standard input, and waits for its end. */
udpai_hook *udpai_hook_free(udpai_hook *hook);
/* Valid as long as the hook. */
udpai_changer udpai_hook_changer(udpai_hook *hook);

#endif
