/* Every call of `native.c` on texts that nobody would write, in room that is just as large as it has to be. Built with
 * the sanitizers by `test_thin.py`: a byte read or written outside of its text ends it. */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/dogwatch/logs/native.c"

static uint64_t state = 88172645463325252ull;

static uint32_t some(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20) % below;
}

static void *room(size_t size) { return malloc(size ? size : 1); }

static uint8_t *made_up(size_t size) {
    static const char fond[] = "\n\n\r\r%%||//00123 .abc\x1b[]P^_;m\x07\xc2\x9c\xa0~\t\x00\x7f\xe2\x96\x88";
    uint8_t *text = room(size);
    uint32_t mode = some(4);
    for (size_t at = 0; at < size; at++)
        text[at] = mode == 0   ? (uint8_t)some(256)
                   : mode == 1 ? (uint8_t)fond[some(sizeof fond - 1)]
                   : some(9)   ? (uint8_t)('a' + some(3))
                               : (uint8_t)fond[some(14)];
    return text;
}

static void check(int holds, const char *what) {
    if (!holds) {
        printf("not so: %s\n", what);
        exit(1);
    }
}

static void copy_and_find(const uint8_t *text, size_t start, size_t stop, const Table *table, const uint32_t *starts,
                          const uint16_t *kinds, size_t lines) {
    uint8_t *copy = room(stop - start), *wanted = calloc(MOST, 1);
    uint32_t *each = room(3 * 4 * lines), found[2][16];
    size_t count = 0, whole = some(2) ? stop : start + (stop - start) / 2;
    long size = copy_new(text, stop, whole, table, starts, kinds, lines, copy, each, each + lines, each + 2 * lines, &count);
    check(size >= 0 && (size_t)size <= stop - start && !size == !count && count <= lines, "a copy is part of its text");
    for (size_t at = 0; at < count; at++)
        check(each[lines + at] >= start && each[lines + at] < stop && each[2 * lines + at] < lines, "a line is there");
    for (int times = 0; times < 8; times++)
        wanted[some(64)] = 1;
    check(lines_of(wanted, stop, starts, kinds, lines, found[0], found[1], 16) <= 16, "no more than there is room for");
    free(copy), free(wanted), free(each);
}

/* Judge the kinds that are new, and one of them again. */
static void judge_some(const Table *table, Judged *judged, size_t lines) {
    uint16_t *kinds = room(2 * MOST);
    uint32_t *firsts = room(4 * MOST);
    long count = unjudged(table, judged, kinds, firsts);
    for (long at = 0; at < count; at++) {
        check(firsts[at] < lines, "a line is there");
        judge(table, judged, kinds[at], (int)some(2));
    }
    if (count)
        judge(table, judged, kinds[some((uint32_t)count)], 1);
    free(kinds), free(firsts);
}

/* Other texts with another number as its word. */
int main(int argc, char **argv) {
    state += argc > 1 ? strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull : 0;
    Table *table = room((size_t)table_size());
    Judged *judged = calloc(1, (size_t)judged_size());
    long thinned = 0;
    for (int round = 0; round < 60000; round++) {
        size_t size = some(300) + (round % 50 ? 0 : some(9000)), start = some((uint32_t)size + 1), stop = size;
        uint8_t *text = made_up(size), *copy = room(size);
        while (stop > start && text[stop - 1] != '\n' && text[stop - 1] != '\r')
            stop--;
        size_t most = some(3) ? size + 1 : some(8) + 1;
        uint32_t *starts = room(4 * most);
        uint16_t *kinds = room(2 * most);
        long lines = number_lines(text, start, stop, some(60), some(2) ? 65536 : some(100), some(99), table,
                                  some(2) ? judged : NULL, starts, kinds, most);
        if (lines > 0) {
            judge_some(table, judged, (size_t)lines);
            copy_and_find(text, start, stop, table, starts, kinds, (size_t)lines);
            thinned++;
        }
        check(strip_escapes(text, size, copy) <= (long)size, "nothing is added");
        check(count_newlines(text, start, size) <= (long)(size - start), "no more ends than bytes");
        free(text), free(copy), free(starts), free(kinds);
    }
    check(judged->count == MOST_JUDGED, "what is judged fills its room and no more");
    free(table), free(judged);
    check(thinned > 10000, "many of them can be thinned");
    return 0;
}
