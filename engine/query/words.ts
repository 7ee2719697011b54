/** What text is made of for word matching: runs of letters, marks, digits and underscores, in RE2 and JavaScript alike. */
export const wordClass = String.raw`\p{L}\p{M}\p{N}_`;

const wordPattern = /[\p{L}\p{M}\p{N}_]+/gu;

/** The words of a text, in order. */
export function words(text: string): string[] {
  return text.match(wordPattern) ?? [];
}

/** A pattern that matches exactly this text: of ASCII, all but letters, digits and underscores is escaped. */
export function escapePattern(text: string): string {
  return text.replaceAll(
    /(?![A-Za-z0-9_])\p{ASCII}/gu,
    (char) => `\\x{${char.codePointAt(0)!.toString(16)}}`,
  );
}
