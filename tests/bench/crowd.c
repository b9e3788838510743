/* Ten thousand clients in one process, or the barest server for them: epoll and nothing else.
 *
 * `crowd watch` takes lines: `open <count> <port> <bytes>`, then a line with the mark of a client that is there (empty: once it has sent), a line with
 * the mark of an event, and the request; `expect <count> <every> <names>` prints the moments (CLOCK_MONOTONIC, ns) of so many events, each with the 36
 * bytes after its mark where <names> is not 0, and looks for them at once, or only every so many µs; `close`.
 * `crowd serve` prints its port, answers each request with what `head` gave it, and writes what `send <times> <bytes>` gives it to everyone.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 65536
#define AT_ONCE 64

static int ep, fds[MOST], there[MOST], count, ready;
static struct { long long at; char name[40]; } *moments;
static long heard, room;
static char ready_mark[256], event_mark[256], buffer[1 << 20];

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void follow(int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
}

static char *line(char *into, int size) {
    if (!fgets(into, size, stdin)) exit(0);
    into[strcspn(into, "\n")] = 0;
    return into;
}

static void note(const char *name, long size) {
    if (heard == room) moments = realloc(moments, (room = room ? 2 * room : 65536) * sizeof *moments);
    moments[heard].at = now();
    snprintf(moments[heard++].name, 37, "%.*s", (int)(size < 36 ? size : 36), name);
}

/* Reads whatever has come, for at most so many milliseconds. */
static void turn(int wait) {
    struct epoll_event events[512];
    int found = epoll_wait(ep, events, 512, wait);
    for (int i = 0; i < found; i++) {
        int fd = events[i].data.fd;
        long size = read(fd, buffer, sizeof buffer);
        if (size <= 0) {
            if (size == 0 || errno != EAGAIN) epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);
            continue;
        }
        if (!there[fd] && *ready_mark && memmem(buffer, size, ready_mark, strlen(ready_mark))) there[fd] = 1, ready++;
        for (char *at = buffer; (at = memmem(at, buffer + size - at, event_mark, strlen(event_mark))); at++)
            note(at + strlen(event_mark), buffer + size - at - strlen(event_mark));
    }
}

static void open_all(int wanted, int port, const char *request, int size) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int begun = 0, before = ready;
    while (ready - before < wanted) {
        while (begun < wanted && begun - (ready - before) < AT_ONCE) {
            int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
            if (fd < 0 || fd >= MOST || connect(fd, (struct sockaddr *)&address, sizeof address)) perror("connect"), exit(1);
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            if (write(fd, request, size) != size) perror("write"), exit(1);
            fcntl(fd, F_SETFL, O_NONBLOCK);
            there[fd] = 0;
            fds[count++] = fd;
            follow(fd);
            begun++;
            if (!*ready_mark) there[fd] = 1, ready++;
        }
        turn(ready - before < wanted ? 100 : 0);
    }
}

static void watch(void) {
    char command[256];
    for (;;) {
        int wanted, port, size, every, names;
        line(command, sizeof command);
        if (sscanf(command, "open %d %d %d", &wanted, &port, &size) == 3) {
            line(ready_mark, sizeof ready_mark);
            line(event_mark, sizeof event_mark);
            char *request = malloc(size);
            if (fread(request, 1, size, stdin) != (size_t)size) exit(0);
            open_all(wanted, port, request, size);
            free(request);
            heard = 0;
            printf("%d\n", count);
        } else if (sscanf(command, "expect %d %d %d", &wanted, &every, &names) == 3) {
            long long until = now() + 60000000000LL;
            while (heard < wanted && now() < until) turn(every ? 0 : 100), every && usleep(every);
            for (long i = 0; i < heard; i++) names ? printf("%lld:%s ", moments[i].at, moments[i].name) : printf("%lld ", moments[i].at);
            printf("\n");
            heard = 0;
        } else if (!strcmp(command, "close")) {
            while (count) close(fds[--count]);
            ready = 0;
            printf("0\n");
        }
        fflush(stdout);
    }
}

static void serve(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char command[256], *head = NULL;
    int times, size, head_size = 0;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) perror("listen"), exit(1);
    getsockname(listener, (struct sockaddr *)&address, &length);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    setvbuf(stdin, NULL, _IONBF, 0);
    follow(listener);
    follow(0);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event events[512];
        int found = epoll_wait(ep, events, 512, -1);
        for (int i = 0; i < found; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                int client;
                while ((client = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    follow(client);
                }
            } else if (fd) {
                long got = read(fd, buffer, sizeof buffer);
                if (got > 0 && write(fd, head, head_size) == head_size) fds[count++] = fd;
                else if (got <= 0) close(fd);
            } else {
                line(command, sizeof command);
                if (sscanf(command, "head %d", &size) == 1) {
                    head = malloc(head_size = size);
                    if (fread(head, 1, size, stdin) != (size_t)size) exit(0);
                } else if (sscanf(command, "send %d %d", &times, &size) == 2) {
                    if (fread(buffer, 1, size, stdin) != (size_t)size) exit(0);
                    while (times--)
                        for (int c = 0; c < count; c++)
                            if (write(fds[c], buffer, size) != size && errno != EAGAIN) continue;
                }
                printf("0\n");
                fflush(stdout);
            }
        }
    }
}

int main(int arguments, char **argument) {
    ep = epoll_create1(0);
    if (arguments > 1 && !strcmp(argument[1], "serve")) serve();
    watch();
}
