import { seededRandom } from '../random.js';
import type { FuzzCase } from './case.js';
import { corpusOf } from './corpus.js';
import { repeatedTexts, tokensOf } from './dictionary.js';
import { generateText } from './grammar.js';
import { mutateText, type EditMaterial } from './mutate.js';
import { randomPacking, randomParams, randomValidation } from './params.js';
import { pickRandom } from './pick.js';

/** Returns the material for mutating the inputs of a reader: its tokens, its repeated texts, and real files. */
export function editMaterialFor(reader: string): EditMaterial {
  return { tokens: tokensOf(reader), nestings: repeatedTexts[reader]!, others: corpusOf(reader) };
}

/** Returns the case of a seed: a real or a generated text, usually mutated, with random parameters and compression. */
export function generateCase(reader: string, seed: number, material: EditMaterial): FuzzCase {
  const next = seededRandom(seed);
  const isReal = next() < 0.5 && material.others.length > 0;
  const text = isReal ? pickRandom(next, material.others) : generateText(reader, next);
  return {
    reader,
    bytes: next() < 0.05 ? text : mutateText(text, next, material),
    params: randomParams(reader, next),
    validation: randomValidation(next),
    packing: randomPacking(next),
    seed,
  };
}
