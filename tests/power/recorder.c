/* Records what a process does to the files below RECORD_ROOT: LD_PRELOAD=recorder.so.

Each operation is one line of JSON's kin in RECORD_LOG, its bytes after it. It is logged once it has
succeeded and before its caller goes on. RECORD_FAIL="ledger.sqlite-wal 3" makes the third fsync of
a file with that ending fail with EIO, as a broken disk does: the bytes stay in the page cache.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 4096
#define REAL(name) ((__typeof__(&name))real(#name))

static char *paths[MOST];
static char root[PATH_MAX];
static int log_file = -1;
static long left_to_fail = -1;
static char failing[256];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  const char *where = getenv("RECORD_ROOT"), *log = getenv("RECORD_LOG");
  const char *fail = getenv("RECORD_FAIL");
  if (!where || !log) return;
  snprintf(root, sizeof root, "%s", where);
  int file = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  log_file = fcntl(file, F_DUPFD_CLOEXEC, 900);
  REAL(close)(file);
  if (fail) sscanf(fail, "%255s %ld", failing, &left_to_fail);
}

static int is_below(const char *path) {
  size_t length = strlen(root);
  return log_file >= 0 && path && !strncmp(path, root, length) && path[length] == '/';
}

static void absolute(int folder, const char *path, char *to) {
  char base[PATH_MAX] = "";
  if (path[0] != '/') {
    if (folder == AT_FDCWD) {
      if (!getcwd(base, sizeof base)) base[0] = 0;
    } else if (folder >= 0 && folder < MOST && paths[folder]) {
      snprintf(base, sizeof base, "%s", paths[folder]);
    }
    snprintf(to, PATH_MAX, "%.2000s/%.2000s", base, path);
  } else {
    snprintf(to, PATH_MAX, "%s", path);
  }
}

/* One record: pid, what, inode, offset, size, path, other path; then so many bytes. */
static void note(const char *what, unsigned long inode, long at, long size, const char *path,
                 const char *other, const void *bytes) {
  char head[3 * PATH_MAX];
  int length = snprintf(head, sizeof head, "%d\t%s\t%lu\t%ld\t%ld\t%s\t%s\n", (int)getpid(), what,
                        inode, at, size, path ? path + strlen(root) : "",
                        other ? other + strlen(root) : "");
  struct iovec parts[2] = {{head, (size_t)length}, {(void *)bytes, bytes ? (size_t)size : 0}};
  if (REAL(writev)(log_file, parts, 2) < 0) abort();
}

static unsigned long inode_of(int file) {
  struct stat found;
  return fstat(file, &found) ? 0 : (unsigned long)found.st_ino;
}

static const char *path_of(int file) {
  return file >= 0 && file < MOST && log_file >= 0 ? paths[file] : NULL;
}

static int opened(int folder, const char *path, int flags, mode_t mode) {
  char whole[PATH_MAX];
  int saved;
  absolute(folder, path, whole);
  if (!is_below(whole) && strcmp(whole, root)) return REAL(openat)(folder, path, flags, mode);
  pthread_mutex_lock(&mutex);
  int is_new = (flags & O_CREAT) && REAL(faccessat)(folder, path, F_OK, 0) != 0;
  int file = REAL(openat)(folder, path, flags, mode);
  saved = errno;
  if (file >= 0 && file < MOST) {
    free(paths[file]);
    paths[file] = strdup(whole);
    if (is_new) note("create", inode_of(file), 0, 0, whole, NULL, NULL);
    else if (flags & O_TRUNC) note("truncate", inode_of(file), 0, 0, whole, NULL, NULL);
  }
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return file;
}

#define MODE                      \
  mode_t mode = 0;                \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list list;                 \
    va_start(list, flags);        \
    mode = va_arg(list, mode_t);  \
    va_end(list);                 \
  }

int open(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) {
  MODE return log_file < 0 ? REAL(openat)(folder, path, flags, mode)
                           : opened(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE return log_file < 0 ? REAL(openat64)(folder, path, flags, mode)
                           : opened(folder, path, flags, mode);
}

int close(int file) {
  const char *path = path_of(file);
  if (path) {
    size_t length = strlen(path);
    pthread_mutex_lock(&mutex);
    if (length > 5 && !strcmp(path + length - 5, ".lock"))
      note("unlock", inode_of(file), 0, 0, path, NULL, NULL);
    free(paths[file]);
    paths[file] = NULL;
    pthread_mutex_unlock(&mutex);
  }
  return REAL(close)(file);
}

static ssize_t written(int file, const void *bytes, size_t size, off_t at, int is_at) {
  const char *path = path_of(file);
  if (!path) return is_at ? REAL(pwrite)(file, bytes, size, at) : REAL(write)(file, bytes, size);
  pthread_mutex_lock(&mutex);
  ssize_t done = is_at ? REAL(pwrite)(file, bytes, size, at) : REAL(write)(file, bytes, size);
  int saved = errno;
  if (done >= 0) {
    off_t from = is_at ? at : lseek(file, 0, SEEK_CUR) - done;
    note("write", inode_of(file), (long)from, (long)done, path, NULL, bytes);
  }
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return done;
}

ssize_t write(int file, const void *bytes, size_t size) {
  return written(file, bytes, size, 0, 0);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  return written(file, bytes, size, at, 1);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  return written(file, bytes, size, at, 1);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  if (!path_of(file)) return REAL(writev)(file, parts, count);
  ssize_t done = 0;
  for (int i = 0; i < count; i++) {
    ssize_t one = written(file, parts[i].iov_base, parts[i].iov_len, 0, 0);
    if (one < 0) return done ? done : one;
    done += one;
  }
  return done;
}

static int cut(int file, off_t size) {
  const char *path = path_of(file);
  if (!path) return REAL(ftruncate)(file, size);
  pthread_mutex_lock(&mutex);
  int result = REAL(ftruncate)(file, size), saved = errno;
  if (!result) note("truncate", inode_of(file), (long)size, 0, path, NULL, NULL);
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return result;
}
int ftruncate(int file, off_t size) { return cut(file, size); }
int ftruncate64(int file, off64_t size) { return cut(file, size); }

static int synced(int file, int is_data) {
  const char *path = path_of(file);
  if (!path) return is_data ? REAL(fdatasync)(file) : REAL(fsync)(file);
  pthread_mutex_lock(&mutex);
  size_t length = strlen(path), ending = strlen(failing);
  int fails = left_to_fail > 0 && length >= ending && !strcmp(path + length - ending, failing) &&
              --left_to_fail == 0;
  int result = fails ? -1 : is_data ? REAL(fdatasync)(file) : REAL(fsync)(file);
  int saved = fails ? EIO : errno;
  note(fails ? "unsynced" : "sync", inode_of(file), 0, 0, path, NULL, NULL);
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return result;
}
int fsync(int file) { return synced(file, 0); }
int fdatasync(int file) { return synced(file, 1); }

int flock(int file, int how) {
  const char *path = path_of(file);
  int result = REAL(flock)(file, how);
  if (path && !result) {
    int saved = errno;
    note("flock", inode_of(file), how, 0, path, NULL, NULL);
    errno = saved;
  }
  return result;
}

static int moved(int from_folder, const char *from, int to_folder, const char *to, unsigned how) {
  char old[PATH_MAX], new[PATH_MAX];
  absolute(from_folder, from, old);
  absolute(to_folder, to, new);
  if (!is_below(old) || !is_below(new)) return REAL(renameat2)(from_folder, from, to_folder, to, how);
  pthread_mutex_lock(&mutex);
  int result = REAL(renameat2)(from_folder, from, to_folder, to, how), saved = errno;
  if (!result) note("rename", 0, 0, 0, old, new, NULL);
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return result;
}
int rename(const char *from, const char *to) { return moved(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return moved(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned how) {
  return moved(a, from, b, to, how);
}

static int removed(int folder, const char *path, int flags) {
  char whole[PATH_MAX];
  absolute(folder, path, whole);
  if (!is_below(whole)) return REAL(unlinkat)(folder, path, flags);
  pthread_mutex_lock(&mutex);
  int result = REAL(unlinkat)(folder, path, flags), saved = errno;
  if (!result) note("remove", 0, 0, 0, whole, NULL, NULL);
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return result;
}
int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return removed(folder, path, flags); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t mode) {
  char whole[PATH_MAX];
  absolute(folder, path, whole);
  if (!is_below(whole)) return REAL(mkdirat)(folder, path, mode);
  pthread_mutex_lock(&mutex);
  int result = REAL(mkdirat)(folder, path, mode), saved = errno;
  if (!result) {
    struct stat found;
    stat(whole, &found);
    note("mkdir", (unsigned long)found.st_ino, 0, 0, whole, NULL, NULL);
  }
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return result;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
