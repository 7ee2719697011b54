import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

/** What the machine offers to reach others with; tests put their own resolver in its place. */
export interface Network {
  /** All addresses of a name, as the system's resolver orders them. */
  lookup(host: string): Promise<readonly string[]>;
  /** Opens a connection to an address; never looks anything up. */
  open(address: string, port: number): Socket;
  /** The addresses of this very machine. */
  own(): readonly string[];
  /** Who signs the certificates of the hosts; those that Node trusts unless given. */
  readonly authorities?: string;
}

/** The machine's own network. Nothing here looks at the environment, so a proxy named there is not used (threats N5). */
export const systemNetwork: Network = {
  lookup: async (host) =>
    (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address),
  open: (address, port) =>
    connect({
      host: address,
      port,
      autoSelectFamily: false,
      // Node asks it for names alone; should a name ever come so far, it leads nowhere.
      lookup: (_host, _options, done) => done(new Error('no names here'), ''),
    }),
  own: () =>
    Object.values(networkInterfaces()).flatMap((one) => one?.map(({ address }) => address) ?? []),
};
