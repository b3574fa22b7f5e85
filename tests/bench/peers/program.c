/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "tools/bench/contents.h"

#define RESOURCES_DEFAULT 1000
#define SIZE_DEFAULT 300
#define SIZE_MAX_BYTES 500000
#define BACKLOG 4096

void
peer_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

/* ---- options ---- */

static size_t
number_of(const char *name, const char *text, size_t most)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > most)
        peer_fail("--%s %s: must be a number from 1 to %zu", name, text, most);
    return value;
}

static void
check(const peer_options *options)
{
    bool has_all = options->certificate && options->private_key && options->authorities;
    if (!has_all && (options->certificate || options->private_key || options->authorities))
        peer_fail("TLS needs all of --cert, --key and --ca");
}

void
peer_options_read(peer_options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"resources", required_argument, NULL, 'r'}, {"size", required_argument, NULL, 's'},
        {"cert", required_argument, NULL, 'c'},      {"key", required_argument, NULL, 'k'},
        {"ca", required_argument, NULL, 'a'},        {0},
    };
    *options = (peer_options){.n_resources = RESOURCES_DEFAULT, .size_bytes = SIZE_DEFAULT};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 'r')
            options->n_resources = number_of("resources", optarg, UDPAI_CONTENTS_NAMES_MAX);
        else if (option == 's')
            options->size_bytes = number_of("size", optarg, SIZE_MAX_BYTES);
        else if (option == 'c')
            options->certificate = optarg;
        else if (option == 'k')
            options->private_key = optarg;
        else if (option == 'a')
            options->authorities = optarg;
        else
            exit(EXIT_FAILURE); /* getopt has said why */
    }
    if (optind < argc)
        peer_fail("%s: takes options alone", argv[optind]);
    check(options);
}

/* ---- the process ---- */

static void
allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int
peer_begin(void)
{
    allow_files();
    signal(SIGPIPE, SIG_IGN);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads begin: all of them take it over */
    int fd = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        peer_fail("signals cannot be read: %s", strerror(errno));
    return fd;
}

void
peer_announce(unsigned port, unsigned control_port)
{
    printf("listening on 127.0.0.1:%u, control 127.0.0.1:%u\n", port, control_port);
    fflush(stdout);
}

/* ---- sockets ---- */

int
peer_listen(unsigned *ret_port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        peer_fail("it is not possible to listen on 127.0.0.1: %s", strerror(errno));
    *ret_port = ntohs(address.sin_port);
    return fd;
}

int
peer_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int on = 1;
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}
