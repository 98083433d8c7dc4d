// Runs the self-test of the emulated device's headers with a driver of one thread: `driver MODULE.so MODE`, where MODE is what
// the module was compiled with: plain, checked (accesses and alignment) or undefined (all checks).
//
// selftest.sh beside this file compiles the module in each mode and runs this.
#include "../abi.h"
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

using namespace gpu_emulated;

// What digests.cu gives on an H200 (nvcc 13.0, sm_90).
static const unsigned long long DIGESTS[] = {
    0xecd9786eeb0a4383ull, 0xaa5d9147dc530383ull, 0x7e19b4526ffd4e9bull, 0xedf700bc37490f60ull, 0x6b239ac8640ba73aull,
    0x0afbc57e66f88a11ull, 0x022e07cdd9202bf5ull, 0xf62ab5a64d836b18ull, 0x5da999269d83c6adull, 0x5b9dc8a9c5621ce9ull,
    0x82ed68ef02424025ull, 0xb10c5f27d1815fb2ull, 0xa3dca2371419bf39ull, 0x7df816148989bc9bull, 0x9df3d843c28d50b4ull,
    0xdb74a577bf04d38eull, 0x7d7bf95d0269b998ull, 0x91c76ff3de7541faull, 0x1f554c1cba69ea0dull, 0xb00305a3edfa7577ull,
    0x80382b9abe8d483dull, 0x95ce813f2e7ec507ull, 0x3eaf7790c26b90ffull, 0x038cbacaeb68fbc3ull};
constexpr unsigned GROUPS = sizeof DIGESTS / sizeof *DIGESTS;

struct Access {
    const void *address;
    unsigned long bytes;
    unsigned kind;
};
static std::vector<Access> accesses;
static std::string printed, fault_text, fault_file;
static unsigned fault_line, entered, ticks, slots;
static jmp_buf end_of_launch;
alignas(64) static unsigned char arena[1 << 16], dynamic_arena[1 << 12], memory[256];
static unsigned long arena_used[64], arena_end = 0;
static const Module *module;
static int failed;

[[noreturn]] static void end(std::string text, const char *file, unsigned line) {
    fault_text = text;
    fault_file = file;
    fault_line = line;
    longjmp(end_of_launch, 1);
}

static Runtime runtime() {
    Runtime r = {};
    r.access = [](const void *address, unsigned long bytes, unsigned kind, const void *) {
        if (address >= memory && address < memory + sizeof memory) accesses.push_back({address, bytes, kind});
    };
    r.atomic = [](const void *address, unsigned long bytes, const char *, unsigned line) {
        if ((unsigned long)address % bytes != 0 || line == 0) end("misaligned atomic", "", line);
    };
    r.barrier = [](unsigned, int predicate, const char *, const char *, unsigned) { return predicate; };
    r.warp = [](unsigned kind, unsigned mask, unsigned long long value, unsigned, unsigned, const char *, const char *,
                unsigned) -> unsigned long long { return kind == MATCH_ANY || kind == MATCH_ALL ? mask : value; };
    r.active_mask = [](const char *, unsigned) { return 1u; };
    r.shared_static = [](unsigned *slot, unsigned long bytes, unsigned long alignment, const char *, const char *,
                         unsigned) -> void * {
        if (*slot == 0) {
            *slot = ++slots;
            arena_used[*slot] = (arena_end + alignment - 1) / alignment * alignment;
            arena_end = arena_used[*slot] + bytes;
        }
        return arena + arena_used[*slot];
    };
    r.shared_dynamic = []() -> void * { return dynamic_arena; };
    r.shared_dynamic_bytes = []() { return (unsigned)sizeof dynamic_arena; };
    r.fence = [](unsigned, const char *, unsigned) {};
    r.clock = [](unsigned) { return 12345ull; };
    r.nanosleep = [](unsigned) {};
    r.tick = [](const void *) { ticks++, *module->budget = 1000; };
    r.enter = [](unsigned max_threads, unsigned min_blocks) { entered = max_threads * 100 + min_blocks; };
    r.trap = [](const char *file, unsigned line) { end("trap", file, line); };
    r.assert_failed = [](const char *expression, const char *, const char *file, unsigned line) {
        end(std::string("assert ") + expression, file, line);
    };
    r.undefined = [](const char *what, const char *file, unsigned line, unsigned, const void *) { end(what, file, line); };
    r.misaligned = [](const void *, unsigned long alignment, unsigned kind, const char *type, const char *file, unsigned line) {
        end("misaligned " + std::string(type) + " " + std::to_string(alignment) + (kind == WRITE ? " write" : " read"), file, line);
    };
    r.print = [](const char *text, unsigned long bytes) { printed.append(text, bytes); };
    return r;
}

static void expect(bool holds, const char *what) {
    if (holds) return;
    failed++;
    printf("failed: %s\n", what);
}

// Runs a kernel; false where a fault ended it.
static bool launch(const char *name, std::vector<void *> arguments) {
    for (unsigned i = 0; i < module->kernel_count; i++) {
        const Kernel &kernel = module->kernels[i];
        if (strcmp(kernel.name, name) != 0) continue;
        expect(kernel.count == arguments.size(), name);
        if (setjmp(end_of_launch)) return false;
        kernel.run(arguments.data());
        return true;
    }
    expect(false, name);
    return false;
}

static void check(const char *name, bool with_memory, unsigned enter) {
    unsigned long long failures[2] = {0, 0}, *address = failures;
    void *place = memory;
    std::vector<void *> arguments = {&address};
    if (with_memory) arguments.push_back(&place);
    entered = ~0u;
    bool ended = launch(name, arguments);
    if (!ended) printf("%s:%u: %s\n", fault_file.c_str(), fault_line, fault_text.c_str());
    if (failures[0]) printf("%s: %llu failures, the last in line %llu\n", name, failures[0], failures[1]);
    expect(ended && failures[0] == 0 && entered == enter, name);
}

static void check_fault(unsigned kind, const char *text) {
    int *place = (int *)memory, shift = 40, zero = 0;
    unsigned want = 0, *line = &want;
    expect(!launch("fault", {&kind, &place, &line, &shift, &zero}), text);
    bool same = strncmp(fault_text.c_str(), text, strlen(text)) == 0 && fault_line == want &&
                fault_file.find("selftest.cu") != std::string::npos;
    if (!same) printf("%s:%u (want line %u): %s\n", fault_file.c_str(), fault_line, want, fault_text.c_str());
    expect(same, text);
}

static bool seen(const void *address, unsigned long bytes, unsigned kind) {
    for (const Access &a : accesses) {
        if (a.address == address && a.bytes == bytes && a.kind == kind) return true;
    }
    return false;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    std::string mode = words[2];
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return puts(dlerror()), 2;
    module = (const Module *)dlsym(library, "gpu_emulated_module");
    expect(module && module->version == VERSION, "version");
    Runtime table = runtime();
    *module->runtime = &table;
    *module->budget = 1;
    expect(module->grid_size->z == 1, "the grid's size is 1 at load");

    unsigned long long digests[GROUPS], *place = digests;
    expect(launch("digests", {&place}), "digests");
    for (unsigned i = 0; i < GROUPS; i++) {
        if (digests[i] != DIGESTS[i]) printf("group %u of digests.cu differs\n", i), failed++;
    }
    expect((ticks > 1000) == (mode != "none"), "ticks");
    check("check_shared", false, 0);
    check("check_atomics", true, 100);
    check("check_memory", true, 102);
    expect(printed == "1 x%\nhi\n", "printf");
    check("check_warp", false, 12800);
    check("check_math", false, 0);

    expect(launch("nothing", {}), "nothing");
    struct {
        char tag;
        double value;
    } mixed = {'d', 4.5};
    char a = 'a';
    double b = 2.5;
    // An address that is not a multiple of the type's alignment.
    alignas(16) char room[20];
    float c[4] = {1, 2, 3, 4};
    memcpy(room + 4, c, sizeof c);
    unsigned long long failures[2] = {0, 0}, *failures_address = failures;
    expect(launch("arguments", {&a, &b, room + 4, &mixed, &failures_address}) && failures[0] == 0, "arguments");

    float *x = (float *)memory, *y = x + 8;
    accesses.clear();
    launch("accesses", {&x});
    bool checked = mode != "plain";
    expect((accesses.size() == 2) == checked && (!checked || (seen(x, 4, READ) && seen(x + 1, 4, WRITE))), "accesses");
    accesses.clear();
    launch("copy", {&x, &y});
    expect(!checked || (accesses.size() == 2 && seen(x, 8, READ) && seen(y, 8, WRITE)), "copy");

    check_fault(0, "misaligned int 4 write");
    check_fault(1, "misaligned int 4 read");
    check_fault(2, "trap");
    check_fault(3, "assert zero == 1");
    check_fault(4, "the width of a shuffle");
    if (mode == "undefined") {
        check_fault(5, "shift");
        check_fault(6, "integer division by zero");
        check_fault(7, "load through a null pointer");
        check_fault(8, "array index out of bounds");
    }
    printf("%s: %s\n", mode.c_str(), failed ? "FAILED" : "ok");
    return failed != 0;
}
