/* The peer of the memory tests: the same accesses by another compiler's volatile words.
   Usage: memory read|write|copy BYTES MILLISECONDS; prints bytes per second. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Every word is used, as in ours: where two threads share a core, a loop that only loads gets more
   of it than one that also works. The empty statement keeps the four sums in order and in their
   registers: left alone, the compiler sums in another order and runs out of registers, so that every
   second load has a second one of the stack beside it. */
#define FOUR(i)                                                                       \
    a ^= words[i]; b ^= words[(i) + 1]; c ^= words[(i) + 2]; d ^= words[(i) + 3];     \
    __asm__("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))

static uint64_t read_words(volatile uint64_t *words, size_t count) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i + 32 <= count; i += 32) {
        FOUR(i);      FOUR(i + 4);  FOUR(i + 8);  FOUR(i + 12);
        FOUR(i + 16); FOUR(i + 20); FOUR(i + 24); FOUR(i + 28);
    }
    return a ^ b ^ c ^ d;
}

#define SET(i) words[i] = value; words[(i) + 1] = value; words[(i) + 2] = value; words[(i) + 3] = value

static void write_words(volatile uint64_t *words, size_t count, uint64_t value) {
    for (size_t i = 0; i + 32 <= count; i += 32) {
        SET(i);      SET(i + 4);  SET(i + 8);  SET(i + 12);
        SET(i + 16); SET(i + 20); SET(i + 24); SET(i + 28);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int test = argv[1][0];
    size_t bytes = strtoull(argv[2], NULL, 10);
    double length = strtod(argv[3], NULL) / 1e3;
    /* Where a copy goes is half a page off from where it comes from: at the same place of a page,
       each load waits for the store that seems to be to its own address. */
    size_t apart = (bytes + 4095) / 4096 * 4096 + 2048;
    uint64_t *from = malloc(apart + bytes), *to = (uint64_t *)((char *)from + apart);
    if (!from) return 1;
    memset(from, 1, apart);
    memset(to, 2, bytes);
    size_t batch = (4u << 20) / bytes + 1, passes = 0;
    double begin = now(), spent;
    do {
        for (size_t i = 0; i < batch; i++) {
            uint64_t sum = 0;
            if (test == 'r') sum = read_words(from, bytes / 8);
            else if (test == 'w') write_words(from, bytes / 8, passes + i);
            else memcpy(to, from, bytes);
            __asm__ volatile("" ::"r"(to), "r"(from), "r"(sum) : "memory");
        }
        passes += batch;
        spent = now() - begin;
    } while (spent < length);
    printf("%.0f\n", (double)bytes * (double)passes / spent);
    return 0;
}
