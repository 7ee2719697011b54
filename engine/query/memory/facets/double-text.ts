/** The shortest digits that are this double again: `1.0`, `1e-05`, `1e+16`; `null` if JSON has no such number. */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e16) return Number.isInteger(value) ? `${value}.0` : String(value);
  if (size === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  return value.toExponential().replace(/(?<=e[+-])\d$/, '0$&');
}
