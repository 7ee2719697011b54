import { random } from '../random.js';
import type { FuzzCase } from './case.js';
import { corpusOf } from './corpus.js';
import { nestings, tokensOf } from './dictionary.js';
import { generateText } from './grammar.js';
import { mutate, type EditMaterial } from './mutate.js';
import { randomPacking, randomParams, randomValidation } from './params.js';
import { pick } from './pick.js';

/** The material for the inputs of a reader: its dictionary, and real files. */
export function materialFor(reader: string): EditMaterial {
  return { tokens: tokensOf(reader), nestings: nestings[reader]!, others: corpusOf(reader) };
}

/** Generates the input of this seed: a real or a generated text, usually damaged. */
export function generateCase(reader: string, seed: number, material: EditMaterial): FuzzCase {
  const next = random(seed);
  const isReal = next() < 0.5 && material.others.length > 0;
  const text = isReal ? pick(next, material.others) : generateText(reader, next);
  return {
    reader,
    bytes: next() < 0.05 ? text : mutate(text, next, material),
    params: randomParams(reader, next),
    validation: randomValidation(next),
    packing: randomPacking(next),
    seed,
  };
}
