/* One fault in a command: the n-th call of a function on a file below a folder fails. Loaded before the C library by
   LD_PRELOAD, also into the processes that the command starts, which count together in a shared file.

   FAULT_FOLDER: the folder. FAULT_COUNTS: the shared file, one 32-bit count per function, in the order of `names`, and
   one that is 1 once the fault was injected. FAULT: "function n errno after"; without it the calls are only counted.
   after: 1 if the call takes place and then reports an error, as on a network file system. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPEN, READ, WRITE, FSYNC, CLOSE, RENAME, LINK, MKDIR, UNLINK, LIST, STAT, FUNCTIONS };
static const char *names[] = {"open", "read", "write", "fsync", "close", "rename", "link", "mkdir", "unlink", "list", "stat"};

static int *counts(void)
{
    static int *shared;
    const char *path = getenv("FAULT_COUNTS");
    if (!shared && path) {
        int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
        void *map = file < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file >= 0)
            syscall(SYS_close, file);
        if (map != MAP_FAILED)
            shared = map;
    }
    return path ? shared : NULL;
}

static int below(const char *path)
{
    const char *folder = getenv("FAULT_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

/* Returns 1 if this call is to fail, with its error number in *number and whether it takes place before in *after. */
static int hit(int function, const char *path, int *number, int *after)
{
    char name[16];
    const char *fault = getenv("FAULT");
    int which = 0, *shared = below(path) ? counts() : NULL, count, saved = errno;
    if (!shared)
        return 0;
    count = __atomic_add_fetch(&shared[function], 1, __ATOMIC_SEQ_CST);
    if (!fault || sscanf(fault, "%15s %d %d %d", name, &which, number, after) != 4)
        return 0;
    if (strcmp(name, names[function]) || which != count)
        return 0;
    shared[FUNCTIONS] = 1;
    errno = saved;
    return 1;
}

static int fails(int function, const char *path, int *number, int *after)
{
    *number = *after = 0;
    return hit(function, path, number, after);
}

static int fd_fails(int function, int file, int *number, int *after)
{
    char link[64], path[4096];
    int saved = errno, size;
    *number = *after = 0;
    if (!getenv("FAULT_COUNTS"))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = saved;
    if (size < 0)
        return 0;
    path[size] = 0;
    return fails(function, path, number, after);
}

#define NEXT(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

#define FAIL_OR(call)                                                                                                  \
    if (!failing)                                                                                                      \
        return call;                                                                                                   \
    if (after)                                                                                                         \
        (void)!call;                                                                                                   \
    errno = number;                                                                                                    \
    return -1

static int opened(const char *name, int folder, const char *path, int flags, mode_t mode)
{
    int number, after, failing = fails(OPEN, path, &number, &after);
    (void)name;
    if (failing) {
        errno = number;
        return -1;
    }
    return syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE                                                                                                           \
    mode_t mode = 0;                                                                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                               \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode = va_arg(more, mode_t);                                                                                   \
        va_end(more);                                                                                                  \
    }

int open(const char *path, int flags, ...) { MODE return opened("open", AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened("open64", AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return opened("openat", folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return opened("openat64", folder, path, flags, mode); }

ssize_t read(int file, void *data, size_t size)
{
    int number, after, failing = fd_fails(READ, file, &number, &after);
    FAIL_OR(syscall(SYS_read, file, data, size));
}

ssize_t write(int file, const void *data, size_t size)
{
    int number, after, failing = fd_fails(WRITE, file, &number, &after);
    FAIL_OR(syscall(SYS_write, file, data, failing && after ? size / 2 : size));
}

int fsync(int file)
{
    int number, after, failing = fd_fails(FSYNC, file, &number, &after);
    FAIL_OR(syscall(SYS_fsync, file));
}

int close(int file)
{
    int number, after, failing = fd_fails(CLOSE, file, &number, &after);
    after = 1; /* Linux closes the descriptor whatever it returns */
    FAIL_OR(syscall(SYS_close, file));
}

int rename(const char *old, const char *new)
{
    int number, after, failing = fails(RENAME, new, &number, &after);
    FAIL_OR(syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0));
}

int link(const char *old, const char *new)
{
    int number, after, failing = fails(LINK, new, &number, &after);
    FAIL_OR(syscall(SYS_linkat, AT_FDCWD, old, AT_FDCWD, new, 0));
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    int number, after, failing = fails(LINK, new, &number, &after);
    FAIL_OR(syscall(SYS_linkat, from, old, to, new, flags));
}

int mkdir(const char *path, mode_t mode)
{
    int number, after, failing = fails(MKDIR, path, &number, &after);
    FAIL_OR(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int unlink(const char *path)
{
    int number, after, failing = fails(UNLINK, path, &number, &after);
    FAIL_OR(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int stat(const char *restrict path, struct stat *restrict found)
{
    int number, after, failing = fails(STAT, path, &number, &after);
    FAIL_OR(syscall(SYS_newfstatat, AT_FDCWD, path, found, 0));
}

int stat64(const char *restrict path, struct stat64 *restrict found) { return stat(path, (struct stat *)found); }

DIR *opendir(const char *path)
{
    int number, after;
    if (fails(LIST, path, &number, &after)) {
        errno = number;
        return NULL;
    }
    return NEXT(DIR *, "opendir", const char *)(path);
}
