import type { Random } from '../random.js';
import { difficultBytes } from './dictionary.js';
import { randomBelow, pickRandom, timesOf } from './pick.js';

/** The material from which random edits insert text. */
export interface EditMaterial {
  /** Words with a meaning in the format. */
  readonly tokens: readonly Buffer[];
  /** Texts to be repeated many times, such as opening brackets and separators. */
  readonly nestings: readonly string[];
  /** The text of real files. */
  readonly others: readonly Buffer[];
}

type EditText = (text: Buffer, next: Random, material: EditMaterial) => Buffer;

/** Returns the text after a few random edits, usually one or two. */
export function mutateText(text: Buffer, next: Random, material: EditMaterial): Buffer {
  let bytes = text;
  for (let left = 1 + Math.floor(next() ** 3 * 8); left > 0; left--) {
    const edit = next() < 0.9 ? pickRandom(next, frequentEdits) : pickRandom(next, rareEdits);
    bytes = edit(bytes, next, material);
    if (bytes.length > 1 << 19) bytes = bytes.subarray(0, 1 << 19);
  }
  return bytes;
}

function spliceBytes(text: Buffer, from: number, to: number, ...middle: Uint8Array[]): Buffer {
  return Buffer.concat([text.subarray(0, from), ...middle, text.subarray(to)]);
}

/** Returns a random range of fewer than `maxBytes` bytes. */
function randomRange(text: Buffer, next: Random, maxBytes = 20): [from: number, to: number] {
  const from = randomBelow(next, text.length + 1);
  return [from, Math.min(text.length, from + randomBelow(next, maxBytes))];
}

/** Returns the range of a random line, including its line end. */
function randomLineRange(text: Buffer, next: Random): [from: number, to: number] {
  const at = randomBelow(next, text.length);
  const end = text.indexOf(10, at);
  return [text.lastIndexOf(10, at - 1) + 1, end < 0 ? text.length : end + 1];
}

/** Returns the range of a random text between two delimiters, such as a cell, a value or a word. */
function randomTokenRange(text: Buffer, next: Random): [from: number, to: number] {
  const isDelimiter = (at: number): boolean =>
    /[\s"',:;=|<>/{}[\]&]/.test(String.fromCharCode(text[at]!));
  let from = randomBelow(next, text.length + 1);
  let to = from;
  while (from > 0 && !isDelimiter(from - 1) && to - from < 200) from--;
  while (to < text.length && !isDelimiter(to) && to - from < 200) to++;
  return [from, to];
}

const frequentEdits: readonly EditText[] = [
  // flip a bit
  (text, next) => {
    const bytes = Buffer.from(text);
    if (bytes.length > 0) bytes[randomBelow(next, bytes.length)]! ^= 1 << randomBelow(next, 8);
    return bytes;
  },
  // insert a byte
  (text, next) => {
    const [at] = randomRange(text, next);
    return spliceBytes(text, at, at, Buffer.from([randomBelow(next, 256)]));
  },
  // delete bytes
  (text, next) => spliceBytes(text, ...randomRange(text, next)),
  // repeat bytes
  (text, next) => {
    const [from, to] = randomRange(text, next, 200);
    return spliceBytes(text, to, to, text.subarray(from, to));
  },
  // copy bytes to another position
  (text, next) => {
    const [from, to] = randomRange(text, next, 100);
    const at = randomBelow(next, text.length + 1);
    return spliceBytes(text, at, at, text.subarray(from, to));
  },
  // insert a token
  (text, next, { tokens }) => {
    const [at] = randomRange(text, next);
    return spliceBytes(text, at, at, pickRandom(next, tokens));
  },
  // replace a value by a token
  (text, next, { tokens }) =>
    spliceBytes(text, ...randomTokenRange(text, next), pickRandom(next, tokens)),
  (text, next, { tokens }) =>
    spliceBytes(text, ...randomTokenRange(text, next), pickRandom(next, tokens)),
  // replace a value by another one
  (text, next) =>
    spliceBytes(
      text,
      ...randomTokenRange(text, next),
      text.subarray(...randomTokenRange(text, next)),
    ),
  // repeat, delete or copy a line
  (text, next) => {
    const [from, to] = randomLineRange(text, next);
    return spliceBytes(text, to, to, text.subarray(from, to));
  },
  (text, next) => spliceBytes(text, ...randomLineRange(text, next)),
  (text, next) => {
    const [from, to] = randomLineRange(text, next);
    const [at] = randomLineRange(text, next);
    return spliceBytes(text, at, at, text.subarray(from, to));
  },
  // insert bytes that are not UTF-8 or have a special meaning
  (text, next) => {
    const [at] = randomRange(text, next);
    return spliceBytes(text, at, at, pickRandom(next, difficultBytes));
  },
  // insert a part of another file
  (text, next, { others }) => {
    if (others.length === 0) return text;
    const otherText = pickRandom(next, others);
    const [from, to] = randomRange(otherText, next, 400);
    const [at] = randomRange(text, next);
    return spliceBytes(text, at, at, otherText.subarray(from, to));
  },
];

const rareEdits: readonly EditText[] = [
  // truncate at the end or at the start
  (text, next) => text.subarray(0, randomBelow(next, text.length + 1)),
  (text, next) => text.subarray(randomBelow(next, text.length + 1)),
  // remove the last line end
  (text) => (text.at(-1) === 10 ? text.subarray(0, -1) : text),
  // replace line ends, all or some
  (text) => Buffer.from(text.toString('latin1').replaceAll('\n', '\r\n'), 'latin1'),
  (text) => Buffer.from(text.toString('latin1').replaceAll('\n', '\r'), 'latin1'),
  (text, next) =>
    Buffer.from(
      text
        .toString('latin1')
        .replaceAll('\n', () => pickRandom(next, ['\n', '\r\n', '\r', '\n\n'])),
      'latin1',
    ),
  // change the encoding
  (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), text]),
  (text, next) =>
    Buffer.concat([
      Buffer.from(next() < 0.5 ? [0xff, 0xfe] : []),
      Buffer.from(text.toString(), 'utf16le'),
    ]),
  (text) => Buffer.from(text.toString(), 'latin1'),
  // insert deep nesting, long values or many lines
  (text, next, { nestings: repeatedTexts }) => {
    const [at] = next() < 0.5 ? randomLineRange(text, next) : randomRange(text, next);
    const count = pickRandom(next, [10, 63, 64, 65, 300, 5_000]);
    return spliceBytes(text, at, at, Buffer.from(pickRandom(next, repeatedTexts).repeat(count)));
  },
  (text, next) => {
    const [at] = randomRange(text, next);
    return spliceBytes(
      text,
      at,
      at,
      Buffer.alloc(pickRandom(next, [1_000, 32_766, 32_767, 70_000]), 'x'),
    );
  },
  (text, next) => {
    const [from, to] = randomLineRange(text, next);
    const manyCopies = timesOf(1 + randomBelow(next, 300), () => text.subarray(from, to));
    return spliceBytes(text, to, to, ...manyCopies);
  },
  // replace the text by another file
  (text, next, { others }) => (others.length === 0 ? text : pickRandom(next, others)),
];
