/**
 * A function of a WebAssembly module, in instructions of the text format: one per line; `$name` stands for a parameter, a local or the
 * label of a block.
 */
export interface Kernel {
  readonly name: string;
  /** The names of the parameters, which are all of type i32. */
  readonly params: readonly string[];
  readonly locals?: readonly string[];
  /** The names of the locals of type v128; `locals` has those of type i32. */
  readonly vectors?: readonly string[];
  /** The names of the locals of type i64. */
  readonly longs?: readonly string[];
  /** The names of the locals of type f64. */
  readonly doubles?: readonly string[];
  /** Instructions that leave the result, an i32, on the stack. */
  readonly body: string;
}

/**
 * Assembles a WebAssembly module that exports the functions and a memory of `pages` pages of 64 KiB. It supports only the instructions in
 * `opcodes`. With it, kernels need neither a compiler nor a build step.
 */
function assembleModule(kernels: readonly Kernel[], pages: number): Uint8Array<ArrayBuffer> {
  const types = kernels.map(({ params }) => [0x60, ...encodeList(params.map(() => i32)), 1, i32]);
  const exports = kernels.map(({ name }, i) => [...encodeList(encodeAscii(name)), 0, i]);
  return Uint8Array.from([
    ...encodeAscii('\0asm\u0001\0\0\0'),
    ...encodeSection(1, types),
    ...encodeSection(
      3,
      kernels.map((_, i) => [i]),
    ),
    ...encodeSection(5, [[1, ...unsignedLeb128(pages), ...unsignedLeb128(pages)]]),
    ...encodeSection(7, [...exports, [...encodeList(encodeAscii('memory')), 2, 0]]),
    ...encodeSection(
      10,
      kernels.map((kernel) => encodeList(encodeCode(kernel))),
    ),
  ]);
}

/** The members of the global `WebAssembly` that this file uses; TypeScript has no types for it without the DOM library. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

/** The functions and the memory of an assembled module, ready to be called; `E` has one member for each kernel. */
export function instantiate<E>(
  kernels: readonly Kernel[],
  pages: number,
): E & { readonly memory: { readonly buffer: ArrayBuffer } } {
  const module = new WebAssembly.Module(assembleModule(kernels, pages));
  return new WebAssembly.Instance(module).exports as ReturnType<typeof instantiate<E>>;
}

function encodeCode({
  params,
  locals = [],
  vectors = [],
  longs = [],
  doubles = [],
  body,
}: Kernel): number[] {
  const names = [...params, ...locals, ...vectors, ...longs, ...doubles];
  const localDeclarations = [
    [...unsignedLeb128(locals.length), i32],
    [...unsignedLeb128(vectors.length), v128],
    [...unsignedLeb128(longs.length), i64],
    [...unsignedLeb128(doubles.length), f64],
  ];
  return [
    ...unsignedLeb128(localDeclarations.length),
    ...localDeclarations.flat(),
    ...encodeInstructions(body, names),
    0x0b,
  ];
}

function encodeInstructions(body: string, names: readonly string[]): number[] {
  const labels: string[] = [];
  return body
    .split('\n')
    .map((line) => line.replace(/;;.*/, '').trim())
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [word = '', operand] = line.split(' ');
      const opcode = opcodes[word];
      if (opcode === undefined) throw new Error(`no such instruction: ${line}`);
      if (word === 'end') labels.pop();
      if (blockInstructions.has(word)) {
        labels.push(operand ?? '');
        return opcode;
      }
      if (operand === undefined) return opcode;
      if (word.startsWith('br') && operand.startsWith('$')) {
        const depth = labels.length - 1 - labels.lastIndexOf(operand);
        if (depth === labels.length) throw new Error(`no such label: ${line}`);
        return [...opcode, ...unsignedLeb128(depth)];
      }
      if (word === 'i32.const')
        return [...opcode, ...signedLeb128(BigInt.asIntN(32, BigInt(operand)))];
      if (word === 'f64.const') {
        const bytes = Buffer.alloc(8);
        bytes.writeDoubleLE(Number(operand));
        return [...opcode, ...bytes];
      }
      if (word === 'i64.const')
        return [...opcode, ...signedLeb128(BigInt.asIntN(64, BigInt(operand)))];
      const value = operand.startsWith('$') ? names.indexOf(operand.slice(1)) : Number(operand);
      if (!Number.isInteger(value) || value < 0) throw new Error(`no such operand: ${line}`);
      return [...opcode, ...unsignedLeb128(value)];
    });
}

const blockInstructions: ReadonlySet<string> = new Set(['block', 'loop', 'if']);

const i32 = 0x7f;
const i64 = 0x7e;
const f64 = 0x7c;
const v128 = 0x7b;
const emptyBlockType = 0x40;

/** Opcodes with their constant immediates: the block type; alignment and offset of a load or store. */
const opcodes: Readonly<Record<string, readonly number[]>> = {
  block: [0x02, emptyBlockType],
  loop: [0x03, emptyBlockType],
  if: [0x04, emptyBlockType],
  else: [0x05],
  end: [0x0b],
  br: [0x0c],
  br_if: [0x0d],
  select: [0x1b],
  'local.get': [0x20],
  'local.set': [0x21],
  'local.tee': [0x22],
  'i32.load': [0x28, 2, 0],
  'i64.load': [0x29, 0, 0],
  'f64.load': [0x2b, 0, 0],
  'i32.load8_u': [0x2d, 0, 0],
  'i64.load8_u': [0x31, 0, 0],
  'i64.load32_u': [0x35, 0, 0],
  'i32.store': [0x36, 2, 0],
  'i64.store': [0x37, 0, 0],
  'f64.store': [0x39, 0, 0],
  'i32.store8': [0x3a, 0, 0],
  'i32.const': [0x41],
  'i64.const': [0x42],
  'f64.const': [0x44],
  'i32.eqz': [0x45],
  'i32.eq': [0x46],
  'i32.ne': [0x47],
  'i32.lt_s': [0x48],
  'i32.lt_u': [0x49],
  'i32.gt_s': [0x4a],
  'i32.gt_u': [0x4b],
  'i32.le_s': [0x4c],
  'i32.le_u': [0x4d],
  'i32.ge_u': [0x4f],
  'i64.eqz': [0x50],
  'i64.eq': [0x51],
  'i64.lt_s': [0x53],
  'i64.lt_u': [0x54],
  'i64.gt_u': [0x56],
  'i64.le_u': [0x58],
  'i32.ctz': [0x68],
  'i32.add': [0x6a],
  'i32.sub': [0x6b],
  'i32.mul': [0x6c],
  'i32.div_u': [0x6e],
  'i32.and': [0x71],
  'i32.or': [0x72],
  'i32.shl': [0x74],
  'i32.xor': [0x73],
  'i32.shr_s': [0x75],
  'i32.shr_u': [0x76],
  'i64.clz': [0x79],
  'i64.ctz': [0x7a],
  'i64.add': [0x7c],
  'i64.sub': [0x7d],
  'i64.mul': [0x7e],
  'i64.div_u': [0x80],
  'i64.and': [0x83],
  'i64.or': [0x84],
  'i64.xor': [0x85],
  'i64.shl': [0x86],
  'i64.shr_u': [0x88],
  'i64.rotl': [0x89],
  'f64.ne': [0x62],
  'f64.neg': [0x9a],
  'f64.add': [0xa0],
  'f64.sub': [0xa1],
  'f64.mul': [0xa2],
  'f64.div': [0xa3],
  'i32.wrap_i64': [0xa7],
  'i64.extend_i32_u': [0xad],
  'i64.trunc_f64_s': [0xb0],
  'f64.convert_i64_s': [0xb9],
  'v128.load': [0xfd, 0x00, 0, 0],
  'v128.store': [0xfd, 0x0b, 0, 0],
  'i8x16.splat': [0xfd, 0x0f],
  'i8x16.eq': [0xfd, 0x23],
  'i8x16.ne': [0xfd, 0x24],
  'i8x16.lt_u': [0xfd, 0x26],
  'i8x16.swizzle': [0xfd, 0x0e],
  'v128.and': [0xfd, 0x4e],
  'v128.or': [0xfd, 0x50],
  'i8x16.shr_u': [0xfd, 0x6d],
  'i8x16.bitmask': [0xfd, 0x64],
};

function encodeSection(id: number, entries: readonly (readonly number[])[]): number[] {
  return [id, ...encodeList([...unsignedLeb128(entries.length), ...entries.flat()])];
}

/** A vector of the binary format: the number of bytes, then the bytes. */
function encodeList(bytes: readonly number[]): number[] {
  return [...unsignedLeb128(bytes.length), ...bytes];
}

/** An unsigned integer in LEB128. */
function unsignedLeb128(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsignedLeb128(value >>> 7)];
}

/** A signed integer in LEB128. */
function signedLeb128(value: bigint): number[] {
  const low = Number(value & 127n);
  const higherBits = value >> 7n;
  const isLast = higherBits === (low < 64 ? 0n : -1n);
  return isLast ? [low] : [low | 128, ...signedLeb128(higherBits)];
}

function encodeAscii(text: string): number[] {
  return [...text].map((c) => c.charCodeAt(0));
}
