import type { FieldIndex } from '../fields.js';
import { all } from '../../predicate/predicate.js';
import { Problem, problemAt, show } from '../problem.js';
import { parseGrammar } from './grammar.js';
import { meaningOf, type Meaning } from './meaning.js';

/** Parses `query` (query language 4). Throws a 400 under the key `query` that names the place; a blank text finds everything. */
export function parseQueryString(input: unknown, fields: FieldIndex): Meaning {
  if (input === undefined || input === null) return { predicate: all, scores: [] };
  try {
    if (typeof input !== 'string') throw new Problem(`Expected text, not ${show(input)}`);
    if (input.trim() === '') return { predicate: all, scores: [] };
    return meaningOf(parseGrammar(input), fields);
  } catch (error) {
    if (error instanceof Problem) throw problemAt('query', 'query', error);
    throw error;
  }
}
