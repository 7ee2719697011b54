import type { Kernel } from '../../core/wasm-assembler.js';

/*
 * Converts numbers to decimal text. A double gets the fewest digits that read back as the same double; of several such decimals, the
 * nearest. The layout is that of ECMAScript (ECMA-262, Number::toString). The digits are found by Schubfach (Raffaello Giulietti, "The
 * Schubfach way to render doubles", 2020): the double and the ends of its rounding interval are multiplied by a power of ten of 128 bits.
 */

/** Addresses in the memory of the kernels, which is one page of 64 KiB. */
export const numberMemoryAddresses = {
  /** The powers of ten, beginning with 10^`minPowerOfTen`. */
  powers: 0,
  /** A buffer of 24 digits, followed by as many zeros. */
  digits: 10_240,
  /** The 64-bit numbers to write. */
  values: 10_496,
  /** The address of the end of each text, 32 bits each. */
  ends: 18_688,
  texts: 22_784,
} as const;

/** Maximum number of numbers that are written at once. */
export const maxNumbersPerCall = 1024;

const minPowerOfTen = -292;
const maxPowerOfTen = 324;

/**
 * Initialises the memory of the kernels: with the powers of ten as high and low halves, scaled to 128 bits and rounded up, and with zeros
 * in `digits`.
 */
export function initialiseNumberMemory(memory: ArrayBuffer): void {
  const halves = new BigUint64Array(
    memory,
    numberMemoryAddresses.powers,
    2 * (maxPowerOfTen - minPowerOfTen + 1),
  );
  for (let n = minPowerOfTen; n <= maxPowerOfTen; n++) {
    const shift = 127n - BigInt((n * 1_741_647) >> 19);
    const power =
      n < 0 ? (1n << shift) / 10n ** BigInt(-n) + 1n : shiftRoundingUp(10n ** BigInt(n), shift);
    halves[2 * (n - minPowerOfTen)] = power >> 64n;
    halves[2 * (n - minPowerOfTen) + 1] = power & 0xffff_ffff_ffff_ffffn;
  }
  new Uint8Array(memory, numberMemoryAddresses.digits, 48).fill(zeroDigitByte);
}

function shiftRoundingUp(power: bigint, shift: bigint): bigint {
  if (shift >= 0n) return power << shift;
  const floor = power >> -shift;
  return floor << -shift === power ? floor : floor + 1n;
}

const zeroDigitByte = 48;

/** WebAssembly instructions, as lines of text. */
type Instructions = string;
const get = (name: string): Instructions => `local.get $${name}`;
const set = (name: string, value: Instructions): Instructions => `${value}\nlocal.set $${name}`;
const op = (name: string, ...operands: readonly Instructions[]): Instructions =>
  [...operands, name].join('\n');
const int = (value: number): Instructions => `i32.const ${value}`;
const long = (value: number | bigint): Instructions => `i64.const ${value}`;
const add = (a: Instructions, b: Instructions): Instructions => op('i32.add', a, b);
const sub = (a: Instructions, b: Instructions): Instructions => op('i32.sub', a, b);
const add64 = (a: Instructions, b: Instructions): Instructions => op('i64.add', a, b);
const sub64 = (a: Instructions, b: Instructions): Instructions => op('i64.sub', a, b);
const mul64 = (a: Instructions, b: Instructions): Instructions => op('i64.mul', a, b);
const shl64 = (a: Instructions, b: Instructions): Instructions => op('i64.shl', a, b);
const shr64 = (a: Instructions, b: Instructions): Instructions => op('i64.shr_u', a, b);
const extendToI64 = (a: Instructions): Instructions => op('i64.extend_i32_u', a);
const ifElse = (condition: Instructions, then: readonly Instructions[], otherwise: readonly Instructions[] = []): Instructions =>
  [condition, 'if', ...then, ...(otherwise.length > 0 ? ['else', ...otherwise] : []), 'end'].join('\n'); // prettier-ignore
const storeByte = (at: Instructions, byte: Instructions): Instructions =>
  op('i32.store8', at, byte);
const copy16 = (to: Instructions, from: Instructions): Instructions =>
  `${to}\n${from}\nv128.load\nv128.store`;
/** Instructions that copy 24 bytes between ranges that do not overlap. */
const copy24 = (to: Instructions, from: Instructions): Instructions =>
  [copy16(to, from), op('i64.store', add(to, int(16)), op('i64.load', add(from, int(16))))].join('\n'); // prettier-ignore

/** Instructions that multiply the 64-bit locals `a` and `b`; the locals `high` and `low` receive the halves of the product. */
const multiplyTo128Bits = (a: string, b: string, high: string, low: string): Instructions => {
  const half = 0xffff_ffffn;
  const lower = (name: string): Instructions => op('i64.and', get(name), long(half));
  const upper = (name: string): Instructions => shr64(get(name), long(32));
  return [
    set('cross1', mul64(lower(a), upper(b))),
    set('cross2', mul64(upper(a), lower(b))),
    set(high, add64(mul64(upper(a), upper(b)), add64(upper('cross1'), upper('cross2')))),
    set('cross1', add64(add64(lower('cross1'), lower('cross2')), shr64(mul64(lower(a), lower(b)), long(32)))), // prettier-ignore
    set(high, add64(get(high), upper('cross1'))),
    set(low, mul64(get(a), get(b))),
  ].join('\n');
};

/** Instructions that split a local below 10^8 into eight digits, one in each byte of `into`, the first digit in the lowest byte. */
const splitEightDigits = (name: string, into: string): Instructions => {
  const split = (
    factor: number,
    shift: number,
    mask: bigint,
    by: number,
    lane: number,
  ): Instructions[] => [
    set('parts', op('i64.and', shr64(mul64(get(into), long(factor)), long(shift)), long(mask))),
    set(into, op('i64.or', get('parts'), shl64(sub64(get(into), mul64(get('parts'), long(by))), long(lane)))), // prettier-ignore
  ];
  return [
    set('parts', op('i64.div_u', get(name), long(10_000))),
    set(into, op('i64.or', get('parts'), shl64(sub64(get(name), mul64(get('parts'), long(10_000))), long(32)))), // prettier-ignore
    ...split(10_486, 20, 0x7f_0000_007fn, 100, 16),
    ...split(103, 10, 0xf_000f_000f_000fn, 10, 8),
  ].join('\n');
};

/**
 * Instructions that write the 24 digits of `number`; `from` becomes the address of the first digit that is not zero, or of the last digit.
 */
const writeDigitsSource = ((): Instructions => {
  const { digits } = numberMemoryAddresses;
  const store = (at: number, group: string): Instructions =>
    op('i64.store', int(digits + at), op('i64.or', get(group), long(0x3030_3030_3030_3030n)));
  const first = (at: number, group: string): Instructions =>
    set('from', add(int(digits + at), op('i32.wrap_i64', shr64(op('i64.ctz', get(group)), long(3))))); // prettier-ignore
  return [
    set('rest', op('i64.div_u', get('number'), long(100_000_000))),
    set('group', sub64(get('number'), mul64(get('rest'), long(100_000_000)))),
    splitEightDigits('group', 'low'),
    set('group', op('i64.div_u', get('rest'), long(100_000_000))),
    set('rest', sub64(get('rest'), mul64(get('group'), long(100_000_000)))),
    splitEightDigits('rest', 'middle'),
    splitEightDigits('group', 'top'),
    store(0, 'top'),
    store(8, 'middle'),
    store(16, 'low'),
    ifElse(
      op('i64.eqz', get('top')),
      [
        ifElse(
          op('i64.eqz', get('middle')),
          // If all digits are zero, the last digit counts as the first that is not zero.
          [set('low', op('i64.or', get('low'), long(1n << 56n))), first(16, 'low')],
          [first(8, 'middle')],
        ),
      ],
      [first(0, 'top')],
    ),
  ].join('\n');
})();

/** Instructions that set `zeros` to the number of trailing zeros of the 24 digits, at least one of which is not zero. */
const countTrailingZerosSource = ((): Instructions => {
  const last = (more: number, group: string): Instructions =>
    set('zeros', add(int(more), op('i32.wrap_i64', shr64(op('i64.clz', get(group)), long(3)))));
  return ifElse(
    op('i64.eqz', get('low')),
    [ifElse(op('i64.eqz', get('middle')), [last(16, 'top')], [last(8, 'middle')])],
    [last(0, 'low')],
  );
})();

/**
 * Instructions that set `into` to the end of the rounding interval above or below the scaled double. The scaled double is the 192-bit
 * number `limb2`, `limb1`, `limb0`; the result is the upper 64 bits of the end, of which the last is set if the next 64 bits exceed 1, the
 * error of the power of ten ("rounding to odd").
 */
const intervalEndSource = (into: string, shift: Instructions, isAbove: boolean): Instructions => {
  const back = sub64(long(63), get('shift'));
  const move = isAbove ? add64 : sub64;
  // Instructions for a carry or borrow: whether a sum is smaller than its summand, or a difference would be negative.
  const passed = (name: string, by: string, result: string): Instructions =>
    isAbove
      ? extendToI64(op('i64.lt_u', get(result), get(name)))
      : extendToI64(op('i64.lt_u', get(name), get(by)));
  return [
    set('shift', extendToI64(shift)),
    set('part', shl64(get('powerLow'), add64(get('shift'), long(1)))),
    set('sum', move(get('limb0'), get('part'))),
    set('carry', passed('limb0', 'part', 'sum')),
    set('part', op('i64.or', shl64(get('powerHigh'), add64(get('shift'), long(1))), shr64(get('powerLow'), back))), // prettier-ignore
    set('sum', move(get('limb1'), get('part'))),
    set('over', passed('limb1', 'part', 'sum')),
    set('limb', move(get('sum'), get('carry'))),
    set('over', op('i64.or', get('over'), passed('sum', 'carry', 'limb'))),
    set(into, move(move(get('limb2'), shr64(get('powerHigh'), back)), get('over'))),
    set(into, op('i64.or', get(into), extendToI64(op('i64.gt_u', get('limb'), long(1))))),
  ].join('\n');
};

/**
 * Instructions that compute the shortest decimal of the normal double `bits`: `number` times 10^`power`, where `number` may end in zeros.
 */
const findDecimalSource = ((): Instructions => {
  const fraction = op('i64.and', get('bits'), long((1n << 52n) - 1n));
  const { powers } = numberMemoryAddresses;
  // Instructions that test whether a decimal, times four, and the next decimal of as many digits lie within the interval.
  const inside = (least: Instructions, unit: number): Instructions[] => [
    set('isBelow', op('i64.le_u', get('lower'), least)),
    set('isAbove', op('i64.le_u', add64(least, long(unit)), get('upper'))),
  ];
  const isOne = op('i32.xor', get('isBelow'), get('isAbove'));
  return [
    set('double', fraction),
    // Below a power of two, doubles are closer together than above it.
    set('isCloser', op('i32.and', op('i64.eqz', get('double')), op('i32.gt_s', get('exponent'), int(1)))), // prettier-ignore
    set('double', op('i64.or', get('double'), long(1n << 52n))),
    set('exponent', sub(get('exponent'), int(1075))),
    set('power', op('i32.shr_s', sub(op('i32.mul', get('exponent'), int(1_262_611)), op('i32.mul', get('isCloser'), int(524_031))), int(22))), // prettier-ignore
    set('from', sub(int(0), get('power'))),
    set('scale', add(add(get('exponent'), op('i32.shr_s', op('i32.mul', get('from'), int(1_741_647)), int(19))), int(1))), // prettier-ignore
    set('from', add(int(powers), op('i32.shl', sub(get('from'), int(minPowerOfTen)), int(4)))),
    set('powerHigh', op('i64.load', get('from'))),
    set('powerLow', op('i64.load', add(get('from'), int(8)))),
    set('number', shl64(get('double'), add64(extendToI64(get('scale')), long(2)))),
    multiplyTo128Bits('number', 'powerLow', 'part', 'limb0'),
    multiplyTo128Bits('number', 'powerHigh', 'limb2', 'limb1'),
    set('limb1', add64(get('limb1'), get('part'))),
    set('limb2', add64(get('limb2'), extendToI64(op('i64.lt_u', get('limb1'), get('part'))))),
    intervalEndSource('upper', get('scale'), true),
    intervalEndSource('lower', sub(get('scale'), get('isCloser')), false),
    // The ends of the rounding interval belong to it only if the double is even.
    set('sum', op('i64.and', get('double'), long(1))),
    set('upper', sub64(get('upper'), get('sum'))),
    set('lower', add64(get('lower'), get('sum'))),
    set('exact', op('i64.or', get('limb2'), extendToI64(op('i64.gt_u', get('limb1'), long(1))))),
    set('decimal', shr64(get('exact'), long(2))),
    set('number', op('i64.div_u', get('decimal'), long(10))),
    set('part', mul64(get('number'), long(40))),
    ...inside(get('part'), 40),
    ifElse(
      isOne,
      [
        set('number', add64(get('number'), extendToI64(get('isAbove')))),
        set('power', add(get('power'), int(1))),
      ],
      [
        set('part', shl64(get('decimal'), long(2))),
        ...inside(get('part'), 4),
        ifElse(op('i32.eqz', isOne), [
          set('part', add64(get('part'), long(2))),
          // Chooses the nearer of the two decimals; if both are equally near, the even one.
          set('isAbove', op('i32.or', op('i64.gt_u', get('exact'), get('part')), op('i32.and', op('i64.eq', get('exact'), get('part')), op('i32.wrap_i64', op('i64.and', get('decimal'), long(1)))))), // prettier-ignore
        ]),
        set('number', add64(get('decimal'), extendToI64(get('isAbove')))),
      ],
    ),
  ].join('\n');
})();

/**
 * Instructions that write `count` digits, read from `from`, to `to`, with `point` digits before the decimal point. `to` becomes the end of
 * the text.
 */
const layOutDecimalSource = ((): Instructions => {
  const to = get('to');
  const from = get('from');
  const point = get('point');
  const count = get('count');
  const digit = (divisor: number): Instructions[] => [
    storeByte(to, add(int(zeroDigitByte), op('i32.div_u', get('exponent'), int(divisor)))),
    set('to', add(to, int(1))),
    set('exponent', sub(get('exponent'), op('i32.mul', op('i32.div_u', get('exponent'), int(divisor)), int(divisor)))), // prettier-ignore
  ];
  /** Instructions that copy the digits, with a point after the first `before` of them if there are more. */
  const withPoint = (before: Instructions): Instructions[] => [
    copy24(to, from),
    ifElse(op('i32.lt_s', before, count), [
      storeByte(add(to, before), int(46)),
      copy16(add(add(to, before), int(1)), add(from, before)),
    ]),
  ];
  const isPlain = op('i32.and', op('i32.le_s', int(-5), point), op('i32.le_s', point, int(21)));
  return ifElse(
    isPlain,
    [
      ifElse(
        op('i32.gt_s', point, int(0)),
        [
          // The buffer contains zeros after the digits; these are copied up to the decimal point.
          ...withPoint(point),
          set('to', add(to, `${add(count, int(1))}\n${point}\n${op('i32.lt_s', point, count)}\nselect`)), // prettier-ignore
        ],
        [
          op('i64.store', to, long(0x3030_3030_3030_2e30n)), // the characters `0.000000`
          copy24(sub(add(to, int(2)), point), from),
          set('to', sub(add(add(to, int(2)), count), point)),
        ],
      ),
    ],
    [
      ...withPoint(int(1)),
      set('to', add(add(to, count), op('i32.gt_s', count, int(1)))),
      storeByte(to, int(101)), // the letter e
      set('exponent', sub(point, int(1))),
      storeByte(add(to, int(1)), `${int(45)}\n${int(43)}\n${op('i32.lt_s', get('exponent'), int(0))}\nselect`), // prettier-ignore
      set('to', add(to, int(2))),
      ifElse(op('i32.lt_s', get('exponent'), int(0)), [
        set('exponent', sub(int(0), get('exponent'))),
      ]),
      set('count', get('exponent')),
      ifElse(op('i32.gt_s', get('count'), int(99)), digit(100)),
      ifElse(op('i32.gt_s', get('count'), int(9)), digit(10)),
      ...digit(1),
    ],
  );
})();

const writeSignSource: Instructions = ifElse(op('i64.lt_s', get('bits'), long(0)), [
  storeByte(get('to'), int(45)),
  set('to', add(get('to'), int(1))),
]);

/**
 * Instructions that run `body` for each of `$numbers` numbers, with the bits of the current number in `$bits`. To end the loop before a
 * number, `body` may branch out of the `loop` and the `block` that enclose it. They return the number of numbers written.
 */
const forEachNumberSource = (body: Instructions): Instructions => `
  ${set('to', int(numberMemoryAddresses.texts))}
  block
    loop
      ${op('i32.ge_u', get('index'), get('numbers'))}
      br_if 1
      ${set('bits', op('i64.load', add(int(numberMemoryAddresses.values), op('i32.shl', get('index'), int(3)))))}
      ${body}
      ${op('i32.store', add(int(numberMemoryAddresses.ends), op('i32.shl', get('index'), int(2))), get('to'))}
      ${set('index', add(get('index'), int(1)))}
      br 0
    end
  end
  ${get('index')}`;

/**
 * Writes the first `$numbers` doubles; stops at a subnormal double, which it cannot write. The text of NaN and of the infinities is empty,
 * that of minus zero is `0`. Returns how many have been written.
 */
const doublesKernel: Kernel = {
  name: 'doubles',
  params: ['numbers'],
  locals: ['index', 'to', 'from', 'exponent', 'power', 'scale', 'isCloser', 'isBelow', 'isAbove', 'zeros', 'count', 'point'], // prettier-ignore
  longs: ['bits', 'double', 'powerHigh', 'powerLow', 'cross1', 'cross2', 'limb0', 'limb1', 'limb2', 'shift', 'part', 'sum', 'carry', 'over', 'limb', 'lower', 'upper', 'exact', 'decimal', 'number', 'rest', 'group', 'parts', 'low', 'middle', 'top'], // prettier-ignore
  body: forEachNumberSource(
    [
      set('exponent', op('i32.and', op('i32.wrap_i64', shr64(get('bits'), long(52))), int(2047))),
      ifElse(
        op('i32.eqz', get('exponent')),
        [
          op('i64.eqz', shl64(get('bits'), long(1))),
          'i32.eqz',
          'br_if 2',
          storeByte(get('to'), int(zeroDigitByte)),
          set('to', add(get('to'), int(1))),
        ],
        [
          ifElse(op('i32.lt_s', get('exponent'), int(2047)), [
            writeSignSource,
            findDecimalSource,
            writeDigitsSource,
            countTrailingZerosSource,
            set(
              'point',
              add(sub(int(numberMemoryAddresses.digits + 24), get('from')), get('power')),
            ),
            set(
              'count',
              sub(sub(int(numberMemoryAddresses.digits + 24), get('from')), get('zeros')),
            ),
            layOutDecimalSource,
          ]),
        ],
      ),
    ].join('\n'),
  ),
};

/** Writes the first `$numbers` 64-bit integers. */
const longsKernel: Kernel = {
  name: 'longs',
  params: ['numbers'],
  locals: ['index', 'to', 'from'],
  longs: ['bits', 'number', 'rest', 'group', 'parts', 'low', 'middle', 'top'],
  body: forEachNumberSource(
    [
      writeSignSource,
      set('number', get('bits')),
      ifElse(op('i64.lt_s', get('bits'), long(0)), [set('number', sub64(long(0), get('bits')))]),
      writeDigitsSource,
      copy24(get('to'), get('from')),
      set('to', add(get('to'), sub(int(numberMemoryAddresses.digits + 24), get('from')))),
    ].join('\n'),
  ),
};

/** The kernels that write numbers; their memory is laid out as in `numberMemoryAddresses`. */
export const numberKernels: readonly Kernel[] = [doublesKernel, longsKernel];
