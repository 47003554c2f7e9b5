/* The few passes over every byte of a long log that are worth compiling; `logs/native.py` loads them and says what is
 * done where nobody compiled this. Nothing here allocates: the caller gives the room.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* First: the lines of a text that say something new, that is of lines that differ in their numbers alone, the first and
 * the last two (`logs/thin.py` says why that loses nothing). Lines are told apart by a hash of 64 bits. Whoever writes a
 * log could make two of its lines collide; it could as well not have written the one that is passed over.
 */
#define SLOTS 16384 /* of the table, a power of two */
#define MOST 4096   /* kinds of lines */
#define ALONE UINT16_MAX /* the kind of a line that is not compared with others */
#define SILENT (ALONE - 1) /* the kind of a line that is known to say nothing to any format */
#define JUDGED 16384 /* slots of the hashes that were judged, a power of two */
#define MOST_JUDGED (JUDGED / 4 * 3)
#define SOME 1024   /* lines after which it is asked whether anything is gained */
#define EVERY(byte) (0x0101010101010101ull * (byte))

typedef struct {
    uint64_t hash;
    uint32_t first, last, before; /* numbers of lines; UINT32_MAX: none */
} Kind;

/* Kinds of lines that were judged in texts before: by their hash, whose lowest bit says that they are silent. */
typedef struct {
    uint64_t hashes[JUDGED];
    uint64_t count;
} Judged;

typedef struct {
    uint32_t count;
    Kind kinds[MOST];
    uint16_t slots[SLOTS]; /* number of a kind plus one */
} Table;

/* To be raised with every change that `native.py` has to know of. */
long version(void) { return 2; }

long table_size(void) { return (long)sizeof(Table); }

long judged_size(void) { return (long)sizeof(Judged); }

/* The slot of a hash among those judged, or the empty one where it belongs. */
static uint64_t *judged_slot(Judged *judged, uint64_t hash) {
    uint64_t slot = hash >> 32;
    while (judged->hashes[slot &= JUDGED - 1] && (judged->hashes[slot] | 1) != (hash | 1))
        slot++;
    return &judged->hashes[slot];
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash ^= word * 0x9e3779b97f4a7c15ull;
    return ((hash << 27) | (hash >> 37)) * 0xd6e8feb86659fd93ull;
}

/* Eight bytes with every digit made a zero byte. */
static uint64_t without_digits(uint64_t word) {
    uint64_t low = word ^ EVERY('0');
    uint64_t digits = ~(((low & EVERY(0x7f)) + EVERY(0x76)) | low) & EVERY(0x80);
    return word & ~((digits >> 7) * 0xff);
}

static int in_number(uint8_t byte) { return (byte >= '0' && byte <= '9') || byte == '.'; }

/* In a bar, what follows a slash is the total, which tells it from others, and a lone 0 before it is where it begins. */
static uint64_t with_totals(uint64_t hash, const uint8_t *text, size_t size) {
    const uint8_t *at = text, *end = text + size;
    while ((at = memchr(at, '/', (size_t)(end - at)))) {
        uint64_t total = at > text && at[-1] == '0' && (at - text < 2 || !in_number(at[-2]));
        for (at++; at < end && in_number(*at); at++)
            total = total * 31 + *at;
        hash = total ? mixed(hash, total) : hash;
    }
    return hash;
}

/* A part of a line by all of its bytes but the digits; the last ones are taken twice rather than one by one. One that
 * holds an escape or a zero byte has no kind: 0. */
static uint64_t with_text(uint64_t hash, const uint8_t *text, size_t size) {
    uint64_t word = EVERY(' '), controls = 0;
    hash = mixed(hash, size);
    for (size_t at = 0; at + 8 < size; at += 8) {
        memcpy(&word, text + at, 8);
        controls |= (word - EVERY(' ')) & ~word;
        hash = mixed(hash, without_digits(word));
    }
    if (size < 8)
        memcpy(&word, text, size);
    else
        memcpy(&word, text + size - 8, 8);
    controls |= (word - EVERY(' ')) & ~word;
    if ((controls & EVERY(0x80)) && (memchr(text, 27, size) || memchr(text, 0, size)))
        return 0;
    return mixed(hash, without_digits(word)) | 1;
}

/* The kind of a line, without what a bar draws; 0 where it has none. */
static uint64_t kind_of(const uint8_t *line, size_t size, uint64_t seed) {
    const uint8_t *end = line + size, *open = memchr(line, '%', size), *rest = line;
    uint64_t hash = seed;
    if (open && open + 1 < end && open[1] == '|') {
        const uint8_t *close = memchr(open + 2, '|', (size_t)(end - open - 2));
        if (close && (hash = with_text(hash, line, (size_t)(open - line))))
            rest = close;
    }
    if (hash)
        hash = with_text(hash, rest, (size_t)(end - rest));
    if (hash && open)
        hash = with_totals(hash, rest, (size_t)(end - rest));
    return hash ? hash ^ (hash >> 29) : 0;
}

/* The number of the kind with this hash, a new one where it is; ALONE when there are too many. */
static uint16_t found(Table *table, uint64_t hash, uint32_t *count) {
    for (uint32_t slot = (uint32_t)hash & (SLOTS - 1);; slot = (slot + 1) & (SLOTS - 1)) {
        uint16_t number = table->slots[slot];
        if (!number) {
            if (*count == MOST)
                return ALONE;
            table->kinds[*count] = (Kind){hash, UINT32_MAX, UINT32_MAX, UINT32_MAX};
            table->slots[slot] = (uint16_t)++*count;
            return (uint16_t)(*count - 1);
        }
        if (table->kinds[number - 1].hash == hash)
            return (uint16_t)(number - 1);
    }
}

static size_t next(const uint8_t *text, size_t at, size_t stop, uint8_t byte) {
    const uint8_t *found = memchr(text + at, byte, stop - at);
    return found ? (size_t)(found - text) : stop;
}

/* Number every line of `text` between two places by its kind: where it starts, and which it is (ALONE for one longer
 * than `compared`, and for all that come when there are too many kinds). Either line end ends a line, and the last one
 * has its end. With `judged`, those known to say nothing are SILENT. Returns how many lines there are; -1 when they are
 * more than `room`, when one is longer than `longest` or holds an escape or a zero byte, or when so much of them is new
 * that nothing is gained. */
long number_lines(const uint8_t *text, size_t start, size_t stop, size_t compared, size_t longest, uint64_t seed,
                  Table *table, Judged *judged, uint32_t *starts, uint16_t *kinds, size_t room) {
    uint32_t count = 0;
    size_t line = 0, at = start, kept = 0;
    size_t feed = next(text, at, stop, '\n'), back = next(text, at, stop, '\r');
    memset(table->slots, 0, sizeof table->slots);
    while (at < stop) {
        size_t end = feed < back ? feed : back, length = end - at;
        uint32_t before = count;
        if (line == room || length > longest)
            return -1;
        uint64_t hash = length > compared ? seed : kind_of(text + at, length, seed);
        if (!hash || (length > compared && (memchr(text + at, 27, length) || memchr(text + at, 0, length))))
            return -1;
        int silent = judged && length <= compared && (*judged_slot(judged, hash) & 1);
        uint16_t kind = silent ? SILENT : length > compared ? ALONE : found(table, hash, &count);
        if (kind == ALONE || count > before)
            kept += length;
        if (kind < MOST) {
            Kind *one = &table->kinds[kind];
            one->first = count > before ? (uint32_t)line : one->first;
            one->before = one->last;
            one->last = (uint32_t)line;
        }
        starts[line] = (uint32_t)at;
        kinds[line] = kind;
        at = end + 1;
        if (!(++line % SOME) && kept > (at - start) / 3 * 2)
            return -1;
        if (end == feed)
            feed = at < stop ? next(text, at, stop, '\n') : stop;
        else
            back = at < stop ? next(text, at, stop, '\r') : stop;
    }
    table->count = count;
    return (long)line;
}

/* The kinds that nobody has judged yet, as long as there is room for what is judged, and the lines that were the first
 * of them. Returns how many. */
long unjudged(const Table *table, Judged *judged, uint16_t *kinds, uint32_t *lines) {
    long count = 0;
    for (uint32_t kind = 0; kind < table->count && judged->count + (uint64_t)count < MOST_JUDGED; kind++)
        if (!*judged_slot(judged, table->kinds[kind].hash)) {
            kinds[count] = (uint16_t)kind;
            lines[count++] = table->kinds[kind].first;
        }
    return count;
}

/* Remember of a kind whether its lines say nothing. */
long judge(const Table *table, Judged *judged, size_t kind, int silent) {
    uint64_t hash = table->kinds[kind].hash, *slot = judged_slot(judged, hash);
    judged->count += !*slot;
    *slot = (hash | 1) - !silent;
    return 0;
}

/* Copy those lines that say something new, and all from the place `whole` on. Returns how many bytes they are;
 * `places` and `origins` say of each where it starts in the copy and in the text, `numbers` which line it is. */
long copy_new(const uint8_t *text, size_t stop, size_t whole, const Table *table, const uint32_t *starts,
              const uint16_t *kinds, size_t lines, uint8_t *copy, uint32_t *places, uint32_t *origins,
              uint32_t *numbers, size_t *copied) {
    size_t out = 0, count = 0;
    for (size_t line = 0; line < lines; line++) {
        size_t start = starts[line], size = (line + 1 < lines ? starts[line + 1] : stop) - start;
        if (start < whole && kinds[line] == SILENT)
            continue;
        if (start < whole && kinds[line] != ALONE) {
            const Kind *kind = &table->kinds[kinds[line]];
            if (line != kind->first && line != kind->last && line != kind->before)
                continue;
        }
        places[count] = (uint32_t)out;
        origins[count] = (uint32_t)start;
        numbers[count++] = (uint32_t)line;
        memcpy(copy + out, text + start, size);
        out += size;
        copy[out - 1] = '\n';
    }
    *copied = count;
    return (long)out;
}

/* From where to where the lines are that are of one of the kinds marked in `wanted`. Returns how many; -1 when they are
 * more than `room`. */
long lines_of(const uint8_t *wanted, size_t stop, const uint32_t *starts, const uint16_t *kinds, size_t lines,
              uint32_t *froms, uint32_t *untils, size_t room) {
    size_t count = 0;
    for (size_t line = 0; line < lines; line++) {
        if (kinds[line] >= MOST || !wanted[kinds[line]])
            continue;
        if (count == room)
            return -1;
        froms[count] = starts[line];
        untils[count++] = (uint32_t)((line + 1 < lines ? starts[line + 1] : stop) - 1);
    }
    return (long)count;
}

/* How many lines end between two places. */
long count_newlines(const uint8_t *text, size_t start, size_t stop) {
    long count = 0;
    for (size_t at = start; at < stop;) {
        uint8_t few = 0; /* counted in bytes, which the compiler does many at a time */
        for (size_t end = stop - at < 255 ? stop : at + 255; at < end; at++)
            few += text[at] == '\n';
        count += few;
    }
    return count;
}

/* Where what follows an escape ends, which may be unfinished: a code; a string, of which only the opener goes if it
 * does not end soon; or everything else. */
static size_t escaped(const uint8_t *text, size_t size, size_t at) {
    size_t most;
    if (at == size)
        return at;
    if (text[at] == '[') {
        for (at++, most = at + 64; at < size && at < most && text[at] >= ' ' && text[at] <= '?';)
            at++;
    } else if (memchr("]PX^_", text[at], 5)) {
        size_t end = ++at, units = 0;
        for (; end < size && units < 4095 && text[end] > 0x1f && text[end] != 0x7f; units++) {
            if (text[end] == 0xc2 && !(end + 1 < size && text[end + 1] >= 0xa0 && text[end + 1] <= 0xbf))
                break;
            end += text[end] == 0xc2 ? 2 : 1;
        }
        if (end < size && text[end] == 0x07)
            return end + 1;
        if (end + 1 < size && ((text[end] == 0xc2 && text[end + 1] == 0x9c) || (text[end] == 27 && text[end + 1] == '\\')))
            return end + 2;
        return end < size && text[end] == 27 ? end : at;
    } else {
        for (most = at + 4; at < size && at < most && text[at] >= ' ' && text[at] <= '/';)
            at++;
    }
    return at < size && text[at] >= '0' && text[at] <= '~' ? at + 1 : at;
}

/* Copy a text without terminal escapes. Returns how many bytes that are. */
long strip_escapes(const uint8_t *text, size_t size, uint8_t *copy) {
    size_t at = 0, out = 0;
    while (at < size) {
        const uint8_t *escape = memchr(text + at, 27, size - at);
        size_t stop = escape ? (size_t)(escape - text) : size;
        memcpy(copy + out, text + at, stop - at);
        out += stop - at;
        for (at = stop; at < size && text[at] == 27;) {
            while (at < size && text[at] == 27)
                at++;
            at = escaped(text, size, at);
        }
    }
    return (long)out;
}
