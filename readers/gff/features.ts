/** How the attributes of a feature line are written, where that is certain. */
export function styleOf(line: string): 'gff3' | 'gtf' | undefined {
  const attributes = line.split('\t')[8];
  if (attributes === undefined) return undefined;
  if (/^\s*[^\s=;]+ +"/.test(attributes)) return 'gtf';
  return /^\s*[^\s="]+=/.test(attributes) ? 'gff3' : undefined;
}

/** The same of a text that may be no features at all: coordinates must be where features have them. */
export function styleOfText(start: string): 'gff3' | 'gtf' | undefined {
  const lines = start.split(/\r\n|\n|\r/);
  const first = lines.find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  return /^[^\t]+\t[^\t]*\t[^\t]+\t\d+\t\d+\t[^\t]*\t[-+.?]\t[012.]\t/.test(first)
    ? styleOf(first)
    : undefined;
}
