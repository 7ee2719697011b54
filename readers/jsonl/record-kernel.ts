import type { Kernel } from '../../engine/core/wasm-assembler.js';
import { powersOfTen } from '../text/parse-numbers.js';
import { scanAddresses, maxGatheredRanges } from '../text/scan-buffer.js';
import { add, advance, breakIf, loadByteAt, currentByte, equals, get, greaterThan, ifThen, int, isCurrentByte, lessThan, notEquals, or, set, sub } from './instructions.js'; // prettier-ignore
import { readNumberSource, numberLocals } from './number-instructions.js';

/**
 * The layout of the kernel's description of a field, in 32-bit words. The record as a whole also has such a description, called the root.
 */
export const fieldWordOffsets = {
  /** The address of the text between the preceding brace or comma and the value: the key and the colon. */
  literal: 0,
  literalBytes: 1,
  /** The address of the next field, which follows the members of this one; in the root, the end of all fields. */
  next: 2,
  /** The address of the enclosing object. */
  parent: 3,
  /**
   * The offset in bytes of the field's cells in the memory for the cells of all fields; in the root, the address of the text after the last
   * record.
   */
  cells: 4,
  /** The kinds of the field's values, as bits of `valueKinds`; in the root, 1 while the kernel is inside a record. */
  kinds: 5,
  /** 1 for an object whose members are fields, else 0. */
  isObject: 6,
} as const;

/** Number of words in the description of a field. */
export const wordsPerField = 7;

/**
 * Kinds of values: `absent` is null or missing; `text` is a string of at most `$mostBytes` bytes without escapes; `integer` has at most 15
 * digits; `double` has a fraction or an exponent; `object` is a value of a field with members; `other` is any other value.
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

/**
 * Number of bytes reserved for the descriptions of fields, and for their literals (keys with colons). A literal is padded by the width of a
 * vector.
 */
const reservedFieldBytes = 64 << 10;
const reservedLiteralBytes = 64 << 10;

const numbersAddress = Math.ceil(scanAddresses.end / 8) * 8;
const powersAddress = numbersAddress + 8 * maxGatheredRanges;
const fieldsAddress = powersAddress + 8 * powersOfTen.length;
const literalsAddress = fieldsAddress + reservedFieldBytes;

/** Addresses of the data that the kernel uses in addition to the text: the numbers of all cells, powers of ten, fields and literals. */
export const recordAddresses = { numbers: numbersAddress, powers: powersAddress, fields: fieldsAddress, literals: literalsAddress, end: literalsAddress + reservedLiteralBytes } as const; // prettier-ignore

/** The number in a cell (a double) whose value is neither a number nor a boolean, or is a number that the kernel leaves to its caller. */
const nanConstant = 'i64.const 0x7ff8000000000000';
const oneConstant = 'i64.const 0x3ff0000000000000';

const loadFieldWord = (field: string, name: keyof typeof fieldWordOffsets): string =>
  `${add(get(field), int(4 * fieldWordOffsets[name]))}\ni32.load`;
const storeInCell = (base: number, value: string): string =>
  `${add(get('cell'), int(base))}\n${value}\ni32.store`;
/** Instructions for the address of the number in the current cell. */
const numberCellAddress = add(add(get('cell'), get('cell')), int(numbersAddress));
const storeNumber = (bits: string): string => `${numberCellAddress}\n${bits}\ni64.store`;
const currentTextOffset = sub(get('at'), int(scanAddresses.text));
const setValueKind = (name: keyof typeof valueKinds): string => set('kind', int(valueKinds[name]));
const selectCellOf = (field: string): string =>
  set('cell', add(loadFieldWord(field, 'cells'), `${get('record')}\n${int(2)}\ni32.shl`));
const setKinds = (field: string, bits: string): string =>
  `${add(get(field), int(4 * fieldWordOffsets.kinds))}\n${bits}\ni32.store`;
/** Returns instructions that add the kind of a value to the kinds of its field. */
const addKind = (field: string, bits: string): string =>
  setKinds(field, or(loadFieldWord(field, 'kinds'), bits));
const storeAbsentCell = [
  storeInCell(scanAddresses.from, int(0)),
  storeInCell(scanAddresses.to, int(0)),
  storeNumber(nanConstant),
].join('\n');

/** Instructions that mark the fields from `$field` up to `$last` as absent in the current record, and set `$field` to `$last`. */
const skipFields = `
  loop
    ${get('field')}
    ${get('last')}
    i32.lt_u
    if
      ${selectCellOf('field')}
      ${storeAbsentCell}
      ${addKind('field', int(valueKinds.absent))}
      ${advance('field', int(4 * wordsPerField))}
      br 1
    end
  end`;

/** Instructions that move past the remainder of a string and its closing quote. */
const skipRestOfString = `
  loop $string
    ${breakIf('done', `${get('at')}\n${get('end')}\ni32.ge_u`)}
    ${set('byte', currentByte)}
    ${advance('at')}
    ${ifThen(equals(get('byte'), int(92)), advance('at'))}
    ${breakIf('string', notEquals(get('byte'), int(34)))}
  end`;

/** Instructions that move past a string; its kind is `text` unless it has escapes or is too long. */
const readStringSource = `
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
  ${isCurrentByte('"')}
  ${sub(get('at'), get('begin'))}
  ${get('mostBytes')}
  i32.le_u
  i32.and
  if
    ${storeInCell(scanAddresses.from, sub(get('begin'), int(scanAddresses.text)))}
    ${storeInCell(scanAddresses.to, currentTextOffset)}
    ${advance('at')}
    ${setValueKind('text')}
    br $value
  end
  ${skipRestOfString}
  ${setValueKind('other')}
  br $value`;

/** Instructions that move past a list, or past an object whose members are not fields. */
const skipNestedSource = `
  ${set('depth', int(0))}
  loop $nested
    ${breakIf('done', `${get('at')}\n${get('end')}\ni32.ge_u`)}
    ${set('bits', currentByte)}
    ${advance('at')}
    ${ifThen(equals(get('bits'), int(34)), skipRestOfString)}
    ${set('bits', `${get('bits')}\n${int(32)}\ni32.or`)}
    ${ifThen(equals(get('bits'), int(123)), advance('depth'))}
    ${ifThen(equals(get('bits'), int(125)), advance('depth', int(-1)))}
    ${breakIf('nested', get('depth'))}
  end
  ${setValueKind('other')}
  br $value`;

/** Returns instructions that move past one of the literals `true`, `false` and `null`. */
const readLiteralSource = (text: string, then: string): string => `
  ${equals(`${get('at')}\ni32.load`, int(Buffer.from(text).readInt32LE(0)))}
  if
    ${text.length > 4 ? breakIf('done', notEquals(loadByteAt(add(get('at'), int(4))), int(text.charCodeAt(4)))) : ''}
    ${advance('at', int(text.length))}
    ${then}
    br $value
  end`;

/**
 * Reads up to `$records` lines from `$at` on, whose objects have only the keys of the fields, in the same order; keys may be missing. For
 * each field, writes the range of its value to the cells (`from` and `to` for a text or a number, only `from` for other values, 0 if the
 * value is absent), and its number. Stops at the first line that has other keys or other spaces, or is not JSON; lists, and objects without
 * fields, are not checked inside. Returns the number of lines read.
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
        ${add(get('root'), int(4 * fieldWordOffsets.cells))}
        ${get('at')}
        i32.store
        ${breakIf('done', `${get('record')}\n${get('records')}\ni32.ge_u`)}
        ${breakIf('done', notEquals(currentByte, int(123)))}
        ${setKinds('root', int(1))}
        ${advance('at')}
        ${set('object', get('root'))}
        ${set('field', add(get('root'), int(4 * wordsPerField)))}
        loop $key
          block $found
            loop $find
              ${breakIf('done', equals(get('field'), loadFieldWord('object', 'next')))}
              ${set('literal', loadFieldWord('field', 'literal'))}
              ${set('size', loadFieldWord('field', 'literalBytes'))}
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
              ${set('last', loadFieldWord('field', 'next'))}
              ${skipFields}
              br $find
            end
          end
          ${advance('at', get('size'))}
          ${selectCellOf('field')}
          ${storeInCell(scanAddresses.from, currentTextOffset)}
          ${storeNumber(nanConstant)}
          block $value
            ${ifThen(isCurrentByte('"'), readStringSource)}
            ${isCurrentByte('{')}
            ${loadFieldWord('field', 'isObject')}
            i32.and
            if
              ${advance('at')}
              ${setValueKind('object')}
              ${isCurrentByte('}')}
              if
                ${advance('at')}
                br $value
              end
              ${addKind('field', get('kind'))}
              ${set('object', get('field'))}
              ${advance('field', int(4 * wordsPerField))}
              br $key
            end
            ${set('bits', `${currentByte}\n${int(32)}\ni32.or`)}
            ${ifThen(equals(get('bits'), int(123)), skipNestedSource)}
            ${readLiteralSource('null', `${storeAbsentCell}\n${setValueKind('absent')}`)}
            ${readLiteralSource('true', `${storeNumber(oneConstant)}\n${setValueKind('boolean')}`)}
            ${readLiteralSource('false', `${storeNumber('i64.const 0')}\n${setValueKind('boolean')}`)}
            ${readNumberSource(powersAddress)}
            ${storeInCell(scanAddresses.to, currentTextOffset)}
            ${setValueKind('double')}
            ${ifThen(`${get('isDouble')}\ni32.eqz`, setValueKind('integer'))}
            ${get('isRead')}
            if
              ${numberCellAddress}
              local.get $number
              f64.store
              br $value
            end
            ${ifThen(`${get('isDouble')}\ni32.eqz`, setValueKind('other'))}
          end
          ${addKind('field', get('kind'))}
          ${set('last', loadFieldWord('field', 'next'))}
          ${advance('field', int(4 * wordsPerField))}
          ${skipFields}
          loop $close
            ${set('byte', currentByte)}
            ${advance('at')}
            ${breakIf('key', equals(get('byte'), int(44)))}
            ${breakIf('done', notEquals(get('byte'), int(125)))}
            ${set('last', loadFieldWord('object', 'next'))}
            ${skipFields}
            ${notEquals(get('object'), get('root'))}
            if
              ${set('object', loadFieldWord('object', 'parent'))}
              br $close
            end
          end
          ${advance('at', isCurrentByte('\r'))}
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
