import type { FieldRef, Scalar } from '../../predicate/predicate.js';

/** The type of a bound value. */
export type ParamType = 'string' | 'boolean' | 'integer' | 'long' | 'double' | 'float' | 'date';

/**
 * Returns the parameter type for values of a field: the field's type when the request was parsed, even if the column has been widened
 * since.
 */
export function paramTypeOf({ type }: FieldRef): ParamType {
  return type === 'text' || type === 'blob' ? 'string' : (type as ParamType);
}

/** A bound value of a statement: the only way in which values of a request reach the SQL engine. */
export interface Param {
  /** `bits`: bitmaps of the deleted rows of some segments, one for each, in DuckDB's format. */
  readonly type: ParamType | 'bits';
  /** The value; a list is bound as one list value. */
  readonly value: Scalar | readonly Scalar[] | readonly Uint8Array[];
}

/** Returns the placeholder of a bound value in a dialect; numbers start at 1. */
type Placeholder = (number: number, type: ParamType, isList: boolean) => string;

/** Collects the bound values of one statement and numbers their placeholders. */
export class BoundParams {
  readonly boundValues: Param[] = [];
  readonly #placeholder: Placeholder;

  constructor(placeholder: Placeholder) {
    this.#placeholder = placeholder;
  }

  /** Adds a value and returns its placeholder, such as `$3`. */
  add(type: ParamType, value: Param['value']): string {
    this.boundValues.push({ type, value });
    return this.#placeholder(this.boundValues.length, type, Array.isArray(value));
  }

  /** Adds a list of bitmaps and returns its placeholder. */
  addBits(value: readonly Uint8Array[]): string {
    this.boundValues.push({ type: 'bits', value });
    return this.#placeholder(this.boundValues.length, 'string', true);
  }
}
