/* SPDX-License-Identifier: BSD-3-Clause */
/* assasin-agent: options, the listening socket, a process for each connection. */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS 16

static const char USAGE[] =
    "usage: assasin-agent [--config FILE] [--listen ADDRESS] [--port PORT] [--root FOLDER]\n"
    "  --config FILE     default /etc/assasin-agent.conf\n"
    "  --listen ADDRESS  IPv4 address of this machine, default 127.0.0.1; whoever reaches it controls the board\n"
    "  --port PORT       default 7090; 0: any free one, which is printed\n"
    "  --root FOLDER     in front of /sys, /dev and /lib/firmware, for tests\n";

static _Noreturn void fail(const char *what, const char *why) {
    fprintf(stderr, "assasin-agent: %s: %s\n", what, why);
    exit(1);
}

static int listen_at(const char *address, int port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, address, &at.sin_addr) != 1) {
        fail(address, "not an IPv4 address; write for example --listen 192.168.1.20");
    }
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, CONNECTIONS) != 0) {
        fail("cannot listen", strerror(errno));
    }
    socklen_t size = sizeof at;
    getsockname(fd, (struct sockaddr *)&at, &size);
    printf("assasin-agent: listening at %s:%d\n", address, ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

/* Serves for ever. */
static void serve(struct config *config, int listener) {
    int children = 0;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
            children--;
        }
        if (fd < 0) {
            if (errno == EINTR || errno == ECONNABORTED) {
                continue;
            }
            fail("accept", strerror(errno));
        }
        if (children == CONNECTIONS) {
            static const char full[] = "{\"error\": \"all connections are taken: close one\"}\n";
            send_all(fd, full, sizeof full - 1);
            close(fd);
            continue;
        }
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        /* So that the process of a host that has vanished ends. */
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        pid_t pid = fork();
        if (pid == 0) {
            close(listener);
            session_run(config, fd);
            _exit(0);
        }
        if (pid > 0) {
            children++;
        }
        close(fd);
    }
}

int main(int argc, char **argv) {
    static struct config config;
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'}, {"listen", required_argument, NULL, 'l'},
        {"port", required_argument, NULL, 'p'},   {"root", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    const char *file = "/etc/assasin-agent.conf", *address = "127.0.0.1";
    char *end;
    long port = AGENT_PORT;
    struct problem problem;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            file = optarg;
            break;
        case 'l':
            address = optarg;
            break;
        case 'p':
            port = strtol(optarg, &end, 10);
            if (*end != '\0' || port < 0 || port > 65535) {
                fail(optarg, "not a TCP port: give 0 to 65535");
            }
            break;
        case 'r':
            if (strlen(optarg) >= sizeof config.root) {
                fail(optarg, "the folder's name is too long");
            }
            strcpy(config.root, optarg);
            break;
        case 'h':
            fputs(USAGE, stdout);
            return 0;
        default:
            fputs(USAGE, stderr);
            return 2;
        }
    }
    if (optind != argc) {
        fputs(USAGE, stderr);
        return 2;
    }
    if (config_read(&config, file, &problem) != 0) {
        fprintf(stderr, "assasin-agent: %s\n", problem.text);
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    serve(&config, listen_at(address, (int)port));
}
