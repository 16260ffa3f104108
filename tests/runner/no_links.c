/* A file system that has no links and cannot refuse to replace. Loaded before the C library by LD_PRELOAD, also into the
   processes that a sweep starts. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    errno = EPERM;
    return -1;
}

int link(const char *old, const char *new)
{
    errno = EPERM;
    return -1;
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    if (flags) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_renameat2, from, old, to, new, flags);
}
