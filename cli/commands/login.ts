import { type Client, openClient } from '../client.js';
import { type Command, UsageError } from '../command.js';
import { baseUrlOf, saveLogin } from '../remote.js';
import { readOptions } from './options.js';

/**
 * `strandlake login`: checks address and token, or password, with the server and saves address and token for the commands that work through
 * a server.
 */
export const login: Command = {
  name: 'login',
  usage:
    'login <url> --token <token>   (or the token in STRANDLAKE_TOKEN)   or   login <url> --email <email>   (asks for the password)',
  help: 'checks token or password with the server at <url>, and saves address and token for later commands',
  async run({ args, env, terminal }) {
    const options = { token: { type: 'string' }, email: { type: 'string' } } as const;
    const { values, positionals } = readOptions(args, options, { min: 1, max: 1 });
    const origin = baseUrlOf(positionals[0]);
    if (origin === undefined) throw new UsageError('the address of the server is missing');
    const { signal } = new AbortController();
    const { email } = values;
    const token =
      email === undefined
        ? (values.token ?? env['STRANDLAKE_TOKEN'])
        : await obtainToken(
            openClient(origin, '', signal),
            email,
            await terminal.secret('Password: '),
          );
    if (token === undefined) {
      throw new UsageError(
        '--token or --email is missing; the server prints a token at its first start, and token add makes more',
      );
    }
    const user = await openClient(origin, token, signal).get('/v1/user');
    const file = await saveLogin({ origin, token }, env);
    terminal.note(`Logged in at ${origin} as ${String(user['email'])}; saved in ${file}`);
    return 0;
  },
};

/** Exchanges a password for a token. */
async function obtainToken(client: Client, email: string, password: string): Promise<string> {
  return String((await client.post('/v1/auth/token', { email, password }))['token']);
}
