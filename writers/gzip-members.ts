/**
 * Packs blocks into gzip members, several at a time, and yields them in order. A gzip file is a sequence of members
 * (RFC 1952, section 2.2), so any tool unpacks the result to the plain blocks. No block at all gives one empty member,
 * because an empty file is no gzip file.
 */
export async function* gzipMembers(
  blocks: AsyncIterable<Uint8Array>,
  gzip: (block: Uint8Array) => Promise<Uint8Array>,
  parallel: number,
): AsyncGenerator<Uint8Array> {
  const packing: Promise<Uint8Array>[] = [];
  let isEmpty = true;
  try {
    for await (const block of blocks) {
      isEmpty = false;
      const member = gzip(block);
      // Looked at only when its turn comes; a failure before that is not an unhandled one.
      member.catch(() => undefined);
      packing.push(member);
      while (packing.length > parallel) yield await (packing.shift() as Promise<Uint8Array>);
    }
    if (isEmpty) packing.push(gzip(new Uint8Array()));
    while (packing.length > 0) yield await (packing.shift() as Promise<Uint8Array>);
  } finally {
    await Promise.allSettled(packing);
  }
}
