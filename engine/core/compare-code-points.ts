/** Orders strings by code point, which is the order of their bytes in UTF-8. JavaScript's `<` orders by UTF-16 code unit. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // A surrogate belongs to a code point above U+FFFF, so it comes after every code unit that is not a surrogate.
    const isSurrogate = (x & 0xf800) === 0xd800;
    if (isSurrogate === ((y & 0xf800) === 0xd800)) return x - y;
    return isSurrogate ? 1 : -1;
  }
  return a.length - b.length;
}
