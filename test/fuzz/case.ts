import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { ValidationParams } from '../../engine/ingest/findings.js';
import { bgzf } from '../readers/source/bgzf.js';
import { lenient } from '../readers/import-lines.js';

/** One input and all that decides how it is read. */
export interface FuzzCase {
  readonly reader: string;
  /** The text before it is packed. */
  readonly bytes: Buffer;
  readonly params: Readonly<Record<string, unknown>>;
  readonly validation: ValidationParams;
  readonly packing: Packing;
  /** Decides the cuts. */
  readonly seed: number;
}

/** How the text lies in its file. */
export interface Packing {
  readonly layer: 'plain' | 'gzip' | 'bgzf';
  readonly blockBytes: number;
  /** What happened to the packed bytes afterwards. */
  readonly damage: 'none' | 'flipped' | 'cut' | 'appended' | 'padded';
  /** Where, as a share of the packed bytes. */
  readonly at: number;
}

/** Text as it stands, under the usual parameters. */
export const plainly = {
  params: {},
  validation: lenient,
  packing: { layer: 'plain', blockBytes: 1000, damage: 'none', at: 0 },
} as const;

/** Bytes at the start of a packed file that damage leaves alone: with others it would not be a packed file. */
const magicBytes = 18;

/** The bytes of the file. */
export function packed(bytes: Uint8Array, { layer, blockBytes, damage, at }: Packing): Buffer {
  const whole =
    layer === 'plain'
      ? Buffer.from(bytes)
      : layer === 'gzip'
        ? Buffer.concat(
            // A cut between two members cannot be told from a whole file, so what is cut has one.
            (damage === 'cut'
              ? [bytes]
              : [bytes.subarray(0, blockBytes), bytes.subarray(blockBytes)]
            ).map((member) => gzipSync(member, { level: 1 })),
          )
        : bgzf(bytes, Math.max(blockBytes, Math.ceil(bytes.length / 200)));
  if (layer === 'plain' || damage === 'none') return whole;
  const place = magicBytes + Math.floor(at * (whole.length - magicBytes));
  switch (damage) {
    case 'flipped':
      whole[place]! ^= 1 << (place % 8);
      return whole;
    case 'cut':
      return whole.subarray(0, place);
    case 'appended':
      return Buffer.concat([whole, Buffer.from('something else')]);
    case 'padded':
      return Buffer.concat([whole, Buffer.alloc(1 + Math.floor(at * 3000))]);
  }
}

/** Where regressions lie: a folder per reader, two files per case. */
export const regressionFolder = 'test/fixtures/fuzz';

/** Every saved case, by its path without extension. */
export function savedCases(folder = regressionFolder): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => `${folder}/${name.slice(0, -5)}`)
    .sort();
}

/** The case at this path: its text in `.input`, the rest in `.json`. */
export function loadCase(path: string): FuzzCase {
  const base = path.replace(/\.(?:json|input)$/, '');
  const { found: _, ...rest } = JSON.parse(readFileSync(`${base}.json`, 'utf8')) as Omit<
    FuzzCase,
    'bytes'
  > & { found?: string };
  return { ...rest, bytes: readFileSync(`${base}.input`) };
}

/** Saves a case beside the others of its reader; returns its path. `found` says what was wrong with it. */
export function saveCase(one: FuzzCase, property: string, found: string): string {
  const { bytes, ...rest } = one;
  const folder = `${regressionFolder}/${one.reader}`;
  mkdirSync(folder, { recursive: true });
  const digest = createHash('sha256').update(bytes).update(JSON.stringify(rest)).digest('hex');
  const path = `${folder}/${property}-${digest.slice(0, 8)}`;
  writeFileSync(`${path}.input`, bytes);
  writeFileSync(`${path}.json`, `${JSON.stringify({ ...rest, found }, null, 2)}\n`);
  return path;
}
