import { invalid } from '../core/errors.js';

const nameCharacters = 1_000;
// oxlint-disable-next-line no-control-regex -- refusing control characters is the point
const controlCharacters = /[\u0000-\u001f\u007f]/;

/**
 * The key by which names are compared: NFC and case-folded (contract 6.2, threats D1). Upper-casing and then lower-casing
 * approximates Unicode's case folding (ß equals SS, the three sigmas are equal).
 */
export function foldName(name: string): string {
  return name.normalize('NFC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
}

/** Throws if the name cannot be one component of a path; `field` is the request's key for the error. */
export function checkFilename(field: string, name: string): void {
  checkName(field, name);
  if (name.includes('/')) throw invalid(field, 'A name must not contain a slash.');
  if (name === '.' || name === '..') throw invalid(field, 'A name must not be . or ..');
}

/** Throws if the name cannot be a vault's: the separators of full paths are not allowed in it. */
export function checkVaultName(field: string, name: string): void {
  checkName(field, name);
  if (/[/:*?]/.test(name)) throw invalid(field, 'A vault name must not contain any of / : * ?');
  if (name.startsWith('~')) throw invalid(field, 'A vault name must not begin with ~');
}

/** Throws if the name is blank, too long or not printable. */
export function checkName(field: string, name: string): void {
  if (name.trim() === '') throw invalid(field, 'This field may not be blank.');
  if (name.length > nameCharacters) {
    throw invalid(field, `A name must not be longer than ${nameCharacters} characters.`);
  }
  if (controlCharacters.test(name) || !name.isWellFormed()) {
    throw invalid(field, 'A name must not contain control characters or broken surrogates.');
  }
}

const compressedName = /^(.+?)(\.[A-Za-z0-9]+\.(?:gz|bgz|bz2|zip|xz|zst))$/i;
const plainName = /^(.+)(\.[A-Za-z0-9]+)$/;

/**
 * Adds a number to a name, before its extension: `reads.vcf.gz` with 2 becomes `reads-2.vcf.gz`.
 * Choice: only files have extensions, and a compression suffix belongs to the one before it.
 */
export function numberedName(name: string, number: number, isFile: boolean): string {
  const parts = isFile ? (compressedName.exec(name) ?? plainName.exec(name)) : null;
  return parts === null ? `${name}-${number}` : `${parts[1]}-${number}${parts[2]}`;
}
