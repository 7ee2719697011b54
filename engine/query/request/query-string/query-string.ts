import { budgets } from '../../../core/budgets.js';
import { conditionOfAction, coordinateValue } from '../actions.js';
import { intervalPredicate, type RangeEndText } from '../ranges.js';
import { elementFields, fieldRef, isReserved, type FieldIndex } from '../fields.js';
import {
  all,
  and,
  any,
  node,
  none,
  not,
  or,
  type FieldRef,
  type Predicate,
  type ScoreTerm,
  type WildPart,
} from '../../predicate/predicate.js';
import { Problem, problemAt, shownValue } from '../problem.js';
import { tokenize } from '../../../text/tokenizer.js';
import {
  parseGrammar,
  type Atom,
  type Clause,
  type ClauseLevel,
  type ValueAtom,
} from './grammar.js';

/** A compiled query string: which records match, and the clauses that rank them. */
export interface CompiledQueryString {
  readonly predicate: Predicate;
  readonly scores: readonly ScoreTerm[];
}

/**
 * Parses `query` (query language 4); a blank string matches every record. Throws an `invalid` or `budget` error under the key
 * `query` that tells the position in the string.
 */
export function parseQueryString(input: unknown, fields: FieldIndex): CompiledQueryString {
  if (input === undefined || input === null) return unrankedQuery(all);
  try {
    if (typeof input !== 'string') throw new Problem(`Expected text, not ${shownValue(input)}`);
    if (input.trim() === '') return unrankedQuery(all);
    return compileQueryString(parseGrammar(input), fields);
  } catch (error) {
    if (error instanceof Problem) throw problemAt('query', 'query', error);
    throw error;
  }
}

/** Compiles the parsed tree to a predicate over these fields (query language 4.2). */
export function compileQueryString(level: ClauseLevel, fields: FieldIndex): CompiledQueryString {
  return new Compiler(fields).level(level);
}

const holdsText = (field: FieldRef): boolean => field.type === 'string' || field.type === 'text';

class Compiler {
  readonly #textFields: readonly FieldRef[];

  constructor(
    readonly fields: FieldIndex,
    readonly size = { conditions: 0 },
  ) {
    this.#textFields = fields.rows
      .map(fieldRef)
      .filter((field) => holdsText(field) && !isReserved(field.path));
  }

  /** `+` clauses must match and `-` clauses must not. The others are alternatives, or only rank if there is a `+` clause. */
  level({ alternatives }: ClauseLevel): CompiledQueryString {
    const required: Predicate[] = [];
    const excluded: Predicate[] = [];
    const optional: Predicate[] = [];
    const scores: ScoreTerm[] = [];
    for (const clauses of alternatives) {
      const [first] = clauses;
      if (clauses.length === 1 && first!.sign === 'prohibited') {
        excluded.push(this.#atom(first!.atom).predicate);
        continue;
      }
      const items = clauses.map((clause) => this.#clause(clause));
      scores.push(...items.flatMap((item) => item.scores));
      const isRequired = clauses.some(({ sign }) => sign === 'required');
      (isRequired ? required : optional).push(and(items.map(({ predicate }) => predicate)));
    }
    const wantedPredicate =
      required.length > 0 ? and(required) : optional.length > 0 ? or(optional) : all;
    return { predicate: and([wantedPredicate, ...excluded.map(not)]), scores };
  }

  #clause({ sign, atom, boost }: Clause): CompiledQueryString {
    const { predicate, scores } = this.#atom(atom);
    if (sign === 'not' || sign === 'prohibited') return { predicate: not(predicate), scores: [] };
    return { predicate, scores: scores.map((score) => ({ ...score, boost: score.boost * boost })) };
  }

  #atom(atom: Atom): CompiledQueryString {
    if (atom.kind === 'group') return this.level(atom.level);
    if (atom.kind === 'element') return this.#element(atom.field, atom.level);
    if (atom.kind === 'exists' || atom.kind === 'missing')
      return this.#presence(atom.kind, atom.field);
    const isAny = atom.kind === 'term' && atom.parts.length === 1 && atom.parts[0] === 'any';
    if (isAny && atom.field === null) return unrankedQuery(all);
    if (atom.field === null) {
      return rankedQuery(or(this.#textFields.map((field) => this.#inField(atom, field))));
    }
    if (isAny) return this.#presence('exists', atom.field);
    const row = this.fields.find(atom.field);
    // Unlike a filter, a query string may name a field that the dataset does not have.
    return row ? rankedQuery(this.#inField(atom, fieldRef(row))) : unrankedQuery(none);
  }

  /** Choice: conditions in braces do not rank, and braces behind a field that is no list of objects match nothing. */
  #element(name: string, level: ClauseLevel): CompiledQueryString {
    const row = this.fields.find(name);
    const fieldsInside = row && elementFields(this.fields, row);
    if (!fieldsInside) return unrankedQuery(none);
    const { predicate } = new Compiler(fieldsInside, this.size).level(level);
    return unrankedQuery(any(fieldRef(row), predicate));
  }

  #presence(kind: 'exists' | 'missing', name: string): CompiledQueryString {
    const row = this.fields.find(name);
    if (!row) return unrankedQuery(none);
    const missing = node({ kind: 'missing', field: fieldRef(row) });
    return unrankedQuery(kind === 'missing' ? missing : not(missing));
  }

  #inField(atom: ValueAtom, field: FieldRef): Predicate {
    this.size.conditions += 1;
    if (this.size.conditions > budgets.queryConditions) {
      throw new Problem(
        `The query looks for each of its terms in every field, which makes more than ${budgets.queryConditions} pairs of a term and a field, the most that are allowed: name the fields, as in gene:BRCA1`,
        true,
      );
    }
    switch (atom.kind) {
      case 'term':
        return termIn(atom.parts, field);
      case 'phrase':
        return textIn(atom.text, field);
      case 'range':
        return rangeIn(atom.low, atom.high, field);
    }
  }
}

function unrankedQuery(predicate: Predicate): CompiledQueryString {
  return { predicate, scores: [] };
}

function rankedQuery(predicate: Predicate): CompiledQueryString {
  return { predicate, scores: predicate.kind === 'none' ? [] : [{ item: predicate, boost: 1 }] };
}

function termIn(parts: readonly WildPart[], field: FieldRef): Predicate {
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return textIn(only.text, field);
  return holdsText(field) ? node({ kind: 'wildcard', field, parts }) : none;
}

/** Text without wildcards: a phrase in a field of type text or string, a value to equal in any other field. */
function textIn(text: string, field: FieldRef): Predicate {
  if (!holdsText(field)) return noneIfIncomparable(() => conditionOfAction(field, '', text));
  const list = tokenize(coordinateValue(field, text) as string);
  if (list.length > 0) return node({ kind: 'phrase', field, terms: list });
  // The text has no terms (`<*>`, say), so only a whole value can equal it.
  return field.type === 'string' ? conditionOfAction(field, 'iexact', text) : none;
}

/** Choice: a range in a query string applies to strings too, by code point as in an ordering; fields of type text have no ranges. */
function rangeIn(low: RangeEndText | null, high: RangeEndText | null, field: FieldRef): Predicate {
  if (field.type === 'text') return none;
  if (low === null && high === null) return not(node({ kind: 'missing', field }));
  return noneIfIncomparable(() => intervalPredicate(field, low, high));
}

/** The predicate that `build` returns; none if the value cannot be read as the field's type. */
function noneIfIncomparable(build: () => Predicate): Predicate {
  try {
    return build();
  } catch (error) {
    if (error instanceof Problem && !error.budget) return none;
    throw error;
  }
}
