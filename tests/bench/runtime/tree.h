/* SPDX-License-Identifier: Apache-2.0 */
/* Two versions of a tree of files for bench-runtime, and the link that leads to one of them. Ends
 * the program if that cannot be. */
#ifndef UDPAI_BENCH_TREE_H
#define UDPAI_BENCH_TREE_H

#include <stddef.h>

#include <uv.h>

#define BENCH_FILES 10000
#define BENCH_FILES_OF_DIRECTORY 100
#define BENCH_KEY_MAX 64
#define BENCH_VERSION_KEY "version" /* a file more: 1 or 2 */

/* Both, in a directory of their own; the link leads to version 1. */
void bench_tree_make(void);
void bench_tree_remove(void);
/* The link. */
const char *bench_tree_root(void);
/* The key of a file, below BENCH_FILES. */
void bench_tree_key(size_t index, char key[BENCH_KEY_MAX]);
void bench_tree_swap(unsigned version);
/* Runs the loop until nothing is read that was changed before: directories are read once more when
 * they are watched. */
void bench_tree_settle(uv_loop_t *loop);

#endif
