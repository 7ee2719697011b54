/** About this many characters go into one block. */
const blockCharacters = 1 << 20;

/** Joins the records' texts, each with `end` behind it, into blocks of UTF-8 bytes; `head` comes before the first. */
export async function* textBlocks(
  records: AsyncIterable<readonly string[]>,
  end: string,
  head = '',
): AsyncGenerator<Uint8Array> {
  let parts = head === '' ? [] : [head];
  let characters = head.length;
  for await (const batch of records) {
    if (batch.length === 0) continue;
    const text = batch.join(end) + end;
    parts.push(text);
    characters += text.length;
    if (characters < blockCharacters) continue;
    yield Buffer.from(parts.join(''));
    parts = [];
    characters = 0;
  }
  if (characters > 0) yield Buffer.from(parts.join(''));
}
