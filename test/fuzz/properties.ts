import { isDeepStrictEqual } from 'node:util';
import type { Batch } from '../../engine/ingest/batch.js';
import { compressionOf } from '../../readers/source/compression.js';
import { random, type Random } from '../random.js';
import type { SourceImport } from '../readers/import-source.js';
import { plainly, type FuzzCase } from './case.js';
import { agreesWithOracle } from './oracles.js';
import { Failure, fileName, outcomeOf, type Outcome } from './outcome.js';
import { below } from './pick.js';
import { isReadBack } from './stored.js';

/** Throws a `Failure` when the case breaks one of the rules that hold for every input. */
export async function check(one: FuzzCase, isStoredToo: boolean): Promise<void> {
  const next = random(one.seed);
  const whole = await outcomeOf({ ...one, packing: plainly.packing });
  await packedAsPlain(one, whole, next);
  // Pieces of single lines for small inputs, some dozens of pieces for large ones.
  const least = Math.ceil(one.bytes.length / 50);
  for (const most of [1, least * 10]) await cutAsWhole(one, whole, least + below(next, most), next);
  if (whole.kind === 'read') {
    counted(whole.import);
    located(one, whole.import);
    agreesWithOracle(one, whole.import);
    await twiceAsOnce(one, whole.import, next);
    if (isStoredToo) await storedAsRead(one);
  }
  const spoiled = Object.keys(Object.prototype);
  if (spoiled.length > 0) throw new Failure('prototype', `Object.prototype has ${String(spoiled)}`);
}

/** Any packing gives the same; damage gives an error or a warning, never other records in silence. */
async function packedAsPlain(one: FuzzCase, whole: Outcome, next: Random): Promise<void> {
  const { layer, damage } = one.packing;
  // A text that is packed already, or seems to be, is refused in other words.
  if (layer === 'plain' || looksPacked(one.bytes)) return;
  const targetBytes = pieceBytes(one, next);
  const found = await outcomeOf(one, { targetBytes });
  if (damage === 'none') return same('packing', one, found, whole);
  if (found.kind === 'refused') return;
  const isWarned = found.import.warnings.some((warning) =>
    warning.includes('end block is missing'),
  );
  if (damage === 'appended')
    throw new Failure('damage', 'something behind the packed text went unnoticed');
  if (!(damage === 'cut' && isWarned))
    same('damage', one, withoutWarnings(found), withoutWarnings(whole));
}

function looksPacked(bytes: Buffer): boolean {
  try {
    return compressionOf(bytes, fileName) !== 'plain';
  } catch {
    return true;
  }
}

/** A size that makes a few dozen pieces at most. */
function pieceBytes({ bytes }: FuzzCase, next: Random): number {
  return Math.ceil(bytes.length / 40) + below(next, 2_000);
}

function withoutWarnings(outcome: Outcome): Outcome {
  return outcome.kind === 'refused'
    ? outcome
    : { ...outcome, import: { ...outcome.import, warnings: [] } };
}

/** However the text is cut and in whatever order its pieces are read. */
async function cutAsWhole(
  one: FuzzCase,
  whole: Outcome,
  targetBytes: number,
  next: Random,
): Promise<void> {
  const plain = { ...one, packing: plainly.packing };
  const cut = await outcomeOf(plain, { targetBytes, shuffle: next });
  same(`cut`, one, cut, whole);
}

/** What a second pass over all of it, or an import into a dataset with these columns, comes to. */
async function twiceAsOnce(one: FuzzCase, whole: SourceImport, next: Random): Promise<void> {
  if (whole.error !== null) return;
  const plain = { ...one, packing: plainly.packing };
  const targetBytes = pieceBytes(one, next);
  const twice = await outcomeOf(plain, { targetBytes, isReadTwice: true });
  same('twice', one, twice, { kind: 'read', import: whole });
  if (one.validation.strict) return; // a value in the place of a list of one is an error then
  const known = await outcomeOf(plain, { targetBytes, known: whole.columns });
  // Columns whose values are all null are found, and then not stored: there is nothing to know of them.
  if (known.kind === 'refused' || known.import.error !== null) {
    const why = known.kind === 'refused' ? known.message : known.import.error;
    throw new Failure('known', `refused by a dataset that has its columns: ${why}`);
  }
  different('known', 'rows', known.import.rows, whole.rows);
  different('known', 'columns', known.import.columns, whole.columns);
}

/** `read = stored + rejected`, and what is rejected is said. */
function counted({ stored, rejected, findings, rows, error }: SourceImport): void {
  if (error === null && rows.length !== stored)
    throw new Failure('count', `${rows.length} rows, ${stored} stored`);
  if (rejected > 0 !== findings.errors > 0)
    throw new Failure('count', `${rejected} rejected, ${findings.errors} errors`);
  // A file may also be wrong as a whole: cut off, say.
  if (findings.errors > 0 && error === null)
    throw new Failure('count', `${findings.errors} errors, and the import completes`);
  if (findings.records !== rejected)
    throw new Failure('count', `${rejected} rejected, ${findings.records} in the findings`);
  const told = findings.examples.reduce((sum, example) => sum + example.count, 0);
  if (findings.examples.length < 1_000 && told !== findings.errors + findings.warnings)
    throw new Failure(
      'count',
      `${findings.errors} errors and ${findings.warnings} warnings, ${told} in examples`,
    );
}

/** Every error names the file and a line that is there. */
function located(one: FuzzCase, { error, findings }: SourceImport): void {
  if (error !== null && !error.startsWith(fileName)) throw new Failure('unnamed', error);
  const lines = 1 + one.bytes.reduce((sum, byte) => sum + Number(byte === 10 || byte === 13), 0);
  for (const { line, message, level } of findings.examples) {
    if (line > lines || line < (level === 'error' ? 1 : 0))
      throw new Failure('line', `line ${line} of ${lines}: ${message}`);
  }
}

async function storedAsRead(one: FuzzCase): Promise<void> {
  const batches: Batch[] = [];
  const plain = { ...one, packing: plainly.packing };
  await outcomeOf(plain, { targetBytes: 2_000, onBatch: (batch) => batches.push(batch) });
  for (const batch of batches) await isReadBack(batch);
}

/** What a user could tell apart. */
function same(property: string, one: FuzzCase, found: Outcome, want: Outcome): void {
  if (found.kind === 'refused' || want.kind === 'refused') {
    const [a, b] = [found, want].map((outcome) =>
      outcome.kind === 'refused' ? outcome.message : (outcome.import.error ?? 'completed'),
    );
    if (a !== b) throw new Failure(property, `${a}\n  instead of: ${b}`);
    return;
  }
  // With `raise_on_errors` each piece stops at its first error: how many there were is not known.
  if (one.validation.raiseOnErrors && want.import.error !== null) {
    const first = (text: string | null): string | undefined =>
      text?.replace(/; \d+ more errors?$/, '');
    return different(property, 'error', first(found.import.error), first(want.import.error));
  }
  const always = ['error', 'findings', 'warnings', 'about', 'genomeBuild', 'rejected'] as const;
  for (const part of always) different(property, part, found.import[part], want.import[part]);
  if (want.import.error !== null) return; // what came before the error is not kept
  for (const part of ['stored', 'rows'] as const)
    different(property, part, found.import[part], want.import[part]);
  // Formats declare columns: whether a file without a record has an empty piece does not matter.
  if (want.import.stored > 0)
    different(property, 'columns', found.import.columns, want.import.columns);
}

function different(property: string, part: string, found: unknown, want: unknown): void {
  if (isDeepStrictEqual(found, want)) return;
  if (Array.isArray(found) && Array.isArray(want) && found.length === want.length) {
    const i = found.findIndex((item, at) => !isDeepStrictEqual(item, want[at]));
    return different(property, `${part}[${i}]`, found[i], want[i]);
  }
  throw new Failure(property, `${part}: ${shown(found)}\n  instead of: ${shown(want)}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'bigint' ? `${item}n` : Object.is(item, -0) ? '-0' : item,
  );
  return (text ?? 'undefined').slice(0, 700);
}
