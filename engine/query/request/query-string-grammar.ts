import { budgets } from '../../core/budgets.js';
import type { WildPart } from '../predicate/predicate.js';
import { Problem } from './problem.js';
import type { RangeEndText } from './ranges.js';
import { positionText, tokenizeQueryString, type Token } from './query-string-tokens.js';

/** A condition on the values of a field; if `field` is null, on the values of all string and text fields. */
export type ValueAtom = { readonly field: string | null } & (
  | { readonly kind: 'term'; readonly parts: readonly WildPart[] }
  | { readonly kind: 'phrase'; readonly text: string }
  | {
      readonly kind: 'range';
      readonly low: RangeEndText | null;
      readonly high: RangeEndText | null;
    }
);

/** The condition of one clause. */
export type Atom =
  | ValueAtom
  | { readonly kind: 'exists'; readonly field: string }
  | { readonly kind: 'missing'; readonly field: string }
  | { readonly kind: 'group'; readonly disjunction: Disjunction }
  /** `field:{…}`: one element of the list satisfies `disjunction`; `text` is the condition as written. */
  | {
      readonly kind: 'element';
      readonly field: string;
      readonly disjunction: Disjunction;
      readonly text: string;
    };

/** An atom with its sign and boost. */
export interface Clause {
  /**
   * `prohibited` for `-`, and for a NOT that is not joined by AND or OR; `not` for a NOT inside an AND or OR, where it negates the clause.
   */
  readonly sign: 'none' | 'required' | 'prohibited' | 'not';
  readonly atom: Atom;
  readonly boost: number;
}

/**
 * Alternatives, each a conjunction of clauses: AND binds tighter than OR, and clauses without an operator are joined by OR (query language
 * 4.1).
 */
export interface Disjunction {
  readonly alternatives: readonly (readonly Clause[])[];
}

/** Parses a query string that is not blank. Throws a `Problem` that names the position of the mistake, or the exceeded limit. */
export function parseGrammar(text: string): Disjunction {
  const bytes = Buffer.byteLength(text);
  if (bytes > budgets.queryBytes)
    throw queryTooLargeProblem(budgets.queryBytes, 'bytes', bytes, useFiltersAdvice);
  const all = tokenizeQueryString(text);
  const terms = all.filter(({ kind }) => kind === 'term' || kind === 'phrase' || kind === 'range');
  if (terms.length > budgets.queryTerms)
    throw queryTooLargeProblem(budgets.queryTerms, 'terms', terms.length, useFiltersAdvice);
  const parts = all.flatMap((token) => (token.kind === 'term' ? token.parts : []));
  const wild = parts.filter((part) => typeof part === 'string').length;
  if (wild > budgets.queryWildcards)
    throw queryTooLargeProblem(budgets.queryWildcards, 'wildcards', wild, 'use filters with the action prefix'); // prettier-ignore
  const parser = new QueryStringParser(all, text);
  const disjunction = parser.parseDisjunction(null, 1);
  parser.expectEnd();
  return disjunction;
}

const useFiltersAdvice = 'use a filter with the action in for a list of values';

function queryTooLargeProblem(most: number, things: string, found: number, fix: string): Problem {
  const text = `A query string may have at most ${most} ${things}, not ${found}: ${fix}, or send several requests`;
  return new Problem(text, true);
}

type BooleanOperator = 'and' | 'or' | null;

class QueryStringParser {
  #index = 0;

  constructor(
    readonly tokens: readonly Token[],
    readonly text: string,
  ) {}

  /** Parses clauses up to a closing bracket or brace, or the end of the string. */
  parseDisjunction(field: string | null, depth: number): Disjunction {
    if (depth > budgets.filterDepth)
      throw new Problem(`A query string nests at most ${budgets.filterDepth} levels deep: leave out brackets that change nothing`, true); // prettier-ignore
    const clauses: { readonly clause: Clause; readonly before: BooleanOperator }[] = [];
    let before: BooleanOperator = null;
    for (;;) {
      clauses.push({ clause: this.#clause(field, depth), before });
      const { kind } = this.#peek();
      if (kind === 'end' || kind === ')' || kind === '}') return joinClauses(clauses);
      before = kind === 'and' || kind === 'or' ? kind : null;
      if (before !== null) this.#index += 1;
    }
  }

  expectEnd(): void {
    const { kind, at: index } = this.#peek();
    if (kind !== 'end') throw new Problem(`The ${kind === '}' ? 'brace' : 'bracket'} is never opened, ${positionText(index)}`); // prettier-ignore
  }

  #peek(): Token {
    return this.tokens[this.#index]!;
  }

  #take(): Token {
    return this.tokens[this.#index++]!;
  }

  #clause(field: string | null, depth: number): Clause {
    const { kind } = this.#peek();
    const sign = kind === '+' ? 'required' : kind === '-' ? 'prohibited' : kind === 'not' ? 'not' : 'none'; // prettier-ignore
    if (sign !== 'none') this.#index += 1;
    const atom = this.#atom(field, depth);
    const next = this.#peek();
    if (next.kind === 'boost') this.#index += 1;
    return { sign, atom, boost: next.kind === 'boost' ? next.factor : 1 };
  }

  #atom(field: string | null, depth: number): Atom {
    const token = this.#take();
    switch (token.kind) {
      case 'field':
        return this.#ofField(token.name, token.at, depth);
      case 'term':
        return { kind: 'term', field, parts: token.parts };
      case 'phrase':
        return { kind: 'phrase', field, text: token.text };
      case 'range':
        return { kind: 'range', field, low: token.low, high: token.high };
      case '(':
        return { kind: 'group', disjunction: this.#group(field, token.at, depth) };
      default:
        this.#index -= 1;
        throw new Problem(
          `Expected a term, ${positionText(token.at)}, not ${tokenNames[token.kind]}`,
        );
    }
  }

  #ofField(name: string | null, index: number, depth: number): Atom {
    const next = this.#peek();
    if (!operandStarts.has(next.kind))
      throw new Problem(`Expected a value behind "${name ?? '*'}:", ${positionText(index)}; put a value that holds special characters in quotation marks`); // prettier-ignore
    if (next.kind === '{') return this.#element(name, index, depth);
    if (name !== '_missing_' && name !== '_exists_') return this.#atom(name, depth);
    this.#index += 1;
    const field = next.kind === 'phrase' ? next.text : next.kind === 'term' ? textWithoutWildcards(next.parts) : undefined; // prettier-ignore
    if (field === undefined)
      throw new Problem(`Expected a field name behind "${name}:", ${positionText(index)}`);
    return { kind: name === '_missing_' ? 'missing' : 'exists', field };
  }

  #element(field: string | null, index: number, depth: number): Atom {
    if (field === null)
      throw new Problem(`Expected the name of a list before the brace, ${positionText(index)}`);
    this.#index += 1;
    const disjunction = this.parseDisjunction(null, depth + 1);
    const { kind, at: end } = this.#take();
    if (kind !== '}') throw new Problem(`The brace is never closed, ${positionText(index)}`);
    return { kind: 'element', field, disjunction, text: this.text.slice(index, end + 1) };
  }

  #group(field: string | null, index: number, depth: number): Disjunction {
    if (this.#peek().kind === ')')
      throw new Problem(`The brackets hold nothing, ${positionText(index)}`);
    const disjunction = this.parseDisjunction(field, depth + 1);
    if (this.#peek().kind !== ')')
      throw new Problem(`The bracket is never closed, ${positionText(index)}`);
    this.#index += 1;
    return disjunction;
  }
}

const operandStarts: ReadonlySet<Token['kind']> = new Set(['term', 'phrase', 'range', '(', '{']);

const tokenNames: Readonly<Record<Exclude<Token['kind'], 'field' | 'term' | 'phrase' | 'range' | '('>, string>> = {
  ')': 'a closing bracket',
  '{': 'a brace',
  '}': 'a closing brace',
  '+': 'a second sign',
  '-': 'a second sign',
  not: 'a second sign',
  and: 'AND',
  or: 'OR',
  boost: 'a boost',
  end: 'the end of the query',
}; // prettier-ignore

function textWithoutWildcards(parts: readonly WildPart[]): string | undefined {
  const [part] = parts;
  return parts.length === 1 && typeof part === 'object' ? part.text : undefined;
}

/**
 * Groups clauses by their operators. Choice: next to AND or OR, NOT negates its clause; between terms without operators, it excludes, as
 * `-` does: `cancer NOT breast` matches records that contain the first term and not the second.
 */
function joinClauses(clauses: readonly { clause: Clause; before: BooleanOperator }[]): Disjunction {
  const alternatives: Clause[][] = [];
  for (const [i, { clause, before }] of clauses.entries()) {
    const isAlone = before === null && (clauses[i + 1]?.before ?? null) === null;
    const sign = clause.sign === 'not' && isAlone ? 'prohibited' : clause.sign;
    if (before === 'and') alternatives.at(-1)!.push({ ...clause, sign });
    else alternatives.push([{ ...clause, sign }]);
  }
  return { alternatives };
}
