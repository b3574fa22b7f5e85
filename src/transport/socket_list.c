/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket_list.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/vector.h"

typedef struct entry {
    char label[UDPAI_SOCKET_USE_MAX];
    int file;
} entry;

typedef UDPAI_VECTOR(entry) entry_list;

static struct {
    pthread_mutex_t mutex;
    entry_list own, handed;
    size_t n_missing;
    atomic_bool is_muted, has_left_files;
} list = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool
put_label(entry *to, const char *use, const char *address)
{
    int len = snprintf(to->label, sizeof(to->label), "%s %s", use, address);
    return len > 0 && (size_t)len < sizeof(to->label);
}

/* They have an order. */
static void
remove_at(entry_list *from, size_t at)
{
    memmove(&from->items[at], &from->items[at + 1], (from->n - at - 1) * sizeof(entry));
    if (--from->n == 0)
        udpai_vector_done(from);
}

/* ---- its own ---- */

void
udpai_socket_list_note(const char *use, const char *address, int file)
{
    entry one = {.file = file};
    bool fits = put_label(&one, use, address);
    pthread_mutex_lock(&list.mutex);
    if (!fits || !udpai_vector_push(&list.own, one))
        list.n_missing++;
    pthread_mutex_unlock(&list.mutex);
}

void
udpai_socket_list_forget(int file)
{
    pthread_mutex_lock(&list.mutex);
    for (size_t i = 0; i < list.own.n; i++)
        if (list.own.items[i].file == file) {
            remove_at(&list.own, i);
            break;
        }
    pthread_mutex_unlock(&list.mutex);
}

bool
udpai_socket_list_visit(bool (*visit)(void *userdata, const char *label, int file), void *userdata)
{
    pthread_mutex_lock(&list.mutex);
    bool is_good = list.n_missing == 0;
    for (size_t i = 0; i < list.own.n && is_good; i++)
        is_good = visit(userdata, list.own.items[i].label, list.own.items[i].file);
    pthread_mutex_unlock(&list.mutex);
    return is_good;
}

/* ---- those of the process before ---- */

bool
udpai_socket_list_put(const char *label, int file)
{
    entry one = {.file = file};
    int len = snprintf(one.label, sizeof(one.label), "%s", label);
    pthread_mutex_lock(&list.mutex);
    bool is_put =
        len > 0 && (size_t)len < sizeof(one.label) && udpai_vector_push(&list.handed, one);
    pthread_mutex_unlock(&list.mutex);
    if (!is_put)
        close(file);
    return is_put;
}

static int
find(const char *use, const char *address, bool takes)
{
    entry wanted;
    int file = -1;
    if (!put_label(&wanted, use, address))
        return -1;
    pthread_mutex_lock(&list.mutex);
    for (size_t i = 0; i < list.handed.n && file < 0; i++)
        if (strcmp(list.handed.items[i].label, wanted.label) == 0) {
            file = list.handed.items[i].file;
            if (takes)
                remove_at(&list.handed, i);
        }
    pthread_mutex_unlock(&list.mutex);
    return file;
}

int
udpai_socket_list_take(const char *use, const char *address)
{
    return find(use, address, true);
}

int
udpai_socket_list_peek(const char *use, const char *address)
{
    return find(use, address, false);
}

size_t
udpai_socket_list_drop(void)
{
    pthread_mutex_lock(&list.mutex);
    size_t n = list.handed.n;
    for (size_t i = 0; i < n; i++)
        close(list.handed.items[i].file);
    udpai_vector_done(&list.handed);
    pthread_mutex_unlock(&list.mutex);
    return n;
}

/* ---- what all of them do ---- */

void
udpai_socket_list_set_muted(bool is_muted)
{
    atomic_store(&list.is_muted, is_muted);
}

bool
udpai_socket_list_is_muted(void)
{
    return atomic_load(&list.is_muted);
}

void
udpai_socket_list_leave_files(void)
{
    atomic_store(&list.has_left_files, true);
}

bool
udpai_socket_list_has_left_files(void)
{
    return atomic_load(&list.has_left_files);
}
