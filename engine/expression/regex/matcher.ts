import type { Budget } from '../values/expression-limits.js';
import { isWordCode } from './character-classes.js';
import type { RegexProgram } from './program.js';
import type { Assertion } from './regex-tree.js';

/**
 * The bounds of the groups of a match, in code units; -1 for a group that did not participate. Elements 2n and 2n + 1 are the bounds of
 * group n; the elements after those of the groups are state of the matcher.
 */
export type MatchSlots = readonly number[];

/**
 * Matches a program against a text by backtracking that never visits a pair of instruction and position twice: a pair that has failed fails
 * again, because the rest of the match depends only on the pair. Therefore, a search takes time at most in proportion to the product of the
 * lengths of program and text; a look-around is a separate search each time. The first alternative wins, as in Python. Eight visits are
 * charged as one step.
 * In loops whose passes may match nothing, the rest also depends on which of the enclosing passes have matched nothing so far. A pass
 * begins no earlier than the enclosing one, so these are the innermost passes; their number, with the pair, forms a state.
 */
export class RegexMatcher {
  readonly #program: RegexProgram;
  readonly #text: string;
  readonly #budget: Budget;
  readonly #visited: Uint32Array;
  readonly #width: number;
  /** For each instruction, the index of its first state among the states at one position. */
  readonly #firstStates: Int32Array;
  #visits = 0;

  constructor(program: RegexProgram, text: string, budget: Budget) {
    this.#program = program;
    this.#text = text;
    this.#budget = budget;
    this.#width = text.length + 1;
    this.#firstStates = new Int32Array(program.instructions.length + 1);
    for (const [i, loops] of program.loops.entries())
      this.#firstStates[i + 1] = this.#firstStates[i]! + loops.length + 1;
    const wordCount = Math.ceil((this.#firstStates.at(-1)! * this.#width) / 32);
    budget.chargeWorkspace(4 * wordCount);
    budget.charge(wordCount >>> 6);
    this.#visited = new Uint32Array(wordCount);
  }

  /** Finds the first match that begins at `from` or later. With `mustAdvance`, an empty match at `from` does not count. */
  search(from: number, mustAdvance: boolean): MatchSlots | undefined {
    const { firstCharacter } = this.#program;
    for (let start = from; start <= this.#text.length; start += this.#size(start)) {
      if (firstCharacter !== undefined) {
        const next = this.#text.indexOf(firstCharacter, start);
        this.#budget.charge(((next < 0 ? this.#text.length : next) - start) >>> 6);
        if (next < 0) return undefined;
        start = next;
      }
      const match = this.#matchAt(start, mustAdvance && start === from, -1);
      if (match !== undefined) {
        // Pairs of an instruction and a position after the end of the match have been visited and have failed, so the next search does not
        // visit them again. Those at the end itself may belong to the match, so they are marked as not visited.
        this.#forget(match[1]!);
        return match;
      }
    }
    return undefined;
  }

  /** Returns the match at a position, if there is one; with `end`, the match must end there. */
  #matchAt(start: number, mustAdvance: boolean, end: number): number[] | undefined {
    const { instructions, groupCount, loops } = this.#program;
    const text = this.#text;
    const slots: number[] = Array.from({ length: this.#program.slots }, () => -1);
    // The backtracking stack of pairs: an instruction and the position at which to continue, or a slot (as -1 - slot) and its former value.
    const stack: number[] = [0, start];
    while (stack.length > 0) {
      let at = stack.pop()!;
      let next = stack.pop()!;
      if (next < 0) {
        slots[-1 - next] = at;
        continue;
      }
      for (;;) {
        if (
          this.#isVisited(
            this.#firstStates[next]! + countLoopsBegunBefore(slots, loops[next]!, at),
            at,
          )
        )
          break;
        const instruction = instructions[next]!;
        if (instruction.op === 'match') {
          if ((mustAdvance && at === start) || (end >= 0 && at !== end)) break;
          return slots;
        }
        if (instruction.op === 'character' || instruction.op === 'class') {
          if (at >= text.length) break;
          const code = text.codePointAt(at)!;
          const accepts =
            instruction.op === 'character' ? instruction.code === code : instruction.test(code);
          if (!accepts) break;
          at += code > 0xffff ? 2 : 1;
          next += 1;
        } else if (instruction.op === 'split') {
          stack.push(instruction.second, at);
          next = instruction.first;
        } else if (instruction.op === 'progress')
          next = slots[instruction.slot] === at ? instruction.target : next + 1;
        else if (instruction.op === 'jump') next = instruction.target;
        else if (instruction.op === 'save') {
          stack.push(-1 - instruction.slot, slots[instruction.slot]!);
          slots[instruction.slot] = at;
          next += 1;
        } else if (instruction.op === 'assertion') {
          if (!assertionHoldsAt(instruction.assertion, text, at)) break;
          next += 1;
        } else {
          const lookMatch = this.#look(instruction.program, at, instruction.width);
          if ((lookMatch === undefined) !== instruction.isNegative) break;
          if (lookMatch !== undefined && !instruction.isNegative)
            for (let slot = 2; slot < 2 * groupCount + 2; slot++) {
              if (lookMatch[slot] === -1) continue;
              stack.push(-1 - slot, slots[slot]!);
              slots[slot] = lookMatch[slot]!;
            }
          next += 1;
        }
      }
    }
    return undefined;
  }

  #look(program: RegexProgram, at: number, width: number): MatchSlots | undefined {
    const inner = new RegexMatcher(program, this.#text, this.#budget);
    if (width < 0) return inner.#matchAt(at, false, -1);
    let from = at;
    for (let i = 0; i < width; i++) {
      if (from <= 0) return undefined;
      const isPair = from > 1 && this.#size(from - 2) === 2;
      from -= isPair ? 2 : 1;
    }
    return inner.#matchAt(from, false, at);
  }

  #isVisited(state: number, at: number): boolean {
    const bit = state * this.#width + at;
    const word = Math.floor(bit / 32);
    const mask = 1 << (bit & 31);
    if ((this.#visited[word]! & mask) !== 0) return true;
    this.#visited[word]! |= mask;
    this.#visits += 1;
    if ((this.#visits & 1023) === 0) this.#budget.charge(128);
    return false;
  }

  #forget(at: number): void {
    for (let state = 0; state < this.#firstStates.at(-1)!; state++) {
      const bit = state * this.#width + at;
      this.#visited[Math.floor(bit / 32)]! &= ~(1 << (bit & 31));
    }
  }

  #size(at: number): number {
    const code = this.#text.codePointAt(at);
    return code !== undefined && code > 0xffff ? 2 : 1;
  }
}

/** Returns how many of the enclosing loop passes, counted from the outermost, began before a position. */
function countLoopsBegunBefore(
  slots: readonly number[],
  loops: readonly number[],
  at: number,
): number {
  let count = 0;
  while (count < loops.length && slots[loops[count]!]! < at) count += 1;
  return count;
}

function assertionHoldsAt(assertion: Assertion, text: string, at: number): boolean {
  switch (assertion) {
    case 'text-start':
      return at === 0;
    case 'text-end':
      return at === text.length;
    case 'line-start':
      return at === 0 || text[at - 1] === '\n';
    case 'line-end':
      return at === text.length || text[at] === '\n';
    case 'last-line-end':
      return at === text.length || (at === text.length - 1 && text[at] === '\n');
    case 'word-boundary':
      return isWordBoundary(text, at);
    case 'not-word-boundary':
      // In Python, `\b` and `\B` both fail on an empty text.
      return text !== '' && !isWordBoundary(text, at);
  }
}

function isWordBoundary(text: string, at: number): boolean {
  const before = at > 0 && isWordCode(codePointBefore(text, at));
  const after = at < text.length && isWordCode(text.codePointAt(at)!);
  return before !== after;
}

function codePointBefore(text: string, at: number): number {
  const pair = at > 1 ? text.codePointAt(at - 2)! : 0;
  return pair > 0xffff ? pair : text.charCodeAt(at - 1);
}
