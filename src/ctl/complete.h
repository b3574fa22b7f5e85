/* SPDX-License-Identifier: Apache-2.0 */
/* The hidden command __complete, which the scripts of completion (completion.c) call. */
#ifndef UDPAI_CTL_COMPLETE_H
#define UDPAI_CTL_COMPLETE_H

/* The words behind "udpactl" as they have been typed so far; the last one may be empty. Returns the
 * exit status. */
int udpai_ctl_complete(int argc, char *const *argv);

#endif
