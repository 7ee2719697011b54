import { valueError } from '../values/expression-errors.js';
import { codePointLength } from '../values/code-points.js';
import { asciiDigits } from '../values/unicode-characters.js';
import { typeName } from '../values/type-name.js';
import type { PyValue, Runtime } from '../values/python-values.js';

/** A parsed format specification: `[[fill]align][sign][z][#][0][width][grouping][.precision][type]`. */
export interface FormatSpec {
  readonly fill: string;
  readonly align: string;
  readonly sign: string;
  readonly noNegativeZero: boolean;
  readonly isAlternate: boolean;
  readonly hasZero: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | undefined;
  readonly type: string;
}

const formatSpecPattern =
  /^(?:(.)?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\p{Nd}+)?([,_])?([,_])?(?:\.(\p{Nd}*))?(.)?(.*)$/su;

/** The presentation types that may be combined with each separator. */
const groupableTypes: Readonly<Record<string, string>> = { ',': 'deEfFgG%', _: 'deEfFgG%boxX' };

/** Parses a format specification for a value; throws the same ValueError as CPython. */
export function parseSpec(spec: string, value: PyValue): FormatSpec {
  const match = formatSpecPattern.exec(spec)!;
  const [, fill, align, sign, z, alternate, zero, width, grouping, second, precision, type, rest] =
    match;
  if (second !== undefined)
    throw valueError(
      grouping === second && grouping !== undefined
        ? `Cannot specify '${grouping}' with '${second}'.`
        : "Cannot specify both ',' and '_'.",
    );
  if (precision === '') throw valueError('Format specifier missing precision');
  if (rest !== '')
    throw valueError(`Invalid format specifier '${spec}' for object of type '${typeName(value)}'`);
  const kind = type ?? (typeof value === 'string' ? 's' : undefined);
  if (grouping !== undefined && kind !== undefined && !groupableTypes[grouping]!.includes(kind))
    throw valueError(`Cannot specify '${grouping}' with '${kind}'.`);
  return {
    fill: fill ?? (zero === undefined ? ' ' : '0'),
    align: align ?? '',
    sign: sign ?? '',
    noNegativeZero: z !== undefined,
    isAlternate: alternate !== undefined,
    hasZero: zero !== undefined,
    width: parseSize(width, 'width') ?? 0,
    grouping: grouping ?? '',
    precision: parseSize(precision, 'precision'),
    type: type ?? '',
  };
}

function parseSize(digits: string | undefined, what: string): number | undefined {
  if (digits === undefined) return undefined;
  const text = asciiDigits(digits);
  const number = Number(text);
  if (number > Number.MAX_SAFE_INTEGER && BigInt(text) >= 1n << 63n)
    throw valueError(
      what === 'width' || what === 'precision'
        ? 'Too many decimal digits in format string'
        : `${what} is too big`,
    );
  return number;
}

/** Pads a text to the width of a specification. `head` is its sign and prefix, after which the alignment `=` inserts the fill. */
export function padText(runtime: Runtime, spec: FormatSpec, head: string, body: string): string {
  const align = spec.align || '<';
  const padding = spec.width - codePointLength(head) - codePointLength(body);
  if (padding <= 0) return head + body;
  runtime.budget.chargeText(spec.width);
  const { fill } = spec;
  if (align === '<') return head + body + fill.repeat(padding);
  if (align === '>') return fill.repeat(padding) + head + body;
  if (align === '=') return head + fill.repeat(padding) + body;
  const leftFill = padding >> 1;
  return fill.repeat(leftFill) + head + body + fill.repeat(padding - leftFill);
}

/** Groups the digits of an integer part, and fills it with zeros to at least `least` characters. */
export function groupDigits(digits: string, separator: string, size: number, least = 0): string {
  let digitsLeft = digits;
  if (separator === '') return digitsLeft.padStart(least, '0');
  const groups: string[] = [];
  let length = 0;
  while (digitsLeft !== '' || length < least) {
    const group = digitsLeft.slice(-size);
    digitsLeft = digitsLeft.slice(0, -size);
    // The groups on the left get as many zeros as the width needs, but the result must not begin with a separator.
    const room = least - length - (groups.length > 0 ? 1 : 0);
    const filledGroup =
      digitsLeft === '' ? group.padStart(Math.min(size, Math.max(room, 1)), '0') : group;
    if (filledGroup === '') break;
    groups.unshift(filledGroup);
    length += filledGroup.length + (groups.length > 1 ? 1 : 0);
  }
  return groups.join(separator);
}
