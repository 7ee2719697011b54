import type { Snapshot } from '../../store/store.js';
import { foldTerm } from '../../text/fold.js';
import type { TextQuery } from '../../text/column-matcher.js';
import type { RankedRow } from '../../text/ranking.js';
import { search, type RankedPhrase, type TimeSlice } from '../../text/ranked-search.js';
import type { Place } from '../plan/column-engine.js';
import type { Position } from '../sql/cursor.js';
import type { Language } from '../sql/dialect.js';
import type { Select } from '../sql/page.js';
import { atPlaces } from '../sql/places.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import type { QueryRequest } from '../request/request.js';
import { textField } from './text-field.js';
import { turnsOf } from '../plan/turns.js';
import { weighed } from './weigh.js';

/** How a query that is ranked by its words is to be answered. */
export interface TextPlan {
  /** The snapshot and the request to make statements of. */
  readonly snapshot: Snapshot;
  readonly request: QueryRequest;
  /** The page's records in the whole snapshot, where the index has told which they are. */
  readonly places?: readonly Place[];
  /** Absent where it is to be counted. */
  readonly total?: number;
  /** Behind the last record of the page, in a walk. */
  readonly position?: Position | undefined;
}

/** A page that the index of words has told. */
export interface RankedWords {
  readonly places: readonly Place[];
  readonly total: number;
  /** Behind the last of them. */
  readonly position: Position | undefined;
}

/** What the plan needs of a running query. */
interface Running {
  /** The snapshot without the files that cannot hold a match. */
  readonly scope: Snapshot;
  readonly language: Language;
  readonly rows: (select: Select) => Promise<readonly (readonly unknown[])[]>;
}

/** Pages that begin further behind are left to the SQL engine, which sorts on disk. */
export const deepestRanked = 200_000;

/**
 * Looks at the index of words for a query that has no other order. If the query is about the words of one text field alone, the index
 * tells the total and the records of the page, and the SQL engine has only to fetch these. For all others it tells, where
 * it can, how rare the words are, which the order depends on.
 */
export async function textPlan(
  run: Running,
  snapshot: Snapshot,
  request: QueryRequest,
  options: { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number | undefined },
): Promise<TextPlan> {
  if (request.ordering.length > 0 || request.scores.length === 0 || snapshot.rows === 0) {
    return { snapshot: run.scope, request };
  }
  const turns = turnsOf(options);
  const found = await ranked(run, snapshot, request, turns);
  if (found !== undefined) return { ...atPlaces(snapshot, request, found.places), ...found };
  if (request.limit === 0) return { snapshot: run.scope, request };
  // How rare a word is, all records tell.
  return { snapshot: run.scope, request: await weighed(run, snapshot, request, turns) };
}

/** The page, if the query is about the words of one text field alone. */
export async function ranked(
  { language }: Pick<Running, 'language'>,
  snapshot: Snapshot,
  request: QueryRequest,
  turns: TimeSlice,
): Promise<RankedWords | undefined> {
  const { predicate, offset, limit, walk } = request;
  if (offset + limit > deepestRanked || !language(snapshot.columns).listedPlace) return undefined;
  const fields = new Set<string>();
  const query = queryOf(predicate, fields);
  const phrases = request.scores.map((score) => phraseOf(score, fields));
  if (query === undefined || phrases.includes(undefined) || fields.size !== 1) return undefined;
  const field = await textField(snapshot, fieldOf(predicate)!);
  if (field === undefined) return undefined;
  const wanted = (phrases as readonly RankedPhrase[]).filter(({ boost }) => boost > 0);
  if (wanted.length === 0) return undefined;
  const after = walk?.after ? rowOf(walk.after) : undefined;
  const { rows, total } = await search(field, query, wanted, { after, offset, limit }, turns);
  return { ...placesOf(rows), total };
}

/** Where ranked rows are, and the position behind the last of them. */
export function placesOf(rows: readonly RankedRow[]): Pick<RankedWords, 'places' | 'position'> {
  const last = rows.at(-1);
  return {
    places: rows.map(({ segment, row }) => [segment, row] as const),
    position: last && { keys: [last.score], file: last.segment + 1, row: BigInt(last.row) },
  };
}

/** A position in a ranking. */
export function rowOf({ keys, file, row }: Position): RankedRow {
  return { score: Number(keys[0]), segment: file - 1, row: Number(row) };
}

/** What the words of one field say by themselves; undefined if something else counts too. Notes the fields. */
function queryOf(predicate: Predicate, fields: Set<string>): TextQuery | undefined {
  switch (predicate.kind) {
    case 'words':
      fields.add(predicate.field.path.join('\n'));
      return { kind: 'and', items: predicate.words.map((word) => phrase([word])) };
    case 'phrase':
      fields.add(predicate.field.path.join('\n'));
      return phrase(predicate.words);
    case 'or': {
      const items = predicate.items.map((item) => queryOf(item, fields));
      return items.includes(undefined) ? undefined : { kind: 'or', items: items as TextQuery[] };
    }
    case 'and': {
      const isNot = (item: Predicate): boolean => item.kind === 'not';
      const items = predicate.items
        .filter((item) => !isNot(item))
        .map((item) => queryOf(item, fields));
      const others = predicate.items
        .filter(isNot)
        .map((item) => (item.kind === 'not' ? queryOf(item.item, fields) : undefined));
      // A negation alone is true of records without a text, of which the index knows nothing.
      if (items.length === 0 || items.includes(undefined) || others.includes(undefined)) {
        return undefined;
      }
      const item: TextQuery = { kind: 'and', items: items as TextQuery[] };
      if (others.length === 0) return item;
      return { kind: 'without', item, other: { kind: 'or', items: others as TextQuery[] } };
    }
    default:
      return undefined;
  }
}

function phrase(words: readonly string[]): TextQuery {
  return { kind: 'phrase', terms: words.map(foldTerm) };
}

function phraseOf(
  { item, boost }: QueryRequest['scores'][number],
  fields: Set<string>,
): RankedPhrase | undefined {
  if (item.kind !== 'words' && item.kind !== 'phrase') return undefined;
  if (item.kind === 'words' && item.words.length !== 1) return undefined;
  fields.add(item.field.path.join('\n'));
  return { terms: item.words.map(foldTerm), boost };
}

function fieldOf(predicate: Predicate): FieldRef | undefined {
  if (predicate.kind === 'words' || predicate.kind === 'phrase') return predicate.field;
  if (predicate.kind !== 'and' && predicate.kind !== 'or') return undefined;
  for (const item of predicate.items) {
    const field = fieldOf(item);
    if (field !== undefined) return field;
  }
  return undefined;
}
