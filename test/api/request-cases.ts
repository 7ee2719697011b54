import { readFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import type { Client } from './server.js';

/** Returns the cases in a file: one per line, without empty lines and lines that begin with `#`. */
export function readCaseLines(file: string): readonly string[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/**
 * Runs a case of the form `[client] METHOD path [body] ==> status [part of the answer]`, where `$NAME` stands for the value of that name in
 * `valuesByName`. If the case names no client, the first client sends the request.
 */
export async function expectRequestCase(
  line: string,
  clients: Readonly<Record<string, Client>>,
  valuesByName: Readonly<Record<string, unknown>>,
): Promise<void> {
  const filledLine = line.replaceAll(/\$([A-Z]\w*)/g, (_, name: string) =>
    String(valuesByName[name]),
  );
  const match = /^(?:([a-z]+) )?([A-Z]+) (\S+)( .*)? ==> (\d+)(?: (.*))?$/.exec(filledLine)!;
  const [, name, method, path, body, status, expectedPart] = match as unknown as [string, string | undefined, string, string, string | undefined, string, string | undefined]; // prettier-ignore
  const client = name === undefined ? Object.values(clients)[0]! : clients[name]!;
  const sentBody: unknown = body === undefined ? undefined : JSON.parse(body);
  const answer = await client.call(method, path, sentBody);
  expect([answer.text.slice(0, 300), answer.status]).toEqual([answer.text.slice(0, 300), Number(status)]); // prettier-ignore
  if (expectedPart !== undefined)
    expect(JSON.parse(answer.text)).toMatchObject(JSON.parse(expectedPart) as object);
}
