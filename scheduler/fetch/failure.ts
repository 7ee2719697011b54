import { AppError, type ErrorCode } from '../../engine/core/errors.js';

/**
 * Why bytes did not come. Its words are the server's own: nothing that the other host sent, and no address that a name
 * led to, ever becomes part of a message (threats N9).
 */
export class FetchFailure extends AppError {
  /** May be over the next time. */
  readonly isPassing: boolean;
  /** How long the host asked to wait. */
  readonly waitMs: number;

  constructor(code: ErrorCode, message: string, retry: { readonly waitMs?: number } | 'never') {
    super(code, message);
    this.name = 'FetchFailure';
    this.isPassing = retry !== 'never';
    this.waitMs = retry === 'never' ? 0 : (retry.waitMs ?? 0);
  }
}

/** What will be the same the next time. */
export function final(message: string, code: ErrorCode = 'input'): FetchFailure {
  return new FetchFailure(code, message, 'never');
}

/** What may be better the next time. */
export function passing(message: string, waitMs = 0): FetchFailure {
  return new FetchFailure('input', message, { waitMs });
}

/** The address, or one that its name leads to, is not for this server to open. */
export function notAllowed(): FetchFailure {
  return final('address not allowed', 'forbidden');
}

/** A time budget is used up. */
export function overdue(what: string, ms: number, budget: string): FetchFailure {
  return new FetchFailure('budget', `${what} within ${ms / 1000} s (budget ${budget})`, {});
}

/**
 * What went wrong below HTTP, by the system's code; the system's own text may hold an address. What has no code is a bug,
 * and thrown again.
 */
export function networkFailure(error: unknown): FetchFailure {
  if (error instanceof FetchFailure) return error;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') throw error;
  const known = networkReasons.find(([pattern]) => pattern.test(code));
  if (known !== undefined) return known[2] ? passing(known[1]) : final(known[1]);
  return passing('the connection failed');
}

const networkReasons: readonly (readonly [RegExp, string, isPassing: boolean])[] = [
  [/^(ENOTFOUND|ENODATA|EAI_NONAME)$/, 'its host is not known', false],
  [/^(EAI_|ESERVFAIL|EREFUSED$|ETIMEOUT$)/, 'its host cannot be looked up', true],
  [/^ECONNREFUSED$/, 'the host refused the connection', true],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection broke off', true],
  [/^ETIMEDOUT$/, 'the connection timed out', true],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'the host cannot be reached', true],
  [/^HPE_HEADER_OVERFLOW$/, 'its headers are too large (budget fetchHeaderBytes)', false],
  [/^HPE_/, 'its answer is no HTTP', false],
  [
    /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/,
    'its certificate is not valid',
    false,
  ],
  [/^(ERR_SSL_|EPROTO$|ERR_TLS_)/, 'no secure connection could be made', false],
];
