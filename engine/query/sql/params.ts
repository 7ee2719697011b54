import type { FieldRef, Scalar } from '../predicate/predicate.js';

/** The type of a bound value. */
export type ParamType = 'string' | 'boolean' | 'integer' | 'long' | 'double' | 'float' | 'date';

/** The parameter type for values of a field: the field's type when the request was parsed, even if the column was widened since. */
export function boundType({ type }: FieldRef): ParamType {
  return type === 'text' || type === 'blob' ? 'string' : (type as ParamType);
}

/** A bound value of a statement. Values of a request reach the SQL engine in no other way. */
export interface Param {
  /** `bits`: one for each row of some segments, as DuckDB stores bits. */
  readonly type: ParamType | 'bits';
  /** A list binds as one list value. */
  readonly value: Scalar | readonly Scalar[] | readonly Uint8Array[];
}

/** Writes the placeholder of a bound value in a dialect; numbers start at 1. */
type Placeholder = (number: number, type: ParamType, isList: boolean) => string;

/** Collects the bound values of one statement and numbers their placeholders. */
export class Params {
  readonly list: Param[] = [];
  readonly #placeholder: Placeholder;

  constructor(placeholder: Placeholder) {
    this.#placeholder = placeholder;
  }

  /** Adds a value and returns its placeholder: `$3`. */
  add(type: ParamType, value: Param['value']): string {
    this.list.push({ type, value });
    return this.#placeholder(this.list.length, type, Array.isArray(value));
  }

  /** Adds a list of bits. */
  addBits(value: readonly Uint8Array[]): string {
    this.list.push({ type: 'bits', value });
    return this.#placeholder(this.list.length, 'string', true);
  }
}
