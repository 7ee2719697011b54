import { random } from '../random.js';
import type { FuzzCase } from './case.js';
import { corpusOf } from './corpus.js';
import { nests, wordsOf } from './dictionary.js';
import { madeText } from './grammar.js';
import { mutated, type Material } from './mutate.js';
import { randomPacking, randomParams, randomValidation } from './params.js';
import { pick } from './pick.js';

/** What the inputs of a reader are made of: its dictionary, and real files. */
export function materialFor(reader: string): Material {
  return { words: wordsOf(reader), nests: nests[reader]!, others: corpusOf(reader) };
}

/** The input of this seed: a real or a made text, mostly damaged. */
export function madeCase(reader: string, seed: number, material: Material): FuzzCase {
  const next = random(seed);
  const isReal = next() < 0.5 && material.others.length > 0;
  const text = isReal ? pick(next, material.others) : madeText(reader, next);
  return {
    reader,
    bytes: next() < 0.05 ? text : mutated(text, next, material),
    params: randomParams(reader, next),
    validation: randomValidation(next),
    packing: randomPacking(next),
    seed,
  };
}
