import type { Form } from '../http/form.js';

/** Reads a name and checks it by the catalogue's rule; empty when it is missing or blank, which the form then knows. */
export function checkedName(
  form: Form,
  key: string,
  check: (field: string, name: string) => void,
): string {
  const text = form.requiredText(key);
  if (text === '') return text;
  try {
    check(key, text);
  } catch (error) {
    form.absorb(error);
  }
  return text;
}
