/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets on which this process listens, with what each is for, so that a process that takes
 * its place can be handed them; and those that this one was handed by the process before it. What
 * waits in the queue of a socket stays there as long as one of the two has it
 * (docs/design/restart.md). One list for the process, as there is one table of descriptors; any
 * thread. */
#ifndef UDPAI_SOCKET_LIST_H
#define UDPAI_SOCKET_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Of what a socket is for, with its NUL: how it is served, and the address as it is written. */
#define UDPAI_SOCKET_USE_MAX 255

/* This process listens on it, until it is forgotten. What is longer, or has no memory, is counted
 * as missing: such a process has no successor. */
void udpai_socket_list_note(const char *use, const char *address, int file);
/* It is about to be closed. One that nobody has noted is nothing. */
void udpai_socket_list_forget(int file);
/* Each of them, in the order in which they were noted, until @p visit returns false. False: it did,
 * or some are missing. */
bool udpai_socket_list_visit(bool (*visit)(void *userdata, const char *label, int file),
                             void *userdata);

/* One was handed to this process, whose it is. False: without memory, and it is closed. */
bool udpai_socket_list_put(const char *label, int file);
/* The oldest of those handed for this, which is the caller's then; -1: there is none. */
int udpai_socket_list_take(const char *use, const char *address);
/* The same, and it stays; -1: there is none. */
int udpai_socket_list_peek(const char *use, const char *address);
/* Closes those that nobody has taken; returns how many there were. */
size_t udpai_socket_list_drop(void);

/* While they are muted, nothing is accepted on any socket of this process: another one does that.
 * What is being accepted is. */
void udpai_socket_list_set_muted(bool is_muted);
bool udpai_socket_list_is_muted(void);
/* The files of unix sockets are another process's, and stay when this one ends. */
void udpai_socket_list_leave_files(void);
bool udpai_socket_list_has_left_files(void);

#endif
