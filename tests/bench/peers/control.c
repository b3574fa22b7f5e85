/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/control.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peers/program.h"

#define RECORDS_AT_ONCE 512

static uint64_t
big_endian(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void
hang_up(peer_control *control)
{
    close(control->connection);
    control->connection = -1;
    control->n_part = 0;
}

static bool
apply(peer_control *control, const uint8_t *record)
{
    size_t index = big_endian(record, 4);
    if (index >= control->n_resources) {
        fprintf(stderr, "%s: control: a change of resource %zu, but there are %zu: closed\n",
                program_invocation_short_name, index, control->n_resources);
        return false;
    }
    control->change(control->userdata, index, big_endian(record + 4, 8));
    return true;
}

static void
apply_all(peer_control *control, const uint8_t *bytes, size_t n)
{
    size_t at = 0;
    for (; n - at >= PEER_RECORD_SIZE; at += PEER_RECORD_SIZE) {
        if (!apply(control, bytes + at)) {
            hang_up(control);
            return;
        }
    }
    control->n_part = n - at;
    memcpy(control->part, bytes + at, control->n_part);
}

/* How many bytes have come; 0: none, for now or for ever. */
static size_t
read_some(peer_control *control)
{
    uint8_t room[(RECORDS_AT_ONCE + 1) * PEER_RECORD_SIZE];
    memcpy(room, control->part, control->n_part);
    ssize_t n =
        recv(control->connection, room + control->n_part, sizeof(room) - control->n_part, 0);
    if (n > 0)
        apply_all(control, room, control->n_part + (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        hang_up(control);
    return n > 0 ? (size_t)n : 0;
}

void
peer_control_read(peer_control *control)
{
    if (control->connection >= 0)
        read_some(control);
}

bool
peer_control_accept(peer_control *control)
{
    int fd = peer_accept(control->listener);
    if (fd < 0)
        return false;
    while (control->connection >= 0 && read_some(control))
        ;
    if (control->connection >= 0)
        hang_up(control);
    control->connection = fd;
    return true;
}

void
peer_control_open(peer_control *control, unsigned *ret_port)
{
    control->listener = peer_listen(ret_port);
    control->connection = -1;
}

void
peer_control_close(peer_control *control)
{
    if (control->connection >= 0)
        hang_up(control);
    close(control->listener);
}
