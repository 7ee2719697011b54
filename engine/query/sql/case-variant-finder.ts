import { createHash } from 'node:crypto';
import type { Snapshot } from '../../store/store.js';
import type { SqlEngine } from './sql-engine.js';
import type { RunSelect } from './dialect/statement.js';
import { kindOf } from '../predicate/kinds/index.js';
import { allConditionsIn, type CaseVariants, type Condition, type FieldRef, type Predicate } from '../predicate/predicate.js'; // prettier-ignore
import { fieldExpression, newStatement } from './dialect/statement.js';

/** The number of rows below which folding the case of every value is fast enough. */
const minRowsForVariants = 100_000;
const maxCaseVariants = 1_000;
const maxComparedValues = 32;
const maxCachedResults = 10_000;

type LetterCase = 'upper' | 'lower' | 'mixed';

/**
 * Finds the case variants of a value that a large dataset stores, so that a comparison that ignores case can use `=`. For 5 million
 * variants, `=` takes 24 ms, because row group statistics leave one group to read; folding every stored value took 240 ms.
 * - Each string column is examined once per file, in the background, after the first query that would gain from it (0.4 s for 5 million
 * variants). If the whole column is ASCII in upper case or in lower case, the values of a query are converted to that case, provided that
 * they are ASCII, too.
 * - If the column is mixed, a query of the column alone searches the case variants of up to `maxComparedValues` values (4 ms for 5 million
 * genes with 2,000 names); the page, its total and its facets then use the result.
 * Files and versions never change, so results stay valid; losing them only costs time.
 */
export class CaseVariantFinder {
  readonly #engine: SqlEngine;
  readonly #letters = new Map<string, LetterCase>();
  readonly #variants = new Map<string, readonly string[] | null>();
  readonly #pending = new Map<string, Promise<void>>();

  constructor(engine: SqlEngine) {
    this.#engine = engine;
  }

  /** Returns the stored case variants for the comparisons in `predicate`, as far as they are known or can be found by running `runSelect`. */
  async find(
    snapshot: Snapshot,
    predicate: Predicate,
    runSelect: RunSelect,
  ): Promise<CaseVariants> {
    const variantsByCondition = new Map<Predicate, readonly string[]>();
    if (snapshot.rows < minRowsForVariants) return variantsByCondition;
    for (const comparison of comparisonsInAnyCase(predicate)) {
      const { condition, values } = comparison;
      const letters = this.#lettersOf(snapshot, condition.field);
      if (letters === 'mixed') {
        const variants = await this.#search(snapshot, comparison, runSelect);
        if (variants) variantsByCondition.set(condition, variants);
      } else if (letters && values.every((value) => /^\p{ASCII}*$/u.test(value))) {
        const changedValues = values.map((value) =>
          letters === 'upper' ? value.toUpperCase() : value.toLowerCase(),
        );
        variantsByCondition.set(condition, [...new Set(changedValues)]);
      }
    }
    return variantsByCondition;
  }

  #lettersOf(snapshot: Snapshot, field: FieldRef): LetterCase | undefined {
    const knownLetters = snapshot.files.map((file) => this.#letters.get(fileKey(file, field)));
    if (knownLetters.includes('mixed')) return 'mixed';
    const unknown = snapshot.files.filter((_, index) => knownLetters[index] === undefined);
    if (unknown.length > 0) {
      this.#learn(snapshot, unknown, field);
      return undefined;
    }
    return knownLetters.every((letters) => letters === knownLetters[0]) ? knownLetters[0] : 'mixed';
  }

  #learn(snapshot: Snapshot, files: readonly string[], field: FieldRef): void {
    const name = `${snapshot.datasetId}\n${field.path.join('\n')}`;
    if (this.#pending.has(name)) return;
    const work = this.#remember({ ...snapshot, files }, field).finally(() =>
      this.#pending.delete(name),
    );
    this.#pending.set(name, work);
  }

  async #remember(snapshot: Snapshot, field: FieldRef): Promise<void> {
    try {
      const letters = await this.#examine(snapshot, field);
      if (this.#letters.size > maxCachedResults) this.#letters.clear();
      for (const file of snapshot.files) this.#letters.set(fileKey(file, field), letters);
    } catch {
      // If the column cannot be examined, queries are only slower: a query reads the same files and reports the error.
    }
  }

  async #examine(snapshot: Snapshot, field: FieldRef): Promise<LetterCase> {
    for (const letters of ['upper', 'lower'] as const) {
      const statement = newStatement(snapshot, undefined, this.#engine.language);
      const expression = fieldExpression(statement, field);
      if (!expression) return 'upper';
      const { dialect, params, source } = statement;
      const value = expression.isMany ? dialect.spread(expression.sql) : expression.sql;
      const sql = `SELECT 1 FROM (SELECT ${value} AS v FROM ${source})
        WHERE ${dialect.isNotAsciiInCase('v', letters)} LIMIT 1`;
      const otherVariants = await this.#engine.run(sql, params.boundValues);
      if (otherVariants.length === 0) return letters;
    }
    return 'mixed';
  }

  /** Searches the stored case variants; returns undefined if there are too many values or variants for `=` to be faster. */
  async #search(
    snapshot: Snapshot,
    { condition: { field }, values: wanted }: ComparisonInAnyCase,
    rows: RunSelect,
  ): Promise<readonly string[] | undefined> {
    if (wanted.length > maxComparedValues) return undefined;
    const searchKey = [snapshot.datasetId, snapshot.version, field.path, wanted];
    const key = createHash('sha256').update(JSON.stringify(searchKey)).digest('base64');
    const cachedVariants = this.#variants.get(key);
    if (cachedVariants !== undefined) return cachedVariants ?? undefined;
    const statement = newStatement(snapshot, undefined, this.#engine.language);
    const expression = fieldExpression(statement, field);
    if (!expression) return [];
    const { dialect, params, source } = statement;
    const value = expression.isMany ? dialect.spread(expression.sql) : expression.sql;
    const placeholders = wanted.map((each) => dialect.fold(params.add('string', each)));
    const sql = `SELECT DISTINCT v FROM (SELECT ${value} AS v FROM ${source})
      WHERE ${dialect.isOneOf(dialect.fold('v'), placeholders, 'string')} LIMIT ${maxCaseVariants + 1}`;
    const foundVariants = (await rows({ sql, params: params.boundValues })).map(
      (row) => row[0] as string,
    );
    const variants = foundVariants.length > maxCaseVariants ? null : foundVariants;
    if (this.#variants.size > maxCachedResults) this.#variants.clear();
    this.#variants.set(key, variants);
    return variants ?? undefined;
  }
}

function fileKey(file: string, field: FieldRef): string {
  return `${file}\n${field.path.join('\n')}`;
}

/** A condition that compares values in any letter case. */
interface ComparisonInAnyCase {
  readonly condition: Condition;
  readonly values: readonly string[];
}

/** Returns the comparisons that ignore case and have a letter or a character outside ASCII in a value. */
function comparisonsInAnyCase(predicate: Predicate): readonly ComparisonInAnyCase[] {
  return allConditionsIn(predicate).flatMap((condition) => {
    const values = kindOf(condition).valuesInAnyCase?.(condition) ?? [];
    return values.some((value) => /[^\p{ASCII}]|[A-Za-z]/u.test(value))
      ? [{ condition, values }]
      : [];
  });
}
