import type { Allowed } from '../../engine/core/allowed-addresses.js';
import { final, networkFailure, overdue } from './failure.js';
import type { Manners } from './hosts.js';
import { isRedirect, redirected } from './redirect.js';
import { get, type Answer, type RequestContext } from './request.js';
import { checkedAddresses } from './resolve.js';
import { untilAborted, within } from './abort.js';

/** On whose behalf, and under which rules, a URL is visited. */
export interface Visit extends RequestContext {
  readonly accountId: number;
  readonly allowed: readonly Allowed[];
  readonly manners: Manners;
}

/**
 * Asks for a URL and follows where it leads; every hop is looked up, checked and connected to as if it stood in the
 * manifest. No credentials are sent to anybody, so none can leak to the next host.
 */
export async function visit(
  start: URL,
  headers: Readonly<Record<string, string>>,
  context: Visit,
  use: (answer: Answer) => Promise<void>,
): Promise<void> {
  const { limits } = context;
  let at = start;
  for (let hop = 0; ; hop += 1) {
    let next: URL | undefined;
    await visitOne(at, headers, context, async (answer) => {
      if (isRedirect(answer.status)) next = redirected(at, answer.headers.location);
      else await use(answer);
    });
    if (next === undefined) return;
    if (hop === limits.redirects) {
      throw final(`more than ${limits.redirects} redirects (budget fetchRedirects)`, 'budget');
    }
    at = next;
  }
}

async function visitOne(
  url: URL,
  headers: Readonly<Record<string, string>>,
  context: Visit,
  use: (answer: Answer) => Promise<void>,
): Promise<void> {
  const { network, allowed, manners, signal, accountId } = context;
  await manners.pace(accountId, signal);
  const { connectMs } = context.limits;
  const lookup = within(checkedAddresses(url, network, allowed), connectMs, () =>
    overdue('no address of its host', connectMs, 'fetchConnectMs'),
  );
  const addresses = await untilAborted(lookup, signal);
  let isAnswered = false;
  for (const [index, address] of addresses.entries()) {
    try {
      await manners.visit(url.host, address, signal, () =>
        get(url, address, headers, context, (answer) => {
          isAnswered = true;
          return use(answer);
        }),
      );
      return;
    } catch (error) {
      // Another address of the same name may be reachable where this one is not.
      const mayTryNext = !isAnswered && !signal.aborted && index + 1 < addresses.length;
      if (!mayTryNext || !networkFailure(error).isPassing) throw error;
    }
  }
}
