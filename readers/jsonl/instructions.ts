/* Frequently used WebAssembly instructions for kernels, as text. All work on 32-bit integers; `$at` is the position in the text. */

export const get = (local: string): string => `local.get $${local}`;
export const set = (local: string, value: string): string => `${value}\nlocal.set $${local}`;
export const int = (value: number): string => `i32.const ${value}`;
export const add = (a: string, b: string): string => `${a}\n${b}\ni32.add`;
export const sub = (a: string, b: string): string => `${a}\n${b}\ni32.sub`;
export const equals = (a: string, b: string): string => `${a}\n${b}\ni32.eq`;
export const notEquals = (a: string, b: string): string => `${a}\n${b}\ni32.ne`;
export const lessThan = (a: string, b: string): string => `${a}\n${b}\ni32.lt_u`;
export const greaterThan = (a: string, b: string): string => `${a}\n${b}\ni32.gt_u`;
export const or = (a: string, b: string): string => `${a}\n${b}\ni32.or`;
export const advance = (local: string, by = int(1)): string => set(local, add(get(local), by));
export const loadByteAt = (address: string): string => `${address}\ni32.load8_u`;
export const currentByte = loadByteAt(get('at'));
export const isCurrentByte = (character: string): string =>
  equals(currentByte, int(character.charCodeAt(0)));
export const ifThen = (condition: string, then: string): string => `${condition}\nif\n${then}\nend`;
export const breakIf = (label: string, condition: string): string =>
  `${condition}\nbr_if $${label}`;
