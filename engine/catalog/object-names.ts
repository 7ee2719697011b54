import { invalidError } from '../core/errors.js';

const maxNameCharacters = 1_000;
// oxlint-disable-next-line no-control-regex -- refusing control characters is the point
const controlCharacterPattern = /[\u0000-\u001f\u007f]/;

/**
 * Returns the key by which names are compared: NFC and case-folded (contract 6.2, threat D1). Converting to upper and then to lower case
 * approximates Unicode's case folding (ß equals SS, the three sigmas are equal).
 */
export function foldName(name: string): string {
  return name.normalize('NFC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
}

/** Throws if the name is not allowed as a component of a path; `field` is the key of the request that the error names. */
export function checkFilename(field: string, name: string): void {
  checkName(field, name);
  if (name.includes('/')) throw invalidError(field, 'A name must not contain a slash.');
  if (name === '.' || name === '..') throw invalidError(field, 'A name must not be . or ..');
}

/** Throws if the name is not allowed for a vault, for example because it contains a separator of full paths. */
export function checkVaultName(field: string, name: string): void {
  checkName(field, name);
  if (/[/:*?]/.test(name))
    throw invalidError(field, 'A vault name must not contain any of / : * ?');
  if (name.startsWith('~')) throw invalidError(field, 'A vault name must not begin with ~');
}

/** Throws if the name is blank or too long, or contains an ASCII control character or a lone surrogate. */
export function checkName(field: string, name: string): void {
  if (name.trim() === '') throw invalidError(field, 'This field may not be blank.');
  if (name.length > maxNameCharacters) {
    throw invalidError(field, `A name must not be longer than ${maxNameCharacters} characters.`);
  }
  if (controlCharacterPattern.test(name) || !name.isWellFormed()) {
    throw invalidError(field, 'A name must not contain control characters or broken surrogates.');
  }
}

const compressedFilenamePattern = /^(.+?)(\.[A-Za-z0-9]+\.(?:gz|bgz|bz2|zip|xz|zst))$/i;
const filenamePattern = /^(.+)(\.[A-Za-z0-9]+)$/;

/**
 * Adds a number to a name, before its extension: `reads.vcf.gz` with 2 becomes `reads-2.vcf.gz`.
 * Choice: only files have extensions, and the extension includes a compression suffix such as `.gz`.
 */
export function numberedName(name: string, number: number, isFile: boolean): string {
  const match = isFile
    ? (compressedFilenamePattern.exec(name) ?? filenamePattern.exec(name))
    : null;
  return match === null ? `${name}-${number}` : `${match[1]}-${number}${match[2]}`;
}
