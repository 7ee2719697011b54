import { isDeepStrictEqual } from 'node:util';
import { detectCompression } from '../../readers/source/compression.js';
import { seededRandom, type Random } from '../random.js';
import { plainCaseDefaults, type FuzzCase } from './case.js';
import { compareWithOracle } from './oracles.js';
import { PropertyFailure, fuzzedFileName, readCase, type ReadOutcome } from './outcome.js';
import { randomBelow } from './pick.js';
import { checkBatchStorage } from './stored.js';
import type { SourceImport } from '../readers/import-source.js';

/** Checks the properties that must hold for every input; throws a `PropertyFailure` for the first that does not. */
export async function checkProperties(one: FuzzCase, withStorage: boolean): Promise<void> {
  const next = seededRandom(one.seed);
  const wholeOutcome = await readCase({ ...one, packing: plainCaseDefaults.packing });
  await checkCompressionInvariance(one, wholeOutcome, next);
  // A very small input is split into single lines, a large one into at most about fifty chunks.
  const leastBytes = Math.ceil(one.bytes.length / 50);
  for (const range of [1, leastBytes * 10])
    await checkChunkInvariance(one, wholeOutcome, leastBytes + randomBelow(next, range), next);
  if (wholeOutcome.kind === 'read') {
    checkCounts(wholeOutcome.import);
    checkLines(one, wholeOutcome.import);
    compareWithOracle(one, wholeOutcome.import);
    await checkSecondPass(one, wholeOutcome.import, next);
    if (withStorage) await checkStoredBatches(one);
  }
  const addedKeys = Object.keys(Object.prototype);
  if (addedKeys.length > 0)
    throw new PropertyFailure('prototype', `Object.prototype has ${String(addedKeys)}`);
}

/**
 * Compression must not change the outcome. Damage of a compressed file must lead to an error or not change the records. Only a file that is
 * cut may have fewer records, with a warning, and a file with appended bytes must be refused.
 */
async function checkCompressionInvariance(
  one: FuzzCase,
  whole: ReadOutcome,
  next: Random,
): Promise<void> {
  const { compression, damage } = one.packing;
  // Plain text that looks compressed is rejected with another message, so it is not compared.
  if (compression === 'plain' || looksCompressed(one.bytes)) return;
  const targetBytes = chunkBytes(one, next);
  const damagedOutcome = await readCase(one, { targetBytes });
  if (damage === 'none') return expectSameOutcome('packing', one, damagedOutcome, whole);
  if (damagedOutcome.kind === 'refused') return;
  const isWarned = damagedOutcome.import.warnings.some((warning) =>
    warning.includes('end block is missing'),
  );
  if (damage === 'appended')
    throw new PropertyFailure('damage', 'bytes after the compressed text went unnoticed');
  if (!(damage === 'cut' && isWarned))
    expectSameOutcome('damage', one, withoutWarnings(damagedOutcome), withoutWarnings(whole));
}

function looksCompressed(bytes: Buffer): boolean {
  try {
    return detectCompression(bytes, fuzzedFileName) !== 'plain';
  } catch {
    return true;
  }
}

/** Returns a random chunk size that gives at most about forty chunks. */
function chunkBytes({ bytes }: FuzzCase, next: Random): number {
  return Math.ceil(bytes.length / 40) + randomBelow(next, 2_000);
}

function withoutWarnings(outcome: ReadOutcome): ReadOutcome {
  return outcome.kind === 'refused'
    ? outcome
    : { ...outcome, import: { ...outcome.import, warnings: [] } };
}

/** The outcome must depend neither on the chunk size nor on the order in which the chunks are read. */
async function checkChunkInvariance(
  one: FuzzCase,
  whole: ReadOutcome,
  targetBytes: number,
  next: Random,
): Promise<void> {
  const unpackedCase = { ...one, packing: plainCaseDefaults.packing };
  const splitOutcome = await readCase(unpackedCase, { targetBytes, shuffle: next });
  expectSameOutcome('cut', one, splitOutcome, whole);
}

/** A second pass over all chunks, and an import into a dataset that already has the columns, must give the same records. */
async function checkSecondPass(one: FuzzCase, whole: SourceImport, next: Random): Promise<void> {
  if (whole.error !== null) return;
  const unpackedCase = { ...one, packing: plainCaseDefaults.packing };
  const targetBytes = chunkBytes(one, next);
  const outcomeTwice = await readCase(unpackedCase, { targetBytes, isReadTwice: true });
  expectSameOutcome('twice', one, outcomeTwice, { kind: 'read', import: whole });
  if (one.validation.strict) return; // under strict validation, a single value in a list column is an error
  const knownOutcome = await readCase(unpackedCase, { targetBytes, known: whole.columns });
  if (knownOutcome.kind === 'refused' || knownOutcome.import.error !== null) {
    const why = knownOutcome.kind === 'refused' ? knownOutcome.message : knownOutcome.import.error;
    throw new PropertyFailure('known', `refused by a dataset that has its columns: ${why}`);
  }
  throwIfDifferent('known', 'rows', knownOutcome.import.rows, whole.rows);
  throwIfDifferent('known', 'columns', knownOutcome.import.columns, whole.columns);
}

/**
 * Expects that the counts of an import agree: those of its rows and stored records, of its rejected records and errors, and of its findings
 * and their examples. An import with an error must not complete.
 */
function checkCounts({ stored, rejected, findings, rows, error }: SourceImport): void {
  if (error === null && rows.length !== stored)
    throw new PropertyFailure('count', `${rows.length} rows, ${stored} stored`);
  if (rejected > 0 !== findings.errors > 0)
    throw new PropertyFailure('count', `${rejected} rejected, ${findings.errors} errors`);
  // An import may also have an error about the file as a whole, such as a missing end.
  if (findings.errors > 0 && error === null)
    throw new PropertyFailure('count', `${findings.errors} errors, and the import completes`);
  if (findings.records !== rejected)
    throw new PropertyFailure('count', `${rejected} rejected, ${findings.records} in the findings`);
  const countedExamples = findings.examples.reduce((sum, example) => sum + example.count, 0);
  if (findings.examples.length < 1_000 && countedExamples !== findings.errors + findings.warnings)
    throw new PropertyFailure(
      'count',
      `${findings.errors} errors and ${findings.warnings} warnings, ${countedExamples} in examples`,
    );
}

/** Expects that the error of an import names the file, and that every finding has an existing line, or 0 if it is a warning. */
function checkLines(one: FuzzCase, { error, findings }: SourceImport): void {
  if (error !== null && !error.startsWith(fuzzedFileName))
    throw new PropertyFailure('unnamed', error);
  const lineCount =
    1 + one.bytes.reduce((sum, byte) => sum + Number(byte === 10 || byte === 13), 0);
  for (const { line, message, level } of findings.examples) {
    if (line > lineCount || line < (level === 'error' ? 1 : 0))
      throw new PropertyFailure('line', `line ${line} of ${lineCount}: ${message}`);
  }
}

async function checkStoredBatches(one: FuzzCase): Promise<void> {
  const unpackedCase = { ...one, packing: plainCaseDefaults.packing };
  await readCase(unpackedCase, { targetBytes: 2_000, onBatch: checkBatchStorage });
}

/** Throws a `PropertyFailure` if two outcomes differ in what a user sees. */
function expectSameOutcome(
  property: string,
  one: FuzzCase,
  found: ReadOutcome,
  want: ReadOutcome,
): void {
  if (found.kind === 'refused' || want.kind === 'refused') {
    const [a, b] = [found, want].map((outcome) =>
      outcome.kind === 'refused' ? outcome.message : (outcome.import.error ?? 'completed'),
    );
    if (a !== b) throw new PropertyFailure(property, `${a}\n  instead of: ${b}`);
    return;
  }
  // With `raise_on_errors`, each chunk stops at its first error, so the number of errors depends on the chunks and only the first error is
  // compared.
  if (one.validation.raiseOnErrors && want.import.error !== null) {
    const withoutErrorCount = (text: string | null): string | undefined =>
      text?.replace(/; \d+ more errors?$/, '');
    return throwIfDifferent(
      property,
      'error',
      withoutErrorCount(found.import.error),
      withoutErrorCount(want.import.error),
    );
  }
  const comparedKeys = [
    'error',
    'findings',
    'warnings',
    'about',
    'genomeBuild',
    'rejected',
  ] as const;
  for (const part of comparedKeys)
    throwIfDifferent(property, part, found.import[part], want.import[part]);
  if (want.import.error !== null) return; // an import with an error stores no records
  for (const part of ['stored', 'rows'] as const)
    throwIfDifferent(property, part, found.import[part], want.import[part]);
  // Without records, the declared columns depend on whether a chunk is empty, so they are not compared.
  if (want.import.stored > 0)
    throwIfDifferent(property, 'columns', found.import.columns, want.import.columns);
}

function throwIfDifferent(
  property: string,
  part: string,
  foundValue: unknown,
  expectedValue: unknown,
): void {
  if (isDeepStrictEqual(foundValue, expectedValue)) return;
  if (
    Array.isArray(foundValue) &&
    Array.isArray(expectedValue) &&
    foundValue.length === expectedValue.length
  ) {
    const i = foundValue.findIndex((item, at) => !isDeepStrictEqual(item, expectedValue[at]));
    return throwIfDifferent(property, `${part}[${i}]`, foundValue[i], expectedValue[i]);
  }
  throw new PropertyFailure(
    property,
    `${part}: ${shortenedJsonText(foundValue)}\n  instead of: ${shortenedJsonText(expectedValue)}`,
  );
}

function shortenedJsonText(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'bigint' ? `${item}n` : Object.is(item, -0) ? '-0' : item,
  );
  return (text ?? 'undefined').slice(0, 700);
}
