import type { ApiReply, ApiRequest } from './api-request.js';

/**
 * Returns the value of a preference in the header `Prefer` of a request, such as `strict` in `handling=strict` (RFC 7240, section 2);
 * undefined if the request does not have it, or if it has no value.
 */
export function preferenceOf({ headers }: ApiRequest, name: string): string | undefined {
  const { prefer } = headers;
  if (prefer === undefined) return undefined;
  const parts = [prefer].flat().join(',').split(/[,;]/);
  const pairs = parts.map((part) => part.split('=').map((one) => one.trim()));
  return pairs.find(([key]) => key?.toLowerCase() === name)?.[1]?.replaceAll('"', '');
}

/** Adds a preference to those that the answer says were followed. */
export function reportAppliedPreference(reply: ApiReply, preference: string): void {
  const earlierPreferences = reply.getHeader('Preference-Applied') ?? [];
  reply.header('Preference-Applied', [earlierPreferences, preference].flat().join(', '));
}
