import { powersOfTen } from '../text/parse-numbers.js';
import { add, advance, breakIf, loadByteAt, currentByte, equals, get, greaterThan, ifThen, int, isCurrentByte, lessThan, or, set, sub } from './instructions.js'; // prettier-ignore

/** Maximum number of digits of an integer that a double always holds exactly; `maxReadDigits` is the maximum that the instructions read. */
const maxExactDigits = 15;
const maxReadDigits = 18;

/** The locals that the instructions `readNumberSource` use, including those for its results. */
export const numberLocals = {
  locals: ['begin', 'byte', 'digits', 'decimals', 'exponent', 'isNegative', 'isExponentNegative', 'isDouble', 'isRead'], // prettier-ignore
  longs: ['mantissa'],
  doubles: ['number', 'sum', 'power', 'back', 'correction', 'highA', 'lowA', 'highB', 'lowB'],
} as const;

/** Returns instructions that move past digits; `addDigitSource` adds the digit in `$byte` to the value read so far. */
const readDigitsSource = (addDigitSource: string): string => `
  loop
    ${set('byte', sub(currentByte, int(48)))}
    ${lessThan(get('byte'), int(10))}
    if
      ${addDigitSource}
      ${advance('at')}
      br 1
    end
  end`;

const readMantissaSource = readDigitsSource(`
  local.get $mantissa
  i64.const 10
  i64.mul
  ${get('byte')}
  i64.extend_i32_u
  i64.add
  local.set $mantissa`);

const readExponentSource = readDigitsSource(
  set('exponent', add(`${get('exponent')}\n${int(10)}\ni32.mul`, get('byte'))),
);

/** Returns instructions that split a double into two of half as many digits (Veltkamp). */
const splitDoubleSource = (local: string, high: string, low: string): string => `
  local.get $${local}
  f64.const 134217729
  f64.mul
  local.tee $${low}
  local.get $${low}
  local.get $${local}
  f64.sub
  f64.sub
  local.set $${high}
  local.get $${local}
  local.get $${high}
  f64.sub
  local.set $${low}`;

/**
 * Instructions that compute the rounding error of `$back`, the product of `$number` and `$power`, as `productRoundingError` of
 * `readers/text/parse-numbers.ts` does.
 */
const productErrorSource = `
  ${splitDoubleSource('number', 'highA', 'lowA')}
  ${splitDoubleSource('power', 'highB', 'lowB')}
  local.get $lowA
  local.get $lowB
  f64.mul
  local.get $back
  local.get $highA
  local.get $highB
  f64.mul
  f64.sub
  local.get $lowA
  local.get $highB
  f64.mul
  f64.sub
  local.get $highA
  local.get $lowB
  f64.mul
  f64.sub
  f64.sub`;

/** Returns instructions that compute `$number` plus its correction, with the largest error of the correction added or subtracted (`operation`). */
const correctedQuotientSource = (operation: string): string => `
  local.get $number
  local.get $correction
  local.get $number
  f64.const 1e-28
  f64.mul
  ${operation}
  f64.add`;

/**
 * Instructions that correct the quotient of a mantissa that a double may not hold exactly, as `parseLongDecimal` of
 * `readers/text/parse-numbers.ts` does.
 */
const correctQuotientSource = `
  local.get $number
  local.get $power
  f64.mul
  local.set $back
  local.get $sum
  local.get $back
  f64.sub
  ${productErrorSource}
  f64.sub
  local.get $mantissa
  local.get $sum
  i64.trunc_f64_s
  i64.sub
  f64.convert_i64_s
  f64.add
  local.get $power
  f64.div
  local.set $correction
  ${correctedQuotientSource('f64.add')}
  local.tee $back
  ${correctedQuotientSource('f64.sub')}
  f64.ne
  br_if $number
  local.get $back
  local.set $number`;

/**
 * Returns instructions that move past a JSON number, and exit the block `done` if there is none. `$isDouble` tells whether the number has a
 * fraction or an exponent. `$isRead` tells whether its value is in `$number`. That is not so for integers and doubles of many digits, for
 * exponents of more than three digits, for doubles that are not a mantissa divided by a power of ten up to 10^22 (such as `1e5`), and for
 * doubles too close to the middle between two doubles. `powers` is the address of `powersOfTen`.
 */
export const readNumberSource = (powers: number): string => `
  ${set('isDouble', int(0))}
  ${set('isRead', int(0))}
  ${set('isNegative', isCurrentByte('-'))}
  ${advance('at', get('isNegative'))}
  ${set('begin', get('at'))}
  i64.const 0
  local.set $mantissa
  ${readMantissaSource}
  ${set('digits', sub(get('at'), get('begin')))}
  ${breakIf('done', `${get('digits')}\ni32.eqz`)}
  ${equals(loadByteAt(get('begin')), int(48))}
  if
    ${breakIf('done', greaterThan(get('digits'), int(1)))}
    ${set('digits', int(0))}
  end
  ${set('decimals', int(0))}
  ${isCurrentByte('.')}
  if
    ${advance('at')}
    ${set('begin', get('at'))}
    ${get('digits')}
    i32.eqz
    if
      loop
        ${isCurrentByte('0')}
        if
          ${advance('at')}
          br 1
        end
      end
    end
    ${set('decimals', get('at'))}
    ${readMantissaSource}
    ${advance('digits', sub(get('at'), get('decimals')))}
    ${set('decimals', sub(get('at'), get('begin')))}
    ${breakIf('done', `${get('decimals')}\ni32.eqz`)}
    ${set('isDouble', int(1))}
  end
  ${equals(`${currentByte}\n${int(32)}\ni32.or`, int(101))}
  if
    ${advance('at')}
    ${set('isExponentNegative', isCurrentByte('-'))}
    ${advance('at', or(isCurrentByte('+'), get('isExponentNegative')))}
    ${set('begin', get('at'))}
    ${set('exponent', int(0))}
    ${readExponentSource}
    ${breakIf('done', equals(get('at'), get('begin')))}
    ${set('isDouble', int(1))}
    ${ifThen(greaterThan(sub(get('at'), get('begin')), int(3)), set('digits', int(maxReadDigits + 1)))}
    ${sub(get('decimals'), get('exponent'))}
    ${add(get('decimals'), get('exponent'))}
    ${get('isExponentNegative')}
    i32.eqz
    select
    local.set $decimals
  end
  block $number
    ${get('isDouble')}
    i32.eqz
    if
      ${breakIf('number', greaterThan(get('digits'), int(maxExactDigits)))}
      i64.const 0
      local.get $mantissa
      i64.sub
      local.get $mantissa
      ${get('isNegative')}
      select
      f64.convert_i64_s
      local.set $number
      ${set('isRead', int(1))}
      br $number
    end
    ${breakIf('number', greaterThan(get('digits'), int(maxReadDigits)))}
    ${breakIf('number', greaterThan(get('decimals'), int(powersOfTen.length - 1)))}
    ${add(`${get('decimals')}\n${int(3)}\ni32.shl`, int(powers))}
    f64.load
    local.set $power
    local.get $mantissa
    f64.convert_i64_s
    local.tee $sum
    local.get $power
    f64.div
    local.set $number
    ${ifThen(greaterThan(get('digits'), int(maxExactDigits)), correctQuotientSource)}
    ${get('isNegative')}
    if
      local.get $number
      f64.neg
      local.set $number
    end
    ${set('isRead', int(1))}
  end`;
