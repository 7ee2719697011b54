import { NotCovered } from '../not-covered.js';

/**
 * Of more texts the SQL engine, which has all cores for it, decides sooner; of so many characters the worst of patterns takes
 * seconds, which nobody can end here, while an ordinary one takes 50 ms.
 */
export const mostTexts = 250_000;
const mostCharacters = 6_000_000;

/** To be called with the length of each text before it is looked at; throws NotCovered when there are too many. */
export function atMost(): (length: number) => void {
  let texts = 0;
  let characters = 0;
  return (length) => {
    texts += 1;
    characters += length;
    if (texts > mostTexts || characters > mostCharacters) throw tooMuch();
  };
}

/** What is thrown then. */
export function tooMuch(): NotCovered {
  return new NotCovered('a pattern for many texts');
}
