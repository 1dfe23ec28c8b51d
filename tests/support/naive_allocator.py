"""Slow allocators that follow the rules word by word: every decision looks at every byte range there is."""

from dataclasses import dataclass, field
from itertools import pairwise

KIB, MIB = 1 << 10, 1 << 20
FIRST_ADDRESS = 1 << 32
SPACE = 1 << 44


def rounded(size: int, divisions: int = 0) -> int:
    """Round a request as the allocator does, by counting up."""
    if divisions > 1 and size > 512 * divisions:
        power = 1
        while power * 2 <= size:
            power *= 2
        if power == size:
            return size
        step = power // divisions
        return next(power + step * k for k in range(1, divisions + 1) if power + step * k >= size)
    return max(512, -(-size // 512) * 512)


@dataclass
class Run:
    """Bytes from `begin` to `end` of a segment; `owner` None: free."""

    begin: int
    end: int
    owner: int | None = None

    @property
    def size(self) -> int:
        return self.end - self.begin


@dataclass
class Segment:
    key: tuple[str, int, bool]
    begin: int
    end: int
    runs: list[Run] = field(default_factory=list)


class NaiveAllocator:
    """Fixed segments, without a limit."""

    def __init__(self, max_split: int | None = None, divisions: int = 0) -> None:
        self.max_split, self.divisions = max_split or 1 << 62, divisions
        self.segments: list[Segment] = []
        self.next_address = FIRST_ADDRESS
        self.where: dict[int, tuple[Segment, Run]] = {}

    @property
    def reserved(self) -> int:
        return sum(segment.end - segment.begin for segment in self.segments)

    @property
    def active(self) -> int:
        return sum(run.size for _, run in self.where.values())

    def malloc(self, owner: int, requested: int, pool: str, stream: int) -> int:
        size = rounded(requested, self.divisions)
        small = size <= MIB
        key = (pool, stream, small)
        able = [
            (run.size, run.begin, segment, run)
            for segment in self.segments if segment.key == key
            for run in segment.runs if run.owner is None and run.size >= size
        ]  # fmt: skip
        found = min(able, key=lambda one: one[:2], default=None)
        if found is not None:
            fits = found[0] < self.max_split if size < self.max_split else found[0] < size + 20 * MIB
            found = found if fits else None
        if found is None:
            segment = self.new_segment(key, size)
            run = segment.runs[0]
        else:
            segment, run = found[2], found[3]
        rest = run.size - size
        if (rest >= 512) if small else (rest > MIB and size < self.max_split):
            segment.runs.insert(segment.runs.index(run) + 1, Run(run.begin + size, run.end))
            run.end = run.begin + size
        run.owner = owner
        self.where[owner] = segment, run
        return run.begin

    def new_segment(self, key: tuple[str, int, bool], size: int) -> Segment:
        length = 2 * MIB if key[2] else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        segment = Segment(key, self.next_address, self.next_address + length)
        segment.runs = [Run(segment.begin, segment.end)]
        self.segments.append(segment)
        self.next_address += -(-length // (2 * MIB)) * 2 * MIB
        return segment

    def free(self, owner: int) -> None:
        segment, run = self.where.pop(owner)
        run.owner = None
        joined: list[Run] = []
        for one in segment.runs:
            if joined and joined[-1].owner is None and one.owner is None:
                joined[-1].end = one.end
            else:
                joined.append(one)
        segment.runs = joined

    def empty_cache(self) -> None:
        whole = [s for s in self.segments if s.key[0] == "" and len(s.runs) == 1 and s.runs[0].owner is None]
        self.segments = [segment for segment in self.segments if segment not in whole]


@dataclass
class PagedDomain:
    begin: int
    page: int
    used: dict[int, tuple[int, int]] = field(default_factory=dict)  # owner: begin, end
    pages: set[int] = field(default_factory=set)

    def runs(self) -> list[tuple[int, int, bool]]:
        """Return what no block uses, as (begin, end, mapped), by address; the last never ends."""
        edges = sorted(
            {self.begin, self.begin + SPACE, *(edge for range_ in self.used.values() for edge in range_)}
            | {self.begin + (p + k) * self.page for p in self.pages for k in (0, 1)}
        )
        found: list[tuple[int, int, bool]] = []
        for begin, end in pairwise(edges):
            if any(low <= begin < high for low, high in self.used.values()):
                continue
            mapped = (begin - self.begin) // self.page in self.pages
            if found and found[-1][1] == begin and found[-1][2] == mapped:
                found[-1] = found[-1][0], end, mapped
            else:
                found.append((begin, end, mapped))
        return found


class NaiveExpandable:
    """One segment a domain, of pages; free runs are worked out from what is used and mapped."""

    def __init__(self) -> None:
        self.domains: dict[tuple[str, int, bool], PagedDomain] = {}
        self.next_address = FIRST_ADDRESS
        self.where: dict[int, PagedDomain] = {}

    @property
    def reserved(self) -> int:
        return sum(len(domain.pages) * domain.page for domain in self.domains.values())

    def malloc(self, owner: int, requested: int, pool: str, stream: int) -> int:
        size = rounded(requested)
        key = (pool, stream, size <= MIB)
        domain = self.domains.get(key)
        if domain is None:
            domain = self.domains[key] = PagedDomain(self.next_address, 2 * MIB if key[2] else 20 * MIB)
            self.next_address += SPACE
        begin = self._fit(domain, size)
        if begin is None:
            begin = self._lowest(domain, size)
            first, last = begin - domain.begin, begin + size - 1 - domain.begin
            domain.pages |= set(range(first // domain.page, last // domain.page + 1))
        domain.used[owner] = begin, begin + size
        self.where[owner] = domain
        return begin

    def free(self, owner: int) -> None:
        del self.where.pop(owner).used[owner]

    def empty_cache(self) -> None:
        for (pool, _, _), domain in self.domains.items():
            if pool == "":
                used = {
                    page
                    for begin, end in domain.used.values()
                    for page in range((begin - domain.begin) // domain.page,
                                      (end - 1 - domain.begin) // domain.page + 1)
                }  # fmt: skip
                domain.pages &= used

    @staticmethod
    def _fit(domain: PagedDomain, size: int) -> int | None:
        runs = domain.runs()
        after = {begin: end - begin for begin, end, mapped in runs if not mapped}
        able = sorted((end - begin, begin, end) for begin, end, mapped in runs if mapped)
        able = [one for one in able if one[0] >= size]
        if not able:
            return None
        room = [length + after.get(end, 0) for length, _, end in able]
        at = 0
        while at + 1 < len(able) and room[at + 1] < room[at]:
            at += 1
        return able[at][1]

    @staticmethod
    def _lowest(domain: PagedDomain, size: int) -> int:
        runs = domain.runs()
        for index, (begin, _, mapped) in enumerate(runs):
            if mapped:
                continue
            first = index - 1 if index and runs[index - 1][1] == begin else index
            end = runs[first][1]
            for one in runs[first + 1 :]:
                if one[0] != end:
                    break
                end = one[1]
            if end - runs[first][0] >= size:
                return runs[first][0]
        raise AssertionError("the address space is used up")
