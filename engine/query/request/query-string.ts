import { budgets } from '../../core/budgets.js';
import { conditionOfAction, coordinateValue } from './actions.js';
import { intervalPredicate, type RangeEndText } from './ranges.js';
import { elementFields, fieldRef, isReserved, type FieldIndex } from './field-index.js';
import {
  all,
  and,
  any,
  freezePredicate,
  none,
  not,
  or,
  type FieldRef,
  type Predicate,
  type ScoreClause,
  type WildPart,
} from '../predicate/predicate.js';
import { Problem, errorOfProblem, valueForMessage } from './problem.js';
import { tokenize } from '../../text/text-tokenizer.js';
import {
  parseGrammar,
  type Atom,
  type Clause,
  type Disjunction,
  type ValueAtom,
} from './query-string-grammar.js';

/** A compiled query string: a predicate for matching records, and the clauses that rank them. */
interface CompiledQueryString {
  readonly predicate: Predicate;
  readonly scores: readonly ScoreClause[];
}

/**
 * Parses `query` (query language 4); a blank string matches every record. Throws an `invalid` or `budget` error with the key `query` that
 * names the position of the mistake or the exceeded limit.
 */
export function parseQueryString(input: unknown, fields: FieldIndex): CompiledQueryString {
  if (input === undefined || input === null) return unrankedQuery(all);
  try {
    if (typeof input !== 'string')
      throw new Problem(`Expected text, not ${valueForMessage(input)}`);
    if (input.trim() === '') return unrankedQuery(all);
    return compileQueryString(parseGrammar(input), fields);
  } catch (error) {
    if (error instanceof Problem) throw errorOfProblem('query', 'query', error);
    throw error;
  }
}

/** Compiles the parsed tree to a predicate over these fields (query language 4.2). */
export function compileQueryString(
  disjunction: Disjunction,
  fields: FieldIndex,
): CompiledQueryString {
  return new QueryStringCompiler(fields).compileDisjunction(disjunction);
}

const isTextField = (field: FieldRef): boolean => field.type === 'string' || field.type === 'text';

class QueryStringCompiler {
  readonly #textFields: readonly FieldRef[];

  constructor(
    readonly fields: FieldIndex,
    readonly size = { conditions: 0 },
  ) {
    this.#textFields = fields.fields
      .map(fieldRef)
      .filter((field) => isTextField(field) && !isReserved(field.path));
  }

  /**
   * Compiles a disjunction. An alternative with a `+` clause must match, and a `-` clause that is not part of a conjunction must not match.
   * Other alternatives are optional: at least one must match, but if there is a `+` clause, they only rank.
   */
  compileDisjunction({ alternatives }: Disjunction): CompiledQueryString {
    const required: Predicate[] = [];
    const excluded: Predicate[] = [];
    const optional: Predicate[] = [];
    const scores: ScoreClause[] = [];
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
    if (atom.kind === 'group') return this.compileDisjunction(atom.disjunction);
    if (atom.kind === 'element') return this.#element(atom.field, atom.disjunction);
    if (atom.kind === 'exists' || atom.kind === 'missing')
      return this.#presence(atom.kind, atom.field);
    const isAny = atom.kind === 'term' && atom.parts.length === 1 && atom.parts[0] === 'any';
    if (isAny && atom.field === null) return unrankedQuery(all);
    if (atom.field === null) {
      return rankedQuery(or(this.#textFields.map((field) => this.#inField(atom, field))));
    }
    if (isAny) return this.#presence('exists', atom.field);
    const row = this.fields.find(atom.field);
    // Unlike a filter, a query string may name a field that the dataset does not have; the clause then matches nothing.
    return row ? rankedQuery(this.#inField(atom, fieldRef(row))) : unrankedQuery(none);
  }

  /** Choice: conditions in braces do not rank, and braces after a field that is not a list of objects match nothing. */
  #element(name: string, disjunction: Disjunction): CompiledQueryString {
    const row = this.fields.find(name);
    const fieldsInside = row && elementFields(this.fields, row);
    if (!fieldsInside) return unrankedQuery(none);
    const { predicate } = new QueryStringCompiler(fieldsInside, this.size).compileDisjunction(
      disjunction,
    );
    return unrankedQuery(any(fieldRef(row), predicate));
  }

  #presence(kind: 'exists' | 'missing', name: string): CompiledQueryString {
    const row = this.fields.find(name);
    if (!row) return unrankedQuery(none);
    const missingPredicate = freezePredicate({ kind: 'missing', field: fieldRef(row) });
    return unrankedQuery(kind === 'missing' ? missingPredicate : not(missingPredicate));
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
        return termPredicate(atom.parts, field);
      case 'phrase':
        return textPredicate(atom.text, field);
      case 'range':
        return fieldRangePredicate(atom.low, atom.high, field);
    }
  }
}

function unrankedQuery(predicate: Predicate): CompiledQueryString {
  return { predicate, scores: [] };
}

function rankedQuery(predicate: Predicate): CompiledQueryString {
  return { predicate, scores: predicate.kind === 'none' ? [] : [{ item: predicate, boost: 1 }] };
}

function termPredicate(parts: readonly WildPart[], field: FieldRef): Predicate {
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return textPredicate(only.text, field);
  return isTextField(field) ? freezePredicate({ kind: 'wildcard', field, parts }) : none;
}

/**
 * Returns the condition of a text without wildcards: a phrase in a field of type text or string, and equality in any other field. A text
 * without terms has to equal a whole string, and matches no field of type text. `none` if the text is not a value of the field's type.
 */
function textPredicate(text: string, field: FieldRef): Predicate {
  if (!isTextField(field)) return noneIfIncomparable(() => conditionOfAction(field, '', text));
  const list = tokenize(coordinateValue(field, text) as string);
  if (list.length > 0) return freezePredicate({ kind: 'phrase', field, terms: list });
  // The text has no terms (for example `<*>`), so it can only equal a whole value.
  return field.type === 'string' ? conditionOfAction(field, 'iexact', text) : none;
}

/**
 * Choice: a range in a query string also applies to strings, compared by code point as in an ordering. Fields of type text have no ranges.
 */
function fieldRangePredicate(
  low: RangeEndText | null,
  high: RangeEndText | null,
  field: FieldRef,
): Predicate {
  if (field.type === 'text') return none;
  if (low === null && high === null) return not(freezePredicate({ kind: 'missing', field }));
  return noneIfIncomparable(() => intervalPredicate(field, low, high));
}

/** Returns the predicate that `build` returns; `none` if the condition does not suit the field's type. */
function noneIfIncomparable(build: () => Predicate): Predicate {
  try {
    return build();
  } catch (error) {
    if (error instanceof Problem && !error.isOverBudget) return none;
    throw error;
  }
}
