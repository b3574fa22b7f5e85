/* SPDX-License-Identifier: Apache-2.0 */
/* A unix socket that listens: its file is made, replaced where a process has left it, and removed.
 * Who may open the file may connect. */
#ifndef UDPAI_LOCAL_SOCKET_H
#define UDPAI_LOCAL_SOCKET_H

#include <sys/stat.h>
#include <sys/un.h>

#include "base/error.h"

#define UDPAI_LOCAL_SOCKET_MODE 0660

/* The file; it is removed only while it is still the same. */
typedef struct udpai_local_file {
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* empty: none */
    dev_t device;
    ino_t number;
} udpai_local_file;

udpa_err udpai_local_path_check(const char *path, udpa_error **ret_error);
/* Binds, without waiting and not inherited, and listens; the file has this mode from the beginning.
 * A socket there on which no process listens is replaced. UDPA_ERR_IO: one does, or there is
 * another file. */
udpa_err udpai_local_socket_listen(const char *path,
                                   mode_t mode,
                                   int backlog,
                                   int *ret_socket,
                                   udpai_local_file *ret_file,
                                   udpa_error **ret_error);
/* The file at this path, of a socket that another process has made and handed to this one: this one
 * removes it from now on. */
void udpai_local_file_adopt(udpai_local_file *ret_file, const char *path);
/* Not if another process has the sockets of this one now (transport/socket_list.h). */
void udpai_local_file_remove(udpai_local_file *file);

#endif
