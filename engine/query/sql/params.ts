import type { FieldRef, Scalar } from '../predicate/predicate.js';

/** The types that a bound value may have. */
export type ParamType = 'string' | 'boolean' | 'integer' | 'long' | 'double' | 'float' | 'date';

/** The parameter type of a field: its type as the request saw it, even if the column has changed its type since. */
export function boundType({ type }: FieldRef): ParamType {
  return type === 'text' || type === 'blob' ? 'string' : (type as ParamType);
}

/** One bound value of a statement: the only way in which anything from a request reaches the SQL engine. */
export interface Param {
  readonly type: ParamType;
  /** A list binds as one list value. */
  readonly value: Scalar | readonly Scalar[];
}

/** How a dialect writes the place of a bound value. */
type Place = (number: number, type: ParamType, isList: boolean) => string;

/** Collects the bound values of one statement and numbers their places. */
export class Params {
  readonly list: Param[] = [];
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Adds a value and returns its place in the statement: `$3`. */
  add(type: ParamType, value: Param['value']): string {
    this.list.push({ type, value });
    return this.#place(this.list.length, type, Array.isArray(value));
  }
}
