import type { Kernel } from '../../engine/core/wasm-assembler.js';
import { powersOfTen } from '../text/numbers.js';
import { scanAddresses, scanCells } from '../text/scan-buffer.js';
import { add, advance, breakIf, byteAt, currentByte, equals, get, greaterThan, ifThen, int, isCurrent, lessThan, notEquals, or, set, sub } from './instructions.js'; // prettier-ignore
import { number, numberLocals } from './number-instructions.js';

/** The layout of the kernel's description of a field, in 32-bit words. The record as a whole has such a description, too: its root. */
export const fieldWords = {
  /** The address of the text between the brace or comma and the value: the key and the colon. */
  literal: 0,
  literalBytes: 1,
  /** The address of the next field, after the members of this one; in the root, the end of all fields. */
  next: 2,
  /** The address of the enclosing object. */
  parent: 3,
  /**
   * The offset of the field's cells, in bytes from those of the first field; in the root, the address of the text after the last record.
   */
  cells: 4,
  /** The kinds of the field's values, as bits of `valueKinds`; in the root, 1 while a record is being read. */
  kinds: 5,
  /** 1 for an object whose members are fields, else 0. */
  isObject: 6,
} as const;

/** Number of words of a field. */
export const wordsOfField = 7;

/**
 * Kinds of values: `absent` is null or missing, `text` has no escapes, `integer` at most 15 digits, `double` a fraction or an exponent, `object` are the
 * values of fields with members, and `other` all other values.
 */
export const valueKinds = {
  absent: 1,
  text: 2,
  integer: 4,
  double: 8,
  boolean: 16,
  object: 32,
  other: 64,
} as const;

/** Bytes reserved for the fields and for their literals. A literal is padded by the width of a vector. */
const fieldBytes = 64 << 10;
const literalBytes = 64 << 10;

const numbers = Math.ceil(scanAddresses.end / 8) * 8;
const powers = numbers + 8 * scanCells;
const fields = powers + 8 * powersOfTen.length;
const literals = fields + fieldBytes;

/** Addresses of the data that the kernel uses besides the text: the numbers of all cells, powers of ten, fields and literals. */
export const recordAddresses = { numbers, powers, fields, literals, end: literals + literalBytes } as const; // prettier-ignore

/** The number (a double) in a cell whose value is no number, or is one that the kernel leaves to its caller. */
const nan = 'i64.const 0x7ff8000000000000';
const one = 'i64.const 0x3ff0000000000000';

const word = (field: string, name: keyof typeof fieldWords): string =>
  `${add(get(field), int(4 * fieldWords[name]))}\ni32.load`;
const store = (base: number, value: string): string =>
  `${add(get('cell'), int(base))}\n${value}\ni32.store`;
/** The address of the number in the current cell. */
const numberCell = add(add(get('cell'), get('cell')), int(numbers));
const storeNumber = (bits: string): string => `${numberCell}\n${bits}\ni64.store`;
const offset = sub(get('at'), int(scanAddresses.text));
const kind = (name: keyof typeof valueKinds): string => set('kind', int(valueKinds[name]));
const cellOf = (field: string): string =>
  set('cell', add(word(field, 'cells'), `${get('record')}\n${int(2)}\ni32.shl`));
const setKinds = (field: string, bits: string): string =>
  `${add(get(field), int(4 * fieldWords.kinds))}\n${bits}\ni32.store`;
/** Adds the kind of a value to the kinds of its field. */
const note = (field: string, bits: string): string =>
  setKinds(field, or(word(field, 'kinds'), bits));
const absentCell = [
  store(scanAddresses.from, int(0)),
  store(scanAddresses.to, int(0)),
  storeNumber(nan),
].join('\n');

/** Marks the fields from `$field` up to `$last` as absent in the current record, and sets `$field` to `$last`. */
const skipFields = `
  loop
    ${get('field')}
    ${get('last')}
    i32.lt_u
    if
      ${cellOf('field')}
      ${absentCell}
      ${note('field', int(valueKinds.absent))}
      ${advance('field', int(4 * wordsOfField))}
      br 1
    end
  end`;

/** Moves past the rest of a string and its closing quote. */
const restOfString = `
  loop $string
    ${breakIf('done', `${get('at')}\n${get('end')}\ni32.ge_u`)}
    ${set('byte', currentByte)}
    ${advance('at')}
    ${ifThen(equals(get('byte'), int(92)), advance('at'))}
    ${breakIf('string', notEquals(get('byte'), int(34)))}
  end`;

/** Moves past a string; its kind is `text` unless it has escapes or is too long. */
const text = `
  ${advance('at')}
  ${set('begin', get('at'))}
  loop $scan
    ${breakIf('done', `${get('at')}\n${get('end')}\ni32.ge_u`)}
    ${get('at')}
    v128.load
    local.tee $v
    local.get $quotes
    i8x16.eq
    local.get $v
    local.get $escapes
    i8x16.eq
    v128.or
    local.get $v
    local.get $spaces
    i8x16.lt_u
    v128.or
    i8x16.bitmask
    local.tee $bits
    i32.eqz
    if
      ${advance('at', int(16))}
      br $scan
    end
  end
  ${advance('at', `${get('bits')}\ni32.ctz`)}
  ${breakIf('done', lessThan(currentByte, int(32)))}
  ${isCurrent('"')}
  ${sub(get('at'), get('begin'))}
  ${get('mostBytes')}
  i32.le_u
  i32.and
  if
    ${store(scanAddresses.from, sub(get('begin'), int(scanAddresses.text)))}
    ${store(scanAddresses.to, offset)}
    ${advance('at')}
    ${kind('text')}
    br $value
  end
  ${restOfString}
  ${kind('other')}
  br $value`;

/** Moves past a list, or past an object whose members are no fields. */
const nested = `
  ${set('depth', int(0))}
  loop $nested
    ${breakIf('done', `${get('at')}\n${get('end')}\ni32.ge_u`)}
    ${set('bits', currentByte)}
    ${advance('at')}
    ${ifThen(equals(get('bits'), int(34)), restOfString)}
    ${set('bits', `${get('bits')}\n${int(32)}\ni32.or`)}
    ${ifThen(equals(get('bits'), int(123)), advance('depth'))}
    ${ifThen(equals(get('bits'), int(125)), advance('depth', int(-1)))}
    ${breakIf('nested', get('depth'))}
  end
  ${kind('other')}
  br $value`;

/** Moves past one of the literals `true`, `false` and `null`. */
const constant = (text: string, then: string): string => `
  ${equals(`${get('at')}\ni32.load`, int(Buffer.from(text).readInt32LE(0)))}
  if
    ${text.length > 4 ? breakIf('done', notEquals(byteAt(add(get('at'), int(4))), int(text.charCodeAt(4)))) : ''}
    ${advance('at', int(text.length))}
    ${then}
    br $value
  end`;

/**
 * Reads up to `$records` lines from `$at` on, whose objects have only the keys of the fields, in their order; some keys may be missing. For
 * each field, the range of its value is written to the cells: `from` and `to` for a text or a number, `from` alone for other values, 0 if
 * the value is absent; and its number. Stops at the first line that is not JSON, or has other keys or other spaces. Returns the number of
 * lines read.
 */
export const recordsKernel: Kernel = {
  name: 'records',
  params: ['at', 'end', 'records', 'mostBytes', 'root'],
  // prettier-ignore
  locals: ['record', 'object', 'field', 'last', 'cell', 'kind', 'i', 'size', 'literal', 'bits', 'depth', ...numberLocals.locals],
  longs: numberLocals.longs,
  doubles: numberLocals.doubles,
  vectors: ['v', 'quotes', 'escapes', 'spaces'],
  body: `
    ${int(34)}
    i8x16.splat
    local.set $quotes
    ${int(92)}
    i8x16.splat
    local.set $escapes
    ${int(32)}
    i8x16.splat
    local.set $spaces
    block $done
      loop $line
        ${add(get('root'), int(4 * fieldWords.cells))}
        ${get('at')}
        i32.store
        ${breakIf('done', `${get('record')}\n${get('records')}\ni32.ge_u`)}
        ${breakIf('done', notEquals(currentByte, int(123)))}
        ${setKinds('root', int(1))}
        ${advance('at')}
        ${set('object', get('root'))}
        ${set('field', add(get('root'), int(4 * wordsOfField)))}
        loop $key
          block $found
            loop $find
              ${breakIf('done', equals(get('field'), word('object', 'next')))}
              ${set('literal', word('field', 'literal'))}
              ${set('size', word('field', 'literalBytes'))}
              ${set('i', int(0))}
              loop $compare
                ${add(get('at'), get('i'))}
                v128.load
                ${add(get('literal'), get('i'))}
                v128.load
                i8x16.ne
                i8x16.bitmask
                ${int(1 << 16)}
                i32.or
                i32.ctz
                local.tee $bits
                ${sub(get('size'), get('i'))}
                i32.ge_u
                br_if $found
                ${advance('i', int(16))}
                ${breakIf('compare', equals(get('bits'), int(16)))}
              end
              ${set('last', word('field', 'next'))}
              ${skipFields}
              br $find
            end
          end
          ${advance('at', get('size'))}
          ${cellOf('field')}
          ${store(scanAddresses.from, offset)}
          ${storeNumber(nan)}
          block $value
            ${ifThen(isCurrent('"'), text)}
            ${isCurrent('{')}
            ${word('field', 'isObject')}
            i32.and
            if
              ${advance('at')}
              ${kind('object')}
              ${isCurrent('}')}
              if
                ${advance('at')}
                br $value
              end
              ${note('field', get('kind'))}
              ${set('object', get('field'))}
              ${advance('field', int(4 * wordsOfField))}
              br $key
            end
            ${set('bits', `${currentByte}\n${int(32)}\ni32.or`)}
            ${ifThen(equals(get('bits'), int(123)), nested)}
            ${constant('null', `${absentCell}\n${kind('absent')}`)}
            ${constant('true', `${storeNumber(one)}\n${kind('boolean')}`)}
            ${constant('false', `${storeNumber('i64.const 0')}\n${kind('boolean')}`)}
            ${number(powers)}
            ${store(scanAddresses.to, offset)}
            ${kind('double')}
            ${ifThen(`${get('isDouble')}\ni32.eqz`, kind('integer'))}
            ${get('isRead')}
            if
              ${numberCell}
              local.get $number
              f64.store
              br $value
            end
            ${ifThen(`${get('isDouble')}\ni32.eqz`, kind('other'))}
          end
          ${note('field', get('kind'))}
          ${set('last', word('field', 'next'))}
          ${advance('field', int(4 * wordsOfField))}
          ${skipFields}
          loop $close
            ${set('byte', currentByte)}
            ${advance('at')}
            ${breakIf('key', equals(get('byte'), int(44)))}
            ${breakIf('done', notEquals(get('byte'), int(125)))}
            ${set('last', word('object', 'next'))}
            ${skipFields}
            ${notEquals(get('object'), get('root'))}
            if
              ${set('object', word('object', 'parent'))}
              br $close
            end
          end
          ${advance('at', isCurrent('\r'))}
          ${breakIf('done', notEquals(currentByte, int(10)))}
          ${advance('at')}
          ${breakIf('done', greaterThan(get('at'), get('end')))}
          ${setKinds('root', int(0))}
          ${advance('record')}
          br $line
        end
      end
    end
    local.get $record`,
};
