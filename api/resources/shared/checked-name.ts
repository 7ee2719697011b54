import type { Form } from '../../http/form.js';

/**
 * Reads a name and checks it by the catalogue's rule. Notes a mistake in the form if the name is missing, blank or against the rule;
 * returns the empty string if it is missing or blank.
 */
export function readCheckedName(
  form: Form,
  key: string,
  check: (field: string, name: string) => void,
): string {
  const text = form.requiredText(key);
  if (text === '') return text;
  try {
    check(key, text);
  } catch (error) {
    form.collectErrorsOf(error);
  }
  return text;
}
