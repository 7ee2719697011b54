import type { Snapshot } from '../../store/store.js';
import type {
  CountsByNode,
  Interval,
  RecordInspector,
  ValuesAround,
} from '../executor/record-inspector.js';
import { and, type CaseVariants, type FieldRef, type Predicate } from '../predicate/predicate.js';
import { leavesOf, type ExplainGroup } from '../request/condition-node.js';
import { compilePredicate } from './compile-predicate.js';
import { countEach, countNodes } from './count-statement.js';
import { paramTypeOf } from './dialect/params.js';
import {
  fieldExpression,
  newStatement,
  type SelectStatement,
  type SqlSession,
  type Statement,
} from './dialect/statement.js';

const maxSuggestedStrings = 5;

/** The inspector that answers by SQL. It opens its session for the first request. */
export class SqlRecordInspector implements RecordInspector {
  readonly #snapshot: Snapshot;
  readonly #open: () => Promise<SqlSession>;
  #openedSession: Promise<SqlSession> | undefined;

  constructor(snapshot: Snapshot, open: () => Promise<SqlSession>) {
    this.#snapshot = snapshot;
    this.#open = open;
  }

  async caseVariants(): Promise<CaseVariants> {
    return (await this.#session()).caseVariants;
  }

  async countNodes(root: ExplainGroup): Promise<CountsByNode> {
    const { findCaseVariants, language, rows } = await this.#session();
    const conditions = and(leavesOf(root).map(({ predicate }) => predicate));
    const caseVariants = await findCaseVariants(conditions);
    return countNodes(newStatement(this.#snapshot, caseVariants, language), root, rows);
  }

  async countConjunctions(
    lists: readonly (readonly Predicate[])[],
    parts: readonly Predicate[],
  ): Promise<readonly number[]> {
    if (lists.length === 0) return [];
    return countEach(await this.#statement(), lists, parts, this.#rows);
  }

  async valuesAround(
    { field, low, high }: Interval,
    scope: Predicate,
  ): Promise<ValuesAround | undefined> {
    const statement = await this.#statement();
    const expression = fieldExpression(statement, field);
    if (!expression) return undefined;
    const { dialect, params, source } = statement;
    const type = paramTypeOf(field);
    const greatestBelow =
      low === null ? 'NULL' : `max(CASE WHEN v < ${params.add(type, low)} THEN v END)`;
    const leastAbove =
      high === null ? 'NULL' : `min(CASE WHEN v > ${params.add(type, high)} THEN v END)`;
    const shownBounds = [greatestBelow, leastAbove, 'min(v)', 'max(v)'].map((value) =>
      value === 'NULL' ? 'NULL' : dialect.json(value, expression.type),
    );
    const eachValue = expression.isMany ? dialect.spreadAll(expression.sql) : expression.sql;
    const relation = `(SELECT ${eachValue} AS v FROM ${source} WHERE ${compilePredicate(statement, scope)}) AS q`;
    const [row = []] = await this.#rows({
      sql: `SELECT ${shownBounds.join(', ')} FROM ${relation}`,
      params: params.boundValues,
    });
    const [below, above, least, most] = shownBounds.map((_, i) => parseJsonValue(row[i]));
    return { field, below, above, least, most };
  }

  async similarStrings(field: FieldRef, text: string): Promise<readonly string[]> {
    const maxDistance = text.length <= 3 ? 1 : text.length <= 6 ? 2 : 3;
    const statement = await this.#statement();
    const expression = fieldExpression(statement, field);
    if (!expression || text.length > 64) return [];
    const { dialect, params, source } = statement;
    const foldedText = dialect.fold(params.add('string', text));
    const distance = dialect.editDistance(dialect.fold('v'), foldedText, maxDistance);
    const eachValue = expression.isMany ? dialect.spread(expression.sql) : expression.sql;
    const valuesWithDistance = `(SELECT v, ${distance} AS d FROM (SELECT ${eachValue} AS v FROM ${source}) AS q) AS s`;
    const rows = await this.#rows({
      sql: `SELECT v FROM ${valuesWithDistance} WHERE d <= ${maxDistance} GROUP BY v ORDER BY min(d), count(*) DESC, v LIMIT ${maxSuggestedStrings}`,
      params: params.boundValues,
    });
    return rows.map(([value]) => String(value));
  }

  async frequentStrings(field: FieldRef, scope: Predicate): Promise<readonly string[]> {
    const statement = await this.#statement();
    const expression = fieldExpression(statement, field);
    if (!expression || expression.isMany) return [];
    const { params, source } = statement;
    const first = `(SELECT ${expression.sql} AS v FROM ${source} WHERE ${compilePredicate(statement, scope)} LIMIT 1000) AS q`;
    const rows = await this.#rows({
      sql: `SELECT v FROM ${first} WHERE v IS NOT NULL GROUP BY v ORDER BY count(*) DESC, v LIMIT ${maxSuggestedStrings}`,
      params: params.boundValues,
    });
    return rows.map(([value]) => String(value));
  }

  async #statement(): Promise<Statement> {
    const { language } = await this.#session();
    return newStatement(this.#snapshot, undefined, language);
  }

  readonly #rows = async (select: SelectStatement): ReturnType<SqlSession['rows']> =>
    (await this.#session()).rows(select);

  #session(): Promise<SqlSession> {
    return (this.#openedSession ??= this.#open());
  }
}

/** Parses a JSON text. An integer beyond 2^53 stays a string, because JSON.parse would round it. */
function parseJsonValue(json: unknown): unknown {
  if (json === null || json === undefined) return null;
  const text = String(json);
  const value: unknown = JSON.parse(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? text : value;
}
