/* SPDX-License-Identifier: Apache-2.0 */
/* C core without anything on it: what udpad would cost if it had no logic. Requests are not read,
 * bytes are made once, slices are shared. A thread polls the queue and owns all streams; this one
 * reads the control connection. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "bare/bare.h"
#include "peers/control.h"

static void
follow(peer_control *control, int signals)
{
    for (;;) {
        struct pollfd polled[] = {
            {.fd = signals, .events = POLLIN},
            {.fd = control->listener, .events = POLLIN},
            {.fd = control->connection, .events = POLLIN}, /* -1 is passed over */
        };
        if (poll(polled, UDPAI_ARRAY_LEN(polled), -1) < 0 && errno != EINTR)
            peer_fail("poll: %s", strerror(errno));
        if (polled[0].revents)
            return;
        if (polled[2].revents)
            peer_control_read(control);
        if (polled[1].revents)
            peer_control_accept(control);
    }
}

int
main(int argc, char **argv)
{
    static bare_server server;
    peer_options options;
    unsigned port, control_port;
    pthread_t thread;
    peer_options_read(&options, argc, argv);
    int signals = peer_begin();
    peer_control control = {
        .n_resources = options.n_resources,
        .change = bare_inbox_push,
        .userdata = &server,
    };
    grpc_init();
    bare_server_init(&server, &options, &port);
    peer_control_open(&control, &control_port);
    if (pthread_create(&thread, NULL, bare_server_run, &server) != 0)
        peer_fail("a thread cannot be begun: %s", strerror(errno));
    peer_announce(port, control_port);
    follow(&control, signals);
    bare_server_shut_down(&server);
    pthread_join(thread, NULL);
    bare_server_done(&server);
    grpc_shutdown();
    peer_control_close(&control);
    close(signals);
    return 0;
}
