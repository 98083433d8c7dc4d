/* A driver that answers as the environment says, to test what the library makes of drivers that are old or broken.
   It lacks most functions on purpose. */
#include <stdlib.h>

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int cuInit(unsigned flags) { (void)flags; return number("FAKE_INIT", 0); }
int cuDriverGetVersion(int *version) { *version = number("FAKE_VERSION", 13000); return 0; }
int cuDeviceGetCount(int *count) { *count = number("FAKE_COUNT", 1); return 0; }

/* NVTX: each call is a line on the standard output. */
#include <stdio.h>

static unsigned long long ranges;

unsigned long long nvtxRangeStartA(const char *name) {
    printf("start %s %llu\n", name, ++ranges);
    fflush(stdout);
    return ranges;
}

void nvtxRangeEnd(unsigned long long number) {
    printf("end %llu\n", number);
    fflush(stdout);
}

void nvtxNameCuStreamA(void *stream, const char *name) {
    printf("stream %s%s\n", name, stream ? "" : " of none");
    fflush(stdout);
}

void nvtxMarkA(const char *name) {
    printf("mark %s\n", name);
    fflush(stdout);
}
