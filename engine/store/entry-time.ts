/*
 * The clock of the machine can be wrong when an entry is written: it may be behind until it is synchronised after a start, or be ahead for a
 * while. An entry whose time is before that of an earlier entry therefore has both times, and which one counts is decided when the time is
 * needed. If the later one is past by then, the clock was behind when the entry was written; if it is still in the future, the clock had
 * been ahead. So a clock that was behind makes nothing look older than the entries before it, and one that was ahead delays nothing.
 */

/**
 * Returns the time that counts at the time `now` for an entry with the time `time`; `latest` is the latest time of the entries before, if
 * it is later.
 */
export function entryTimeAt(now: number, time: number, latest: number | undefined): number {
  return latest !== undefined && latest <= now ? Math.max(time, latest) : time;
}
