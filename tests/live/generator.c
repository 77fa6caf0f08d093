/* What namespaces lack of machines of their own: nobody else takes the processor of a load generator, and
 * one may be slow. Each connection then costs it more processor time: as many nanoseconds as the file
 * $TLSLAB_TEST_SLOW says, none where there is no file. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long more_ns;

__attribute__((constructor)) static void begin(void) {
    if (strcmp(program_invocation_short_name, "tlslab-load") != 0)
        return;
    setpriority(PRIO_PROCESS, 0, -20);
    /* Niceness is among the processes of a session, where the kernel shares processors among sessions.
     * The generator gets a session of its own: that of the tests would have the processors with it. */
    FILE *session = NULL;
    if (getsid(0) == getpid() || setsid() != -1)
        session = fopen("/proc/self/autogroup", "w");
    if (session != NULL) {
        fputs("-20", session);
        fclose(session);
    }
    const char *name = getenv("TLSLAB_TEST_SLOW");
    FILE *file = name == NULL ? NULL : fopen(name, "r");
    if (file == NULL)
        return;
    if (fscanf(file, "%ld", &more_ns) != 1)
        more_ns = 0;
    fclose(file);
}

static long used_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000000000L + used.tv_nsec;
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
    /* A socket that is used again is first connected to nowhere, AF_UNSPEC. */
    if (more_ns > 0 && address->sa_family == AF_INET)
        for (long end = used_ns() + more_ns; used_ns() < end;) {
        }
    return syscall(SYS_connect, socket, address, length);
}
