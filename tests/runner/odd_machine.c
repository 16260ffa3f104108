/* A machine that is not as others: its clock is off by the seconds in a file, its file system has no links and cannot
   refuse to replace. Loaded before the C library by LD_PRELOAD, also into the processes that a sweep starts. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long off(void)
{
    const char *name = getenv("CLOCK_OFF_BY");
    FILE *file = name ? fopen(name, "r") : NULL;
    long seconds = 0;
    if (file) {
        if (fscanf(file, "%ld", &seconds) != 1)
            seconds = 0;
        fclose(file);
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && clock == CLOCK_REALTIME)
        now->tv_sec += off();
    return failed;
}

time_t time(time_t *seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (seconds)
        *seconds = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    if (getenv("NO_LINKS")) {
        errno = EPERM;
        return -1;
    }
    return syscall(SYS_linkat, from, old, to, new, flags);
}

int link(const char *old, const char *new)
{
    return linkat(-100, old, -100, new, 0);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    if (getenv("NO_LINKS") && flags) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_renameat2, from, old, to, new, flags);
}
