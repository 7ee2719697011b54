/** An element of a pattern: a literal character, `?` (any character but a slash), `*` (such characters) or `**` (any characters). */
type PatternElement =
  { readonly kind: 'literal'; readonly char: string } | { readonly kind: 'one' | 'many' | 'any' };

/**
 * Compiles a glob to a matcher: `*` and `?` do not match a slash, `**` does, and every other character is literal; there is no escape. The
 * matcher simulates a nondeterministic automaton, so its time is at most text length times pattern length (threat Q3).
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  const steps = parsePattern(pattern);
  return (text) => {
    let active = epsilonClosure(steps, new Set([0]));
    for (const char of text) {
      const next = new Set<number>();
      for (const at of active) {
        const step = steps[at];
        if (step === undefined) continue;
        if (step.kind === 'any' || (step.kind === 'many' && char !== '/')) next.add(at);
        else if (
          step.kind === 'one' ? char !== '/' : step.kind === 'literal' && step.char === char
        ) {
          next.add(at + 1);
        }
      }
      if (next.size === 0) return false;
      active = epsilonClosure(steps, next);
    }
    return active.has(steps.length);
  };
}

/** True if the pattern contains a wildcard. */
export function hasWildcard(pattern: string): boolean {
  return pattern.includes('*') || pattern.includes('?');
}

/** The text before the first wildcard; the whole pattern if it has none. */
export function literalPrefix(pattern: string): string {
  const at = [pattern.indexOf('*'), pattern.indexOf('?')].filter((index) => index !== -1);
  return at.length === 0 ? pattern : pattern.slice(0, Math.min(...at));
}

function parsePattern(pattern: string): readonly PatternElement[] {
  const steps: PatternElement[] = [];
  for (const char of pattern) {
    const last = steps.at(-1);
    if (char === '*' && last !== undefined && (last.kind === 'many' || last.kind === 'any')) {
      steps[steps.length - 1] = { kind: 'any' };
    } else if (char === '*') steps.push({ kind: 'many' });
    else if (char === '?') steps.push({ kind: 'one' });
    else steps.push({ kind: 'literal', char });
  }
  return steps;
}

/** Extends positions to their epsilon closure: a star may match nothing, so the position after an active star is active, too. */
function epsilonClosure(steps: readonly PatternElement[], positions: Set<number>): Set<number> {
  for (const at of positions) {
    const kind = steps[at]?.kind;
    if (kind === 'many' || kind === 'any') positions.add(at + 1);
  }
  return positions;
}
