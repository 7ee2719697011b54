import type { IncomingHttpHeaders } from 'node:http';
import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import { AppError, type ErrorCode } from '../../engine/core/errors.js';

/**
 * Why a fetch failed. Messages are written by this server alone: they contain nothing that the other host sent except its status, sizes and
 * checksums, and no address that a name resolved to (threat N9).
 */
export class FetchFailure extends AppError {
  /** Whether a retry may succeed. */
  readonly isTransient: boolean;
  /** The milliseconds that the host asked to wait before a retry; 0 if it did not. */
  readonly retryAfterWaitMs: number;

  constructor(code: ErrorCode, message: string, retry: { readonly waitMs?: number } | 'never') {
    super(code, message);
    this.name = 'FetchFailure';
    this.isTransient = retry !== 'never';
    this.retryAfterWaitMs = retry === 'never' ? 0 : (retry.waitMs ?? 0);
  }
}

/** Returns a failure after which a retry cannot succeed. */
export function permanentFailure(message: string, code: ErrorCode = 'input'): FetchFailure {
  return new FetchFailure(code, message, 'never');
}

/** Returns a failure after which a retry may succeed. */
export function transientFailure(message: string, waitMs = 0): FetchFailure {
  return new FetchFailure('input', message, { waitMs });
}

/** Returns the failure for a URL whose address, or an address to which its host name resolves, the server may not connect to. */
export function addressNotAllowedFailure(): FetchFailure {
  return permanentFailure('address not allowed', 'forbidden');
}

/**
 * Returns the failure for an expired timeout: `missing` says what did not happen within `ms` milliseconds, as in `its host sent no answer`.
 */
export function timeoutFailure(missing: string, ms: number): FetchFailure {
  const limit = ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 1000} s`;
  const text = `${missing} within ${limit}, the longest that is waited: try again later, or ${uploadInsteadAdvice}`;
  return new FetchFailure('budget', text, {});
}

const uploadInsteadAdvice = 'upload the file and import it by object_id';

/**
 * Translates a system error by its code, because its own message may contain an address. An error without a code is a bug and is rethrown.
 */
export function networkFailure(error: unknown): FetchFailure {
  if (error instanceof FetchFailure) return error;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') throw error;
  const knownReason = networkErrorReasons.find(([pattern]) => pattern.test(code));
  if (knownReason !== undefined)
    return knownReason[2] ? transientFailure(knownReason[1]) : permanentFailure(knownReason[1]);
  return transientFailure('the connection failed');
}

/**
 * Returns the failure for a response whose status is neither that of a redirect nor one that the request allows; 408, 429 and 5xx are
 * transient.
 */
export function statusFailure(status: number, headers: IncomingHttpHeaders): FetchFailure {
  const message = `the host answered with status ${status}`;
  const isTransient = status === 408 || status === 429 || (status >= 500 && status <= 599);
  return isTransient
    ? transientFailure(message, retryAfterMs(headers['retry-after']))
    : permanentFailure(message);
}

/**
 * Parses `Retry-After` (RFC 9110, section 10.2.3), a number of seconds or a date in the preferred format, into milliseconds to wait; 0 for
 * anything else.
 */
export function retryAfterMs(header: string | undefined, now = Date.now()): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} /.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}

const networkErrorReasons: readonly (readonly [RegExp, string, isTransient: boolean])[] = [
  [/^(ENOTFOUND|ENODATA|EAI_NONAME)$/, 'its host is not known', false],
  [/^(EAI_|ESERVFAIL|EREFUSED$|ETIMEOUT$)/, 'its host cannot be looked up', true],
  [/^ECONNREFUSED$/, 'the host refused the connection', true],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection broke off', true],
  [/^ETIMEDOUT$/, 'the connection timed out', true],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'the host cannot be reached', true],
  [
    /^HPE_HEADER_OVERFLOW$/,
    `its host sent headers of more than ${byteSizeText(budgets.fetchHeaderBytes)}, the most that are read: ${uploadInsteadAdvice}`,
    false,
  ],
  [/^HPE_/, 'its answer is not HTTP', false],
  [
    /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/,
    'its certificate is not valid',
    false,
  ],
  [/^(ERR_SSL_|EPROTO$|ERR_TLS_)/, 'no secure connection could be made', false],
];
