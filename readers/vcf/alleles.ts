/** A name of printable characters without blanks; one in angle brackets must close them (VCF 4.3, section 1.6.1). */
export function isChromosome(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to || (bytes[from] === 46 && to - from === 1)) return false;
  if (bytes[from] === 60 && (bytes[to - 1] !== 62 || to - from < 3)) return false;
  for (let at = from; at < to; at++) if (bytes[at]! <= 32) return false;
  return true;
}

// Choice: REF may hold IUPAC ambiguity codes, which old references do; ALT may not (VCF 4.3, section 1.6.1).
/** 1: a base of ALT; 2: also in REF, where old references hold ambiguity codes. */
const bases = new Uint8Array(256);
for (const c of 'ACGTNacgtn') bases[c.charCodeAt(0)] = 3;
for (const c of 'RYKMSWBDHVUrykmswbdhvu') bases[c.charCodeAt(0)] = 2;

/** Whether these are bases of a reference. */
export function isReference(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to) return false;
  for (let at = from; at < to; at++) if (!bases[bytes[at]!]) return false;
  return true;
}

/** Bases, `*`, a symbol in angle brackets, or a breakend (VCF 4.3, sections 1.6.1 and 5.4). */
export function isAllele(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to) return false;
  let at = from;
  while (at < to && (bases[bytes[at]!]! & 1) === 1) at++;
  if (at === to) return true;
  const c = bytes[at]!;
  if (to - from === 1) return c === 42;
  if (c === 60 && at === from) return bytes[to - 1] === 62 && to - from > 2;
  // Breakends: `G[17:198982[`, `]13:123456]T`, and single ones: `.TC`, `CT.`; an insertion of an assembled contig: `C<ctg1>`.
  if (c === 91 || c === 93) return bytes.subarray(at + 1, to).includes(c);
  if (c === 46) return at === from || at === to - 1;
  return c === 60 && bytes[to - 1] === 62;
}
