import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { ValidationParams } from '../../engine/ingest/findings.js';
import { compressBgzf } from '../readers/source/bgzf.js';
import { lenientParams } from '../readers/import-pieces.js';

/** An input of a reader, and everything that determines how it is read. */
export interface FuzzCase {
  readonly reader: string;
  /** The bytes of the input before compression. */
  readonly bytes: Buffer;
  readonly params: Readonly<Record<string, unknown>>;
  readonly validation: ValidationParams;
  readonly packing: InputCompression;
  /** Seed of the chunk sizes and of the order of the chunks. */
  readonly seed: number;
}

/** The compression and damage of an input. */
export interface InputCompression {
  readonly compression: 'plain' | 'gzip' | 'bgzf';
  readonly blockBytes: number;
  /** The damage to the compressed bytes. */
  readonly damage: 'none' | 'flipped' | 'cut' | 'appended' | 'padded';
  /** The position of the damage as a share of the bytes that may be damaged, or the share of the longest padding; from 0 to 1. */
  readonly at: number;
}

/** The properties of a case with uncompressed text and default parameters. */
export const plainCaseDefaults = {
  params: {},
  validation: lenientParams,
  packing: { compression: 'plain', blockBytes: 1000, damage: 'none', at: 0 },
} as const;

/** Number of bytes at the start of a compressed file that are never damaged, so that the file is recognised as compressed. */
const undamagedStartBytes = 18;

/** Compresses the bytes of an input, and damages them if they are compressed; returns the bytes of the file. */
export function compressText(
  bytes: Uint8Array,
  { compression, blockBytes, damage, at }: InputCompression,
): Buffer {
  const wholeFile =
    compression === 'plain'
      ? Buffer.from(bytes)
      : compression === 'gzip'
        ? Buffer.concat(
            // A file that is cut between two gzip members looks complete, so a file to be cut has one member.
            (damage === 'cut'
              ? [bytes]
              : [bytes.subarray(0, blockBytes), bytes.subarray(blockBytes)]
            ).map((member) => gzipSync(member, { level: 1 })),
          )
        : compressBgzf(bytes, Math.max(blockBytes, Math.ceil(bytes.length / 200)));
  if (compression === 'plain' || damage === 'none') return wholeFile;
  const position = undamagedStartBytes + Math.floor(at * (wholeFile.length - undamagedStartBytes));
  switch (damage) {
    case 'flipped':
      wholeFile[position]! ^= 1 << (position % 8);
      return wholeFile;
    case 'cut':
      return wholeFile.subarray(0, position);
    case 'appended':
      return Buffer.concat([wholeFile, Buffer.from('something else')]);
    case 'padded':
      return Buffer.concat([wholeFile, Buffer.alloc(1 + Math.floor(at * 3000))]);
  }
}

/** The folder of regressions; it has one folder per reader and two files per case. */
export const regressionFolder = 'test/fixtures/fuzz';

/** The paths of all saved cases, without extension. */
export function savedCasePaths(folder = regressionFolder): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => `${folder}/${name.slice(0, -5)}`)
    .sort();
}

/** Loads the case at a path: `.input` has its bytes, `.json` everything else. */
export function loadCase(path: string): FuzzCase {
  const base = path.replace(/\.(?:json|input)$/, '');
  const { found: _, ...rest } = JSON.parse(readFileSync(`${base}.json`, 'utf8')) as Omit<
    FuzzCase,
    'bytes'
  > & { found?: string };
  return { ...rest, bytes: readFileSync(`${base}.input`) };
}

/** Saves a case in the folder of its reader; returns its path. `failureMessage` is the message of its failure. */
export function saveCase(one: FuzzCase, property: string, failureMessage: string): string {
  const { bytes, ...rest } = one;
  const folder = `${regressionFolder}/${one.reader}`;
  mkdirSync(folder, { recursive: true });
  const digest = createHash('sha256').update(bytes).update(JSON.stringify(rest)).digest('hex');
  const path = `${folder}/${property}-${digest.slice(0, 8)}`;
  writeFileSync(`${path}.input`, bytes);
  writeFileSync(`${path}.json`, `${JSON.stringify({ ...rest, found: failureMessage }, null, 2)}\n`);
  return path;
}
