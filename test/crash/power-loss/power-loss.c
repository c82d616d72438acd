/*
 * Keeps a journal of what a process writes below a directory and has not synced, so that a power cut can be played
 * afterwards: what is written reaches the file at once, as it does in the page cache, and `disk.ts` takes it back.
 *
 *   LD_PRELOAD=power-loss.so POWER_LOSS_DIR=/files POWER_LOSS_JOURNAL=/journal program
 *
 * Everything goes by the strict letter of POSIX: data is safe once its own file was synced, a name once its directory was.
 * Each process has a journal of its own, for one that is killed may leave half an entry; a counter they share tells the
 * order. An entry is written before what it tells of is done, for the process may be killed in between. Nothing is really
 * synced: only the power is lost, never the machine under the test. What is not modelled aborts the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE = 1, TRUNCATE, SYNC, CREATE, UNLINK };

struct entry {
  uint64_t order;
  uint32_t kind;
  uint32_t first;  /* bytes that follow: what stood there, or a path */
  uint32_t second; /* and after them: what is written, or a second path */
  uint32_t unused;
  uint64_t file;
  uint64_t a; /* WRITE: offset. TRUNCATE: new size. CREATE, UNLINK: the directory */
  uint64_t b; /* WRITE, TRUNCATE: size before */
};

static const char *files;
static const char *place;
static int journal = -1;
static uint64_t *counter;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what) {
  dprintf(2, "power-loss: %s is not modelled or failed (%s)\n", what, strerror(errno));
  abort();
}

__attribute__((constructor)) static void begin(void) {
  char path[PATH_MAX];
  files = getenv("POWER_LOSS_DIR");
  place = getenv("POWER_LOSS_JOURNAL");
  if (!files || !place) return;
  snprintf(path, sizeof path, "%s/%d.journal", place, getpid());
  journal = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  snprintf(path, sizeof path, "%s/order", place);
  int shared = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (journal < 0 || shared < 0 || syscall(SYS_ftruncate, shared, sizeof *counter)) fail("opening the journal");
  counter = (void *)syscall(SYS_mmap, NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
  if (counter == MAP_FAILED) fail("sharing the counter");
}

/* Whether a path lies below the directory, or is it. The index that processes share by mapping it is never synced. */
static int is_ours(const char *path) {
  if (journal < 0 || strncmp(path, files, strlen(files)) != 0) return 0;
  size_t length = strlen(path);
  if (length > 4 && strcmp(path + length - 4, "-shm") == 0) return 0;
  return path[strlen(files)] == '/' || path[strlen(files)] == '\0';
}

static int is_open_on_ours(int fd) {
  char link[64], path[PATH_MAX];
  if (journal < 0 || fd < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return is_ours(path);
}

static void note(struct entry entry, const void *first, const void *second) {
  struct iovec parts[] = {{&entry, sizeof entry}, {(void *)first, entry.first}, {(void *)second, entry.second}};
  ssize_t size = sizeof entry + entry.first + entry.second;
  entry.order = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
  if (syscall(SYS_writev, journal, parts, 3) != size) fail("writing the journal");
}

static struct stat stat_of(int fd) {
  struct stat stat;
  if (fstat(fd, &stat)) fail("fstat");
  return stat;
}

static uint64_t directory_of(const char *path) {
  char parent[PATH_MAX];
  struct stat found;
  snprintf(parent, sizeof parent, "%s", path);
  char *slash = strrchr(parent, '/');
  if (!slash) fail("a relative path");
  *slash = '\0';
  if (stat(parent, &found)) fail("stat of a directory");
  return found.st_ino;
}

/* What stands at an offset now; `count` is set to how much. By this descriptor alone: closing another would drop SQLite's locks. */
static void *standing(int fd, uint64_t offset, size_t *count) {
  void *bytes = malloc(*count + 1);
  ssize_t got = bytes && *count > 0 ? syscall(SYS_pread64, fd, bytes, *count, offset) : 0;
  if (!bytes || got < 0) fail("reading what is to be overwritten");
  *count = got;
  return bytes;
}

static ssize_t write_at(int fd, const void *bytes, size_t count, uint64_t offset) {
  struct stat stat = stat_of(fd);
  size_t before = count;
  pthread_mutex_lock(&turn);
  void *old = standing(fd, offset, &before);
  struct entry entry = {.kind = WRITE, .first = before, .second = count};
  entry.file = stat.st_ino;
  entry.a = offset;
  entry.b = stat.st_size;
  note(entry, old, bytes);
  free(old);
  ssize_t done = syscall(SYS_pwrite64, fd, bytes, count, offset);
  pthread_mutex_unlock(&turn);
  return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  if (!is_open_on_ours(fd)) return syscall(SYS_pwrite64, fd, bytes, count, offset);
  return write_at(fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  return pwrite64(fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  if (!is_open_on_ours(fd)) return syscall(SYS_write, fd, bytes, count);
  off_t offset = lseek(fd, 0, SEEK_CUR);
  ssize_t done = write_at(fd, bytes, count, offset);
  if (done > 0) lseek(fd, offset + done, SEEK_SET);
  return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (is_open_on_ours(fd)) fail("writev");
  return syscall(SYS_writev, fd, parts, count);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  if (is_open_on_ours(fd)) fail("pwritev");
  return syscall(SYS_pwritev, fd, parts, count, offset, 0);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return pwritev64(fd, parts, count, offset);
}

int ftruncate64(int fd, off64_t size) {
  if (!is_open_on_ours(fd)) return syscall(SYS_ftruncate, fd, size);
  struct stat stat = stat_of(fd);
  size_t cut = stat.st_size > size ? stat.st_size - size : 0;
  pthread_mutex_lock(&turn);
  void *old = standing(fd, size, &cut);
  struct entry entry = {.kind = TRUNCATE, .first = cut};
  entry.file = stat.st_ino;
  entry.a = size;
  entry.b = stat.st_size;
  note(entry, old, NULL);
  free(old);
  int done = syscall(SYS_ftruncate, fd, size);
  pthread_mutex_unlock(&turn);
  return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int synced(int fd, long call) {
  if (!is_open_on_ours(fd)) return syscall(call, fd);
  struct entry entry = {.kind = SYNC};
  entry.file = stat_of(fd).st_ino;
  pthread_mutex_lock(&turn);
  note(entry, NULL, NULL);
  pthread_mutex_unlock(&turn);
  return 0;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }

int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

static void note_created(const char *path) {
  struct stat made;
  if (stat(path, &made)) fail("stat of what was created");
  struct entry entry = {.kind = CREATE, .first = strlen(path)};
  entry.file = made.st_ino;
  entry.a = directory_of(path);
  note(entry, path, NULL);
}

/* The one entry that comes after what it tells of, as only then it has a number. A name more than there should be is empty. */
static int opened(int at, const char *path, int flags, mode_t mode) {
  struct stat found;
  if (!(flags & O_CREAT) || !is_ours(path)) return syscall(SYS_openat, at, path, flags, mode);
  int existed = stat(path, &found) == 0;
  if (existed && (flags & O_TRUNC) && found.st_size > 0 && !(flags & O_EXCL)) fail("O_TRUNC");
  int fd = syscall(SYS_openat, at, path, flags, mode);
  if (fd >= 0 && !existed) note_created(path);
  return fd;
}

#define MODE_OF(flags)                                    \
  mode_t mode = 0;                                        \
  if ((flags) & (O_CREAT | O_TMPFILE)) {                  \
    va_list more;                                         \
    va_start(more, flags);                                \
    mode = va_arg(more, mode_t);                          \
    va_end(more);                                         \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(at, path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
  int done = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  if (done == 0 && is_ours(path)) note_created(path);
  return done;
}

/* What is unlinked is put aside: its name comes back if its directory was not synced. */
int unlink(const char *path) {
  char grave[PATH_MAX];
  struct stat found;
  if (!is_ours(path) || stat(path, &found)) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  pthread_mutex_lock(&turn);
  snprintf(grave, sizeof grave, "%s/%lu-%lu.unlinked", place, (unsigned long)found.st_ino, (unsigned long)*counter);
  struct entry entry = {.kind = UNLINK, .first = strlen(path), .second = strlen(grave)};
  entry.file = found.st_ino;
  entry.a = directory_of(path);
  note(entry, path, grave);
  int done = syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, grave, 0);
  pthread_mutex_unlock(&turn);
  return done;
}

int rename(const char *from, const char *to) {
  if (is_ours(from) || is_ours(to)) fail("rename");
  return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  if ((protection & PROT_WRITE) && (flags & MAP_SHARED) && is_open_on_ours(fd)) fail("a writable mapping");
  return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap64(at, length, protection, flags, fd, offset);
}
