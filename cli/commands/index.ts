import type { Command } from '../command.js';
import { serve } from './serve.js';
import { tokenAdd, tokenList, tokenRevoke } from './token.js';
import { userAdd } from './user.js';
import { verify } from './verify.js';

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  serve,
  userAdd,
  tokenAdd,
  tokenList,
  tokenRevoke,
  verify,
];
