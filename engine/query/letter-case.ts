import type { Snapshot } from '../store/store.js';
import type { QueryEngine } from './engine.js';
import type { FieldRef, Predicate } from './predicate.js';
import { access, begin, type KnownCase, type LetterCase } from './statement.js';

/** Below this many rows folding every value is quick enough. */
const smallestTable = 100_000;
const rememberedColumns = 10_000;

/**
 * Learns which string columns are written in one letter case, so that a comparison that ignores case can use `=` (compile.ts).
 * A column is looked at once per file, in the background, after the first query that would gain from it: 0.4 s for 5 million
 * variants. Files never change, so what was found stays true; nothing is lost when it is forgotten.
 */
export class LetterCases {
  readonly #engine: QueryEngine;
  readonly #known = new Map<string, LetterCase>();
  readonly #pending = new Map<string, Promise<void>>();

  constructor(engine: QueryEngine) {
    this.#engine = engine;
  }

  /** What is known of the columns that `predicate` compares without letter case; starts to find out what is not. */
  of(snapshot: Snapshot, predicate: Predicate): KnownCase {
    if (snapshot.rows < smallestTable) return () => undefined;
    const found = new Map<string, LetterCase | undefined>();
    for (const field of folded(predicate))
      found.set(field.path.join('\n'), this.#lookUp(snapshot, field));
    return (path) => found.get(path.join('\n'));
  }

  /** Resolves when nothing is being found out. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending.values());
  }

  #lookUp(snapshot: Snapshot, field: FieldRef): LetterCase | undefined {
    const files = snapshot.files;
    const known = files.map((file) => this.#known.get(key(file, field)));
    if (known.includes('mixed')) return 'mixed';
    const unknown = files.filter((_, index) => known[index] === undefined);
    if (unknown.length > 0) {
      this.#find(snapshot, unknown, field);
      return undefined;
    }
    return known.every((letters) => letters === known[0]) ? known[0] : 'mixed';
  }

  #find(snapshot: Snapshot, files: readonly string[], field: FieldRef): void {
    const name = `${snapshot.datasetId}\n${field.path.join('\n')}`;
    if (this.#pending.has(name)) return;
    const work = this.#examine({ ...snapshot, files }, field)
      .then((letters) => {
        if (this.#known.size > rememberedColumns) this.#known.clear();
        for (const file of files) this.#known.set(key(file, field), letters);
      })
      // Only a speed-up is lost; the query that reads the same files reports what is wrong with them.
      .catch(() => undefined)
      .finally(() => this.#pending.delete(name));
    this.#pending.set(name, work);
  }

  async #examine(snapshot: Snapshot, field: FieldRef): Promise<LetterCase> {
    for (const letters of ['upper', 'lower'] as const) {
      const statement = begin(snapshot);
      const values = access(statement, field);
      if (!values) return 'upper';
      const value = values.isMany ? statement.dialect.spread(values.sql) : values.sql;
      // strlen counts bytes: a value beyond ASCII differs from its length in characters.
      const sql = `SELECT 1 FROM (SELECT ${value} AS v FROM ${statement.source})
        WHERE v <> ${letters}(v) OR strlen(v) <> length(v) LIMIT 1`;
      const others = await this.#engine.run(sql, statement.params.list);
      if (others.length === 0) return letters;
    }
    return 'mixed';
  }
}

function key(file: string, field: FieldRef): string {
  return `${file}\n${field.path.join('\n')}`;
}

/** The fields that are compared with letters in the value, where letter case matters. */
function folded(predicate: Predicate): readonly FieldRef[] {
  if (predicate.kind === 'and' || predicate.kind === 'or') return predicate.items.flatMap(folded);
  if (predicate.kind === 'not') return folded(predicate.item);
  if (predicate.kind !== 'in' || !predicate.ignoreCase) return [];
  return predicate.values.some((value) => /[A-Za-z]/.test(String(value))) ? [predicate.field] : [];
}
