/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of the node itself, and the origins of what is read of them. */
#ifndef UDPAI_DIRECTORIES_H
#define UDPAI_DIRECTORIES_H

#include "federation/context.h"

typedef struct udpai_expected {
    udpa_bytes *root;
    udpa_bytes *unread; /* the path of a file that could not be read; NULL: none is known */
    bool is_known;      /* all of it was read, now or before a restart */
    size_t n_held_logged;
} udpai_expected;

typedef struct udpai_roots udpai_roots;

udpa_err udpai_roots_new(udpai_roots **ret_directories, udpai_context *context);
/* NULL does nothing. */
void udpai_roots_free(udpai_roots *directories);
/* One of this root will be read. */
udpa_err udpai_roots_expect(udpai_roots *directories, udpai_str root);
/* None will. NULL does nothing. */
void udpai_roots_forget(udpai_roots *directories, udpai_expected *expected);
/* Each of them, from *at = 0 on; NULL behind the last. */
udpai_expected *udpai_roots_next(const udpai_roots *directories, size_t *at);

/* Makes it if need be. NULL without memory. */
udpai_origin *udpai_directory_origin(udpai_roots *directories, udpai_str root);
/* NULL: nothing was read of it. */
const udpai_origin *udpai_directory_find_origin(const udpai_roots *directories, udpai_str root);
/* The directory of this root, if it is one that will be read. */
udpai_expected *udpai_directory_find(const udpai_roots *directories, udpai_str root);
/* The file at this path (empty: none) could not be read. Without memory the directory, or its
 * source, is named instead. */
void udpai_directory_note_unread(udpai_context *context, udpa_bytes **place, udpai_str path);

#endif
