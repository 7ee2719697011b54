/* Instructions of kernels that are used often, as text: of 32-bit integers where nothing else is said. `$at` is the position in the text. */

export const get = (local: string): string => `local.get $${local}`;
export const set = (local: string, value: string): string => `${value}\nlocal.set $${local}`;
export const int = (value: number): string => `i32.const ${value}`;
export const add = (a: string, b: string): string => `${a}\n${b}\ni32.add`;
export const sub = (a: string, b: string): string => `${a}\n${b}\ni32.sub`;
export const same = (a: string, b: string): string => `${a}\n${b}\ni32.eq`;
export const differ = (a: string, b: string): string => `${a}\n${b}\ni32.ne`;
export const below = (a: string, b: string): string => `${a}\n${b}\ni32.lt_u`;
export const above = (a: string, b: string): string => `${a}\n${b}\ni32.gt_u`;
export const either = (a: string, b: string): string => `${a}\n${b}\ni32.or`;
export const advance = (local: string, by = int(1)): string => set(local, add(get(local), by));
export const byteAt = (address: string): string => `${address}\ni32.load8_u`;
export const here = byteAt(get('at'));
export const isHere = (character: string): string => same(here, int(character.charCodeAt(0)));
export const when = (condition: string, then: string): string => `${condition}\nif\n${then}\nend`;
export const leave = (label: string, condition: string): string => `${condition}\nbr_if $${label}`;
