import type { Random } from '../random.js';
import { oddBytes } from './dictionary.js';
import { below, pick, times } from './pick.js';

/** What an edit has to work with. */
export interface Material {
  readonly words: readonly Buffer[];
  readonly nests: readonly string[];
  readonly others: readonly Buffer[];
}

type Edit = (text: Buffer, next: Random, material: Material) => Buffer;

/** The text after a few edits, mostly one or two. */
export function mutated(text: Buffer, next: Random, material: Material): Buffer {
  let bytes = text;
  for (let left = 1 + Math.floor(next() ** 3 * 8); left > 0; left--) {
    const edit = next() < 0.9 ? pick(next, often) : pick(next, seldom);
    bytes = edit(bytes, next, material);
    if (bytes.length > 1 << 19) bytes = bytes.subarray(0, 1 << 19);
  }
  return bytes;
}

function spliced(text: Buffer, from: number, to: number, ...middle: Uint8Array[]): Buffer {
  return Buffer.concat([text.subarray(0, from), ...middle, text.subarray(to)]);
}

/** A place and a few bytes behind it. */
function range(text: Buffer, next: Random, most = 20): [from: number, to: number] {
  const from = below(next, text.length + 1);
  return [from, Math.min(text.length, from + below(next, most))];
}

/** A line with its end, by any byte of it. */
function line(text: Buffer, next: Random): [from: number, to: number] {
  const at = below(next, text.length);
  const end = text.indexOf(10, at);
  return [text.lastIndexOf(10, at - 1) + 1, end < 0 ? text.length : end + 1];
}

/** What lies between two delimiters: a cell, a value, a word. */
function token(text: Buffer, next: Random): [from: number, to: number] {
  const isBorder = (at: number): boolean =>
    /[\s"',:;=|<>/{}[\]&]/.test(String.fromCharCode(text[at]!));
  let from = below(next, text.length + 1);
  let to = from;
  while (from > 0 && !isBorder(from - 1) && to - from < 200) from--;
  while (to < text.length && !isBorder(to) && to - from < 200) to++;
  return [from, to];
}

const often: readonly Edit[] = [
  // a bit
  (text, next) => {
    const bytes = Buffer.from(text);
    if (bytes.length > 0) bytes[below(next, bytes.length)]! ^= 1 << below(next, 8);
    return bytes;
  },
  // any byte in between
  (text, next) => {
    const [at] = range(text, next);
    return spliced(text, at, at, Buffer.from([below(next, 256)]));
  },
  // bytes that are gone
  (text, next) => spliced(text, ...range(text, next)),
  // bytes that come twice
  (text, next) => {
    const [from, to] = range(text, next, 200);
    return spliced(text, to, to, text.subarray(from, to));
  },
  // bytes in another place
  (text, next) => {
    const [from, to] = range(text, next, 100);
    const at = below(next, text.length + 1);
    return spliced(text, at, at, text.subarray(from, to));
  },
  // a word in between
  (text, next, { words }) => {
    const [at] = range(text, next);
    return spliced(text, at, at, pick(next, words));
  },
  // a word instead of a value
  (text, next, { words }) => spliced(text, ...token(text, next), pick(next, words)),
  (text, next, { words }) => spliced(text, ...token(text, next), pick(next, words)),
  // a value in the place of another
  (text, next) => spliced(text, ...token(text, next), text.subarray(...token(text, next))),
  // lines: twice, gone, moved
  (text, next) => {
    const [from, to] = line(text, next);
    return spliced(text, to, to, text.subarray(from, to));
  },
  (text, next) => spliced(text, ...line(text, next)),
  (text, next) => {
    const [from, to] = line(text, next);
    const [at] = line(text, next);
    return spliced(text, at, at, text.subarray(from, to));
  },
  // bytes that are no UTF-8
  (text, next) => {
    const [at] = range(text, next);
    return spliced(text, at, at, pick(next, oddBytes));
  },
  // a part of another file
  (text, next, { others }) => {
    if (others.length === 0) return text;
    const other = pick(next, others);
    const [from, to] = range(other, next, 400);
    const [at] = range(text, next);
    return spliced(text, at, at, other.subarray(from, to));
  },
];

const seldom: readonly Edit[] = [
  // the rest is gone
  (text, next) => text.subarray(0, below(next, text.length + 1)),
  (text, next) => text.subarray(below(next, text.length + 1)),
  // no end of the last line
  (text) => (text.at(-1) === 10 ? text.subarray(0, -1) : text),
  // other line ends, all or some
  (text) => Buffer.from(text.toString('latin1').replaceAll('\n', '\r\n'), 'latin1'),
  (text) => Buffer.from(text.toString('latin1').replaceAll('\n', '\r'), 'latin1'),
  (text, next) =>
    Buffer.from(
      text.toString('latin1').replaceAll('\n', () => pick(next, ['\n', '\r\n', '\r', '\n\n'])),
      'latin1',
    ),
  // other encodings
  (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), text]),
  (text, next) =>
    Buffer.concat([
      Buffer.from(next() < 0.5 ? [0xff, 0xfe] : []),
      Buffer.from(text.toString(), 'utf16le'),
    ]),
  (text) => Buffer.from(text.toString(), 'latin1'),
  // deep, wide, long
  (text, next, { nests }) => {
    const [at] = next() < 0.5 ? line(text, next) : range(text, next);
    const count = pick(next, [10, 63, 64, 65, 300, 5_000]);
    return spliced(text, at, at, Buffer.from(pick(next, nests).repeat(count)));
  },
  (text, next) => {
    const [at] = range(text, next);
    return spliced(text, at, at, Buffer.alloc(pick(next, [1_000, 32_766, 32_767, 70_000]), 'x'));
  },
  (text, next) => {
    const [from, to] = line(text, next);
    const many = times(1 + below(next, 300), () => text.subarray(from, to));
    return spliced(text, to, to, ...many);
  },
  // another file
  (text, next, { others }) => (others.length === 0 ? text : pick(next, others)),
];
