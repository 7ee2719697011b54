import type { Form } from './form.js';

/** Longest name of a vault, a folder, a file or a dataset. */
const maxLength = 255;

/** Reads the name of an object: no slash, no control character, no half of a surrogate pair (threat D1). */
export function objectName(form: Form, key: string): string {
  return checked(form, key, ['/']);
}

/** Reads a vault's name: `:` and `/` would break full paths (contract 5.4). */
export function vaultName(form: Form, key: string): string {
  return checked(form, key, ['/', ':']);
}

function checked(form: Form, key: string, forbidden: readonly string[]): string {
  const name = form.requiredText(key).trim();
  const found = forbidden.find((mark) => name.includes(mark));
  if (found !== undefined) form.fail(key, `A name must not contain "${found}".`);
  // oxlint-disable-next-line no-control-regex -- finding control characters is the point
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name) || !name.isWellFormed()) {
    form.fail(key, 'A name must not contain control characters or broken Unicode.');
  }
  if (name === '.' || name === '..' || name === '~') form.fail(key, `"${name}" cannot be a name.`);
  if (name.length > maxLength) form.fail(key, `A name has at most ${maxLength} characters.`);
  return name;
}
