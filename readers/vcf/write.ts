/** Copies `bytes[from..to)` in upper case; returns the position behind it. */
export function upper(
  into: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  for (let i = from; i < to; i++) {
    const c = bytes[i]!;
    into[at++] = c >= 97 && c <= 122 ? c - 32 : c;
  }
  return at;
}

/** Writes a whole number in decimal; returns the position behind it. */
export function digits(into: Uint8Array, at: number, value: number): number {
  let size = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) size++;
  let rest = value;
  for (let i = at + size - 1; i >= at; i--) {
    const tenth = Math.floor(rest / 10);
    into[i] = 48 + (rest - tenth * 10);
    rest = tenth;
  }
  return at + size;
}
