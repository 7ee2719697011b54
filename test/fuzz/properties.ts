import { isDeepStrictEqual } from 'node:util';
import type { Batch } from '../../engine/ingest/batch.js';
import { compressionOf } from '../../readers/source/compression.js';
import { random, type Random } from '../random.js';
import { plainCase, type FuzzCase } from './case.js';
import { agreesWithOracle } from './oracles.js';
import { Failure, fileName, outcomeOf, type Outcome } from './outcome.js';
import { randomBelow } from './pick.js';
import { checkStorage } from './stored.js';
import type { SourceImport } from '../readers/import-source.js';

/** Checks the properties that hold for every input; throws a `Failure` for the first that does not. */
export async function check(one: FuzzCase, withStorage: boolean): Promise<void> {
  const next = random(one.seed);
  const wholeOutcome = await outcomeOf({ ...one, packing: plainCase.packing });
  await compressedAsPlain(one, wholeOutcome, next);
  // Chunks of single lines for small inputs, some dozens of chunks for large ones.
  const leastBytes = Math.ceil(one.bytes.length / 50);
  for (const range of [1, leastBytes * 10])
    await splitAsWhole(one, wholeOutcome, leastBytes + randomBelow(next, range), next);
  if (wholeOutcome.kind === 'read') {
    checkCounts(wholeOutcome.import);
    checkLines(one, wholeOutcome.import);
    agreesWithOracle(one, wholeOutcome.import);
    await twiceAsOnce(one, wholeOutcome.import, next);
    if (withStorage) await storedAsRead(one);
  }
  const spoiled = Object.keys(Object.prototype);
  if (spoiled.length > 0) throw new Failure('prototype', `Object.prototype has ${String(spoiled)}`);
}

/** Compression does not change the outcome; damage leads to an error or a warning, never to other records without one. */
async function compressedAsPlain(one: FuzzCase, whole: Outcome, next: Random): Promise<void> {
  const { compression, damage } = one.packing;
  // Text that looks compressed is rejected with another message.
  if (compression === 'plain' || looksCompressed(one.bytes)) return;
  const targetBytes = chunkBytes(one, next);
  const found = await outcomeOf(one, { targetBytes });
  if (damage === 'none') return expectSame('packing', one, found, whole);
  if (found.kind === 'refused') return;
  const isWarned = found.import.warnings.some((warning) =>
    warning.includes('end block is missing'),
  );
  if (damage === 'appended')
    throw new Failure('damage', 'bytes after the compressed text went unnoticed');
  if (!(damage === 'cut' && isWarned))
    expectSame('damage', one, withoutWarnings(found), withoutWarnings(whole));
}

function looksCompressed(bytes: Buffer): boolean {
  try {
    return compressionOf(bytes, fileName) !== 'plain';
  } catch {
    return true;
  }
}

/** A random chunk size for up to a few dozen chunks. */
function chunkBytes({ bytes }: FuzzCase, next: Random): number {
  return Math.ceil(bytes.length / 40) + randomBelow(next, 2_000);
}

function withoutWarnings(outcome: Outcome): Outcome {
  return outcome.kind === 'refused'
    ? outcome
    : { ...outcome, import: { ...outcome.import, warnings: [] } };
}

/** The outcome depends neither on the chunk size nor on the order in which the chunks are read. */
async function splitAsWhole(
  one: FuzzCase,
  whole: Outcome,
  targetBytes: number,
  next: Random,
): Promise<void> {
  const unpackedCase = { ...one, packing: plainCase.packing };
  const split = await outcomeOf(unpackedCase, { targetBytes, shuffle: next });
  expectSame('cut', one, split, whole);
}

/** A second pass over all chunks, and an import into a dataset with the columns found, give the same records. */
async function twiceAsOnce(one: FuzzCase, whole: SourceImport, next: Random): Promise<void> {
  if (whole.error !== null) return;
  const unpackedCase = { ...one, packing: plainCase.packing };
  const targetBytes = chunkBytes(one, next);
  const outcomeTwice = await outcomeOf(unpackedCase, { targetBytes, isReadTwice: true });
  expectSame('twice', one, outcomeTwice, { kind: 'read', import: whole });
  if (one.validation.strict) return; // a single value for a list is an error then
  const knownOutcome = await outcomeOf(unpackedCase, { targetBytes, known: whole.columns });
  if (knownOutcome.kind === 'refused' || knownOutcome.import.error !== null) {
    const why = knownOutcome.kind === 'refused' ? knownOutcome.message : knownOutcome.import.error;
    throw new Failure('known', `refused by a dataset that has its columns: ${why}`);
  }
  failDifferent('known', 'rows', knownOutcome.import.rows, whole.rows);
  failDifferent('known', 'columns', knownOutcome.import.columns, whole.columns);
}

/** `read = stored + rejected`, and every rejected record has an error. */
function checkCounts({ stored, rejected, findings, rows, error }: SourceImport): void {
  if (error === null && rows.length !== stored)
    throw new Failure('count', `${rows.length} rows, ${stored} stored`);
  if (rejected > 0 !== findings.errors > 0)
    throw new Failure('count', `${rejected} rejected, ${findings.errors} errors`);
  // The file as a whole may also have an error, such as a missing end.
  if (findings.errors > 0 && error === null)
    throw new Failure('count', `${findings.errors} errors, and the import completes`);
  if (findings.records !== rejected)
    throw new Failure('count', `${rejected} rejected, ${findings.records} in the findings`);
  const countedExamples = findings.examples.reduce((sum, example) => sum + example.count, 0);
  if (findings.examples.length < 1_000 && countedExamples !== findings.errors + findings.warnings)
    throw new Failure(
      'count',
      `${findings.errors} errors and ${findings.warnings} warnings, ${countedExamples} in examples`,
    );
}

/** Every error names the file and an existing line. */
function checkLines(one: FuzzCase, { error, findings }: SourceImport): void {
  if (error !== null && !error.startsWith(fileName)) throw new Failure('unnamed', error);
  const lines = 1 + one.bytes.reduce((sum, byte) => sum + Number(byte === 10 || byte === 13), 0);
  for (const { line, message, level } of findings.examples) {
    if (line > lines || line < (level === 'error' ? 1 : 0))
      throw new Failure('line', `line ${line} of ${lines}: ${message}`);
  }
}

async function storedAsRead(one: FuzzCase): Promise<void> {
  const batches: Batch[] = [];
  const unpackedCase = { ...one, packing: plainCase.packing };
  await outcomeOf(unpackedCase, { targetBytes: 2_000, onBatch: (batch) => batches.push(batch) });
  for (const batch of batches) await checkStorage(batch);
}

/** Throws a `Failure` when two outcomes differ for the user. */
function expectSame(property: string, one: FuzzCase, found: Outcome, want: Outcome): void {
  if (found.kind === 'refused' || want.kind === 'refused') {
    const [a, b] = [found, want].map((outcome) =>
      outcome.kind === 'refused' ? outcome.message : (outcome.import.error ?? 'completed'),
    );
    if (a !== b) throw new Failure(property, `${a}\n  instead of: ${b}`);
    return;
  }
  // With `raise_on_errors`, each chunk stops at its first error, so the number of errors depends on the chunks.
  if (one.validation.raiseOnErrors && want.import.error !== null) {
    const first = (text: string | null): string | undefined =>
      text?.replace(/; \d+ more errors?$/, '');
    return failDifferent(property, 'error', first(found.import.error), first(want.import.error));
  }
  const always = ['error', 'findings', 'warnings', 'about', 'genomeBuild', 'rejected'] as const;
  for (const part of always) failDifferent(property, part, found.import[part], want.import[part]);
  if (want.import.error !== null) return; // the records before the error are not stored
  for (const part of ['stored', 'rows'] as const)
    failDifferent(property, part, found.import[part], want.import[part]);
  // Without records, the declared columns depend on whether there is an empty chunk.
  if (want.import.stored > 0)
    failDifferent(property, 'columns', found.import.columns, want.import.columns);
}

function failDifferent(property: string, part: string, found: unknown, want: unknown): void {
  if (isDeepStrictEqual(found, want)) return;
  if (Array.isArray(found) && Array.isArray(want) && found.length === want.length) {
    const i = found.findIndex((item, at) => !isDeepStrictEqual(item, want[at]));
    return failDifferent(property, `${part}[${i}]`, found[i], want[i]);
  }
  throw new Failure(property, `${part}: ${shownValue(found)}\n  instead of: ${shownValue(want)}`);
}

function shownValue(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'bigint' ? `${item}n` : Object.is(item, -0) ? '-0' : item,
  );
  return (text ?? 'undefined').slice(0, 700);
}
