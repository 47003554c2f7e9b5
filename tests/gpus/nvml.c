/* A libnvidia-ml.so.1 that says what the file `nvml.state` beside it tells it to say.
 *
 * Its lines: `hang FUNCTION`, `crash FUNCTION`, `code FUNCTION N` (what it returns), `count N`, `KEY VALUE` with keys
 * like gpu0.name, gpu0.slice1.uuid, and `process GPU PID BYTES GPU_INSTANCE COMPUTE_INSTANCE` (BYTES -1: not told).
 * With -DOLD it has only what a driver of the years before MIG had. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { int gpu, slice; } Device;
typedef struct { unsigned pid; unsigned long long bytes; } Process1;
typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu, compute; } Process3;

static Device devices[64][17];

static FILE *state(void) {
    Dl_info where;
    char path[4096];
    dladdr((void *)state, &where);
    snprintf(path, sizeof path - 16, "%s", where.dli_fname);
    strcpy(strrchr(path, '/') + 1, "nvml.state");
    return fopen(path, "r");
}

/* The value behind a key, as text; 0 where there is no such line. */
static int value(const char *key, char *out, int size) {
    FILE *file = state();
    char line[512];
    int found = 0;
    size_t length = strlen(key);
    while (file && !found && fgets(line, sizeof line, file))
        if (!strncmp(line, key, length) && line[length] == ' ') {
            line[strcspn(line, "\n")] = 0;
            snprintf(out, size, "%s", line + length + 1);
            found = 1;
        }
    if (file) fclose(file);
    return found;
}

/* Hang or crash if told to; else the code that this function is told to return. */
static int gate(const char *name) {
    char key[128], text[64];
    FILE *file = state();
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "hang ", 5) && !strcmp(line + 5, name)) for (;;) pause();
        if (!strncmp(line, "crash ", 6) && !strcmp(line + 6, name)) *(volatile int *)0 = 1;
    }
    if (file) fclose(file);
    snprintf(key, sizeof key, "code %s", name);
    return value(key, text, sizeof text) ? atoi(text) : 0;
}
#define GATE do { int code = gate(__func__); if (code) return code; } while (0)

static int about(Device *device, const char *what, char *out, int size) {
    char key[128];
    if (device->slice < 0) snprintf(key, sizeof key, "gpu%d.%s", device->gpu, what);
    else snprintf(key, sizeof key, "gpu%d.slice%d.%s", device->gpu, device->slice, what);
    return value(key, out, size);
}

static int number(Device *device, const char *what, unsigned long long *out) {
    char text[64];
    if (!about(device, what, text, sizeof text)) return 3; /* not supported */
    *out = strtoull(text, 0, 0);
    return 0;
}

static int whole(Device *device, const char *what, unsigned *out) {
    unsigned long long wide = 0;
    int code = number(device, what, &wide);
    if (!code) *out = (unsigned)wide;
    return code;
}

static int text_of(Device *device, const char *what, char *out, unsigned size) {
    return about(device, what, out, (int)size) ? 0 : 3;
}

static int count_of(unsigned *out) {
    char text[64];
    *out = value("count", text, sizeof text) ? (unsigned)atoi(text) : 0;
    return 0;
}

static int handle(unsigned index, Device **out) {
    devices[index][16].gpu = (int)index;
    devices[index][16].slice = -1;
    *out = &devices[index][16];
    return 0;
}

static int listed(Device *device, unsigned *count, void *out, int old) {
    FILE *file = state();
    char line[512];
    unsigned found = 0, room = *count;
    while (file && fgets(line, sizeof line, file)) {
        int gpu;
        Process3 one;
        long long bytes;
        if (sscanf(line, "process %d %u %lld %u %u", &gpu, &one.pid, &bytes, &one.gpu, &one.compute) != 5) continue;
        if (gpu != device->gpu) continue;
        one.bytes = (unsigned long long)bytes;
        if (found < room) {
            if (old) { ((Process1 *)out)[found].pid = one.pid; ((Process1 *)out)[found].bytes = one.bytes; }
            else ((Process3 *)out)[found] = one;
        }
        found++;
    }
    if (file) fclose(file);
    *count = found;
    return found > room ? 7 : 0;
}

int nvmlInit(void) { GATE; return 0; }
int nvmlDeviceGetCount(unsigned *out) { GATE; return count_of(out); }
int nvmlDeviceGetHandleByIndex(unsigned index, Device **out) { GATE; return handle(index, out); }
int nvmlDeviceGetName(Device *d, char *out, unsigned size) { GATE; return text_of(d, "name", out, size); }
int nvmlDeviceGetUUID(Device *d, char *out, unsigned size) { GATE; return text_of(d, "uuid", out, size); }
int nvmlDeviceGetTemperature(Device *d, int sensor, unsigned *out) { GATE; (void)sensor; return whole(d, "celsius", out); }
int nvmlDeviceGetPowerUsage(Device *d, unsigned *out) { GATE; return whole(d, "milliwatts", out); }
int nvmlDeviceGetEnforcedPowerLimit(Device *d, unsigned *out) { GATE; return whole(d, "limit", out); }
int nvmlDeviceGetClockInfo(Device *d, int kind, unsigned *out) { GATE; (void)kind; return whole(d, "mhz", out); }
int nvmlDeviceGetMaxClockInfo(Device *d, int kind, unsigned *out) { GATE; (void)kind; return whole(d, "mhz_most", out); }
int nvmlDeviceGetMemoryInfo(Device *d, unsigned long long *out) {
    GATE;
    int code = number(d, "total", &out[0]);
    if (!code) code = number(d, "used", &out[2]);
    out[1] = out[0] - out[2];
    return code;
}
int nvmlDeviceGetUtilizationRates(Device *d, unsigned *out) { GATE; out[1] = 0; return whole(d, "percent", &out[0]); }
int nvmlDeviceGetComputeRunningProcesses(Device *d, unsigned *count, void *out) { GATE; return listed(d, count, out, 1); }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { GATE; snprintf(out, size, "550.54.15"); return 0; }
int nvmlDeviceGetPciInfo_v2(Device *d, char *out) { GATE; return text_of(d, "pci", out, 16); }

#ifndef OLD
int nvmlInit_v2(void) { GATE; return 0; }
int nvmlDeviceGetCount_v2(unsigned *out) { GATE; return count_of(out); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) { GATE; return handle(index, out); }
int nvmlDeviceGetPciInfo_v3(Device *d, char *out) { GATE; return text_of(d, "pci", out, 16); }
int nvmlDeviceGetMemoryInfo_v2(Device *d, unsigned long long *out) {
    GATE;
    if ((unsigned)out[0] != 0x02000028) return 25; /* another version of the struct */
    int code = number(d, "total", &out[1]);
    if (!code) code = number(d, "used", &out[4]);
    out[2] = 0;
    out[3] = out[1] - out[4];
    return code;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *count, void *out) { GATE; return listed(d, count, out, 0); }
int nvmlDeviceGetCurrentClocksThrottleReasons(Device *d, unsigned long long *out) { GATE; return number(d, "throttle", out); }
int nvmlDeviceGetTotalEccErrors(Device *d, int kind, int since, unsigned long long *out) {
    GATE;
    return kind == 1 && since == 0 ? number(d, "ecc", out) : 2;
}
int nvmlDeviceGetMigMode(Device *d, unsigned *now, unsigned *next) { GATE; *next = 0; return whole(d, "mig", now); }
int nvmlDeviceGetMaxMigDeviceCount(Device *d, unsigned *out) { GATE; (void)d; *out = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, unsigned index, Device **out) {
    char text[96];
    GATE;
    devices[d->gpu][index].gpu = d->gpu;
    devices[d->gpu][index].slice = (int)index;
    *out = &devices[d->gpu][index];
    return about(*out, "uuid", text, sizeof text) ? 0 : 6; /* not found */
}
int nvmlDeviceGetGpuInstanceId(Device *d, unsigned *out) { GATE; return whole(d, "gpu_instance", out); }
int nvmlDeviceGetComputeInstanceId(Device *d, unsigned *out) { GATE; return whole(d, "compute_instance", out); }
#endif
