import { openClient } from '../client.js';
import { type Command, UsageError } from '../command.js';
import { originOf, saveLogin } from '../remote.js';
import { readOptions } from './options.js';

/** `strandlake login`: checks address and token with the server and saves them for the commands that work through it. */
export const login: Command = {
  name: 'login',
  usage: 'login <url> --token <token>   (or the token in STRANDLAKE_TOKEN)',
  help: 'checks the token with the server at <url> and saves both for later commands',
  async run({ args, env, terminal }) {
    const options = { token: { type: 'string' } } as const;
    const { values, positionals } = readOptions(args, options, { min: 1, max: 1 });
    const token = values.token ?? env['STRANDLAKE_TOKEN'];
    if (token === undefined) {
      throw new UsageError(
        '--token is missing; the server prints one at its first start, and token add makes more',
      );
    }
    const origin = originOf(positionals[0]);
    if (origin === undefined) throw new UsageError('the address of the server is missing');
    const user = await openClient(origin, token, new AbortController().signal).get('/v1/user');
    const file = await saveLogin({ origin, token }, env);
    terminal.note(`Logged in at ${origin} as ${String(user['email'])}; saved in ${file}`);
    return 0;
  },
};
