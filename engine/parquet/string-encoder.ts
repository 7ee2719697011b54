import { sharedPrefix, writeDeltaTexts } from './delta.js';
import { buildDictionary, plainBytes } from './dictionary.js';
import { dictionaryEncoder, encodingId, noDictionary, type Encoder } from './encoding.js';
import { plainTexts, plainTextsAt } from './plain.js';
import { textRange } from './statistics.js';
import type { Texts } from './values.js';

/** The encoder of a column of text: what is new behind a shared beginning (`_id`), a dictionary, or the texts. */
export function textEncoder(texts: Texts): Encoder {
  const valueBytes = plainBytes(texts) / Math.max(1, texts.count);
  if (shareBeginnings(texts)) {
    return {
      ...noDictionary,
      encoding: encodingId.deltaByteArray,
      valueBytes,
      range: textRange(texts),
      write: (sink, from, to) => writeDeltaTexts(sink, texts, from, to),
    };
  }
  const dictionary = buildDictionary(texts, undefined);
  if (dictionary !== undefined) {
    const { firsts, entries } = dictionary;
    // The extremes of a column are those of its dictionary.
    return dictionaryEncoder(dictionary, textRange(texts, firsts.subarray(0, entries)), (sink) =>
      plainTextsAt(sink, texts, firsts, entries),
    );
  }
  return {
    ...noDictionary,
    encoding: encodingId.plain,
    valueBytes,
    range: textRange(texts),
    write: (sink, from, to) => plainTexts(sink, texts, from, to),
  };
}

const sampleBlocks = 16;
const sampleBlockValues = 64;

/** Do texts differ from the one before, but only in their last third? A few blocks spread over the column tell. */
function shareBeginnings(texts: Texts): boolean {
  const { count, offsets } = texts;
  const step = Math.max(sampleBlockValues, Math.floor(count / sampleBlocks));
  let bytes = 0;
  let shared = 0;
  for (let block = 0; block < count; block += step) {
    const end = Math.min(count, block + sampleBlockValues);
    for (let i = block + 1; i < end; i++) {
      const size = offsets[i + 1]! - offsets[i]!;
      const same = sharedPrefix(texts, i);
      bytes += size;
      if (same < size) shared += same;
    }
  }
  return shared * 3 > bytes * 2;
}
