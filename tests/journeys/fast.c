/* The sped-up clock of the journeys: preloaded into every process of one (see fast.py).
 *
 * The test keeps a table of stretches (from when, how many times as fast) in a file that all of them map. Clocks and the
 * times of files are read through it; waits are cut into short real ones, so that a change of pace reaches who waits
 * already. Until the first stretch everything is real. usleep stays real: SQLite waits for a lock with it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define SLICE (20 * 1000000LL) /* the longest real wait in one go */
#define LEAST 200000LL         /* the shortest: a wait that is not over is never spun through */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct stretch {
    int64_t from;  /* CLOCK_BOOTTIME, ns */
    int64_t extra; /* how far ahead the fast clock is by then, ns */
    int64_t rate;
};
/* ROWS and PIDS as in fast.py */
#define ROWS 50000
#define PIDS 5000
static struct table {
    int64_t count, joined;
    struct stretch rows[ROWS];
    int64_t pids[PIDS]; /* everybody who lives by this clock */
} *table;
static char preload[600], file[600];

static void join(void) {
    int64_t place = __atomic_fetch_add(&table->joined, 1, __ATOMIC_ACQ_REL);
    if (place < PIDS) __atomic_store_n(&table->pids[place], getpid(), __ATOMIC_RELEASE);
}
__attribute__((constructor)) static void open_table(void) {
    const char *path = getenv("FAST_CLOCK"), *own = getenv("LD_PRELOAD");
    if (!path || !own) return;
    strcpy(stpcpy(preload, "LD_PRELOAD="), own);
    strcpy(stpcpy(file, "FAST_CLOCK="), path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return;
    table = at;
    join();
    pthread_atfork(NULL, NULL, join);
}

static int64_t ns(const struct timespec *t) { return t->tv_sec * SECOND + t->tv_nsec; }
static struct timespec spec(int64_t t) { return (struct timespec){t / SECOND, t % SECOND}; }
static int64_t real(clockid_t clock) {
    struct timespec t;
    syscall(SYS_clock_gettime, clock, &t);
    return ns(&t);
}

/* How far ahead the fast clock is at the real moment `at`. */
static int64_t extra(int64_t at) {
    int64_t low = 0, high = table ? __atomic_load_n(&table->count, __ATOMIC_ACQUIRE) : 0;
    if (!high || at < table->rows[0].from) return 0;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (at >= table->rows[middle].from) low = middle;
        else high = middle;
    }
    const struct stretch *s = &table->rows[low];
    return s->extra + (at - s->from) * (s->rate - 1);
}
static int64_t rate(void) {
    int64_t n = table ? __atomic_load_n(&table->count, __ATOMIC_ACQUIRE) : 0;
    return n ? table->rows[n - 1].rate : 1;
}
static int64_t fast(clockid_t clock) { return real(clock) + extra(real(CLOCK_BOOTTIME)); }
static int64_t slice(int64_t left) {
    int64_t part = left / rate();
    return part > SLICE ? SLICE : part < LEAST ? LEAST : part;
}

static int is_ours(clockid_t c) {
    return c == CLOCK_REALTIME || c == CLOCK_MONOTONIC || c == CLOCK_BOOTTIME || c == CLOCK_MONOTONIC_RAW ||
           c == CLOCK_REALTIME_COARSE || c == CLOCK_MONOTONIC_COARSE;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    long failed = syscall(SYS_clock_gettime, clock, t);
    if (!failed && is_ours(clock)) *t = spec(ns(t) + extra(real(CLOCK_BOOTTIME)));
    return failed;
}
int gettimeofday(struct timeval *t, void *zone) {
    (void)zone;
    int64_t now = fast(CLOCK_REALTIME);
    t->tv_sec = now / SECOND, t->tv_usec = now % SECOND / 1000;
    return 0;
}
time_t time(time_t *t) {
    time_t now = fast(CLOCK_REALTIME) / SECOND;
    if (t) *t = now;
    return now;
}

/* Waits. */

static int64_t deadline(const struct timespec *timeout) { return timeout ? fast(CLOCK_BOOTTIME) + ns(timeout) : -1; }
static int64_t left(int64_t until) { return until - fast(CLOCK_BOOTTIME); }

int nanosleep(const struct timespec *time, struct timespec *rest) {
    int64_t until = deadline(time), part;
    while ((part = left(until)) > 0) {
        struct timespec t = spec(slice(part));
        if (syscall(SYS_nanosleep, &t, NULL)) {
            if (rest) *rest = spec(left(until) > 0 ? left(until) : 0);
            return -1;
        }
    }
    return 0;
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest) {
    struct timespec t = *time;
    if (flags & TIMER_ABSTIME) {
        int64_t part = ns(time) - fast(clock);
        t = spec(part > 0 ? part : 0);
        rest = NULL;
    }
    return nanosleep(&t, rest) ? errno : 0;
}
unsigned sleep(unsigned seconds) {
    struct timespec t = {seconds, 0}, rest = {0, 0};
    return nanosleep(&t, &rest) ? rest.tv_sec : 0;
}
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask) {
    int64_t until = deadline(timeout), part = 0;
    for (;;) {
        part = timeout ? left(until) : SLICE * 1000;
        struct timespec t = part > 0 ? spec(slice(part)) : spec(0);
        int found = syscall(SYS_ppoll, fds, n, timeout ? &t : NULL, mask, 8);
        if (found || part <= 0) return found;
    }
}
int poll(struct pollfd *fds, nfds_t n, int timeout) {
    struct timespec t = spec(timeout * 1000000LL);
    return ppoll(fds, n, timeout < 0 ? NULL : &t, NULL);
}
int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout) {
    struct timespec whole = {timeout ? timeout->tv_sec : 0, timeout ? timeout->tv_usec * 1000 : 0};
    size_t size = (n + 63) / 64 * 8;
    fd_set asked[3], *sets[3] = {r, w, e};
    for (int i = 0; i < 3; i++)
        if (sets[i]) memcpy(&asked[i], sets[i], size);
    int64_t until = deadline(timeout ? &whole : NULL);
    for (;;) {
        int64_t part = timeout ? left(until) : 1;
        struct timespec t = part > 0 ? spec(slice(part)) : spec(0);
        int found = syscall(SYS_pselect6, n, r, w, e, timeout ? &t : NULL, NULL);
        if (found || part <= 0) return found;
        for (int i = 0; i < 3; i++)
            if (sets[i]) memcpy(sets[i], &asked[i], size);
    }
}
int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask) {
    struct timespec whole = spec(timeout * 1000000LL);
    int64_t until = deadline(timeout < 0 ? NULL : &whole);
    for (;;) {
        int64_t part = timeout < 0 ? 0 : left(until);
        int wait = timeout < 0 ? -1 : part > 0 ? (slice(part) + 999999) / 1000000 : 0;
        int found = syscall(SYS_epoll_pwait, fd, events, most, wait, mask, 8);
        if (found || part <= 0) return found;
    }
}
int epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
    return epoll_pwait(fd, events, most, timeout, NULL);
}
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until) {
    __typeof__(&sem_clockwait) wait = REAL(sem_clockwait);
    for (;;) {
        int64_t part = ns(until) - fast(clock);
        struct timespec t = spec(real(CLOCK_MONOTONIC) + (part > 0 ? slice(part) : 0));
        if (!wait(sem, CLOCK_MONOTONIC, &t)) return 0;
        if (errno != ETIMEDOUT || part <= 0) return -1;
    }
}
int sem_timedwait(sem_t *sem, const struct timespec *until) { return sem_clockwait(sem, CLOCK_REALTIME, until); }

/* A wait that was cut short looks like a spurious wake-up, which whoever waits for a condition expects. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    clockid_t clock = until->tv_sec > 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC; /* the condition does not tell */
    int64_t part = ns(until) - fast(clock);
    struct timespec t = spec(real(clock) + (part > 0 ? slice(part) : 0));
    static __typeof__(&pthread_cond_timedwait) wait;
    if (!wait) wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2"); /* there is an older one besides */
    if (!wait) wait = REAL(pthread_cond_timedwait);
    int why = wait(cond, mutex, &t);
    return why == ETIMEDOUT && ns(until) > fast(clock) ? 0 : why;
}

/* The times of files: the kernel writes real ones. */

static int64_t ahead(void) { return real(CLOCK_REALTIME) - real(CLOCK_BOOTTIME); }
static struct timespec forth(struct timespec t) { return spec(ns(&t) + extra(ns(&t) - ahead())); }
static struct timespec back(struct timespec t) {
    if (t.tv_nsec == UTIME_NOW || t.tv_nsec == UTIME_OMIT) return t;
    int64_t at = ns(&t) - ahead();
    for (int64_t i = table ? table->count - 1 : -1; i >= 0; i--) {
        const struct stretch *s = &table->rows[i];
        int64_t past = at - (s->from + s->extra);
        if (past >= 0) return spec(s->from + past / s->rate + ahead());
    }
    return t;
}
static int seen(int failed, struct stat *s) {
    if (!failed) s->st_mtim = forth(s->st_mtim), s->st_ctim = forth(s->st_ctim), s->st_atim = forth(s->st_atim);
    return failed;
}
#define SEEN(name, params, ...) \
    int name params { return seen(REAL(name)(__VA_ARGS__), (struct stat *)s); }
SEEN(stat, (const char *path, struct stat *s), path, s)
SEEN(lstat, (const char *path, struct stat *s), path, s)
SEEN(fstat, (int fd, struct stat *s), fd, s)
SEEN(fstatat, (int fd, const char *path, struct stat *s, int flags), fd, path, s, flags)
SEEN(stat64, (const char *path, struct stat64 *s), path, s)
SEEN(lstat64, (const char *path, struct stat64 *s), path, s)
SEEN(fstat64, (int fd, struct stat64 *s), fd, s)
SEEN(fstatat64, (int fd, const char *path, struct stat64 *s, int flags), fd, path, s, flags)
static int set_times(int fd, const char *path, const struct timespec t[2], int flags) {
    struct timespec both[2];
    if (t) both[0] = back(t[0]), both[1] = back(t[1]);
    return syscall(SYS_utimensat, fd, path, t ? both : NULL, flags);
}
int utimensat(int fd, const char *path, const struct timespec t[2], int flags) { return set_times(fd, path, t, flags); }
int futimens(int fd, const struct timespec t[2]) { return set_times(fd, NULL, t, 0); }

/* Children: the probe is started with an environment of its own. */

#define WITH_CLOCK(env) \
    int count = 0, has = !*preload; \
    for (; env && env[count]; count++) has |= !strncmp(env[count], "FAST_CLOCK=", 11); \
    char *more[count + 3]; \
    if (count) memcpy(more, env, count * sizeof *more); \
    more[count] = has ? NULL : preload, more[count + 1] = has ? NULL : file, more[count + 2] = NULL;

int execve(const char *path, char *const argv[], char *const env[]) {
    WITH_CLOCK(env)
    return syscall(SYS_execve, path, argv, more);
}
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                char *const argv[], char *const env[]) {
    WITH_CLOCK(env)
    return REAL(posix_spawn)(pid, path, actions, attr, argv, more);
}
