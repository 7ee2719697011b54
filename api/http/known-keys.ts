import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { AppError } from '../../engine/core/errors.js';
import { didYouMean, KnownNames, type Synonyms } from '../../engine/core/suggestion.js';
import { accessMetadataKey, type AccessRule } from './access-rule.js';
import { AppContext } from './app-context.js';
import { isObject } from './form.js';
import { operationMetadataKey } from './idempotency.interceptor.js';
import { formatLogLine } from '../../engine/core/server-log.js';
import type { OperationRow } from './operation-row.js';
import { preferenceOf, reportAppliedPreference } from './preferences.js';
import type { ApiReply, ApiRequest } from './api-request.js';
import type { NamedSchema, Schema } from './json-schema.js';

/*
 * The server tells clients which keys of a request it ignores. Clients send keys of their own (contract 1.2), so an unknown key is an error
 * only if the request has `Prefer: handling=strict` (RFC 7240), or if its value is not null and it looks like a misspelled key, is a
 * synonym of a key (`keySynonyms`) or stands in an object that admits no others. The header `Ignored-Keys` names the keys that are ignored.
 */

/** The keys that a part of a request may have. */
interface KeyRules {
  /** The keys that have an effect, each with the rules of its value; null if the value has no keys that are checked. */
  readonly keys: ReadonlyMap<string, KeyRules | null>;
  /** Keys that answers show; a request may repeat them without effect. */
  readonly readOnly: ReadonlySet<string>;
  /** Whether a key that is in neither `keys` nor `readOnly` is an error even if it resembles none of them, unless its value is null. */
  readonly isClosed: boolean;
  /** The rules of the keys of each member, if the value is a list; otherwise null. */
  readonly items: KeyRules | null;
}

/** Checks the keys of requests against the declarations of their operations. */
export class KnownKeys {
  readonly #operations: Readonly<Record<string, OperationRow>>;
  readonly #schemaByRef: ReadonlyMap<string, NamedSchema>;
  readonly #rules = new Map<NamedSchema, KeyRules | null>();
  readonly #parameterRules = new Map<OperationRow, KeyRules>();

  constructor(operations: Readonly<Record<string, OperationRow>>, schemas: readonly NamedSchema[]) {
    this.#operations = operations;
    this.#schemaByRef = new Map(schemas.map((one) => [`#/components/schemas/${one.name}`, one]));
  }

  /**
   * Checks the keys of the query string and of a JSON body. Returns the keys that are ignored; throws a 400 if an unknown key is an error.
   */
  checkRequest(operation: string, request: ApiRequest): readonly string[] {
    const row = this.#operations[operation];
    if (row === undefined) throw new Error(`no operation ${operation}`);
    const check = new KeyCheck(prefersStrictHandling(request));
    check.checkValue(request.query, this.#parameterRulesOf(row), []);
    const { body, answeredApart } = row;
    if (body === undefined) check.checkValue(request.body, noKeyRules, []);
    else if (!('examples' in body))
      check.checkValue(request.body, this.#rulesOf(body, answeredApart), []);
    return check.ignoredKeysOrThrow();
  }

  /** Checks the keys of a part of a body that the handler answers separately; returns and throws as `checkRequest` does. */
  checkPart(schema: NamedSchema, value: unknown, request: ApiRequest): readonly string[] {
    const check = new KeyCheck(prefersStrictHandling(request));
    check.checkValue(value, this.#rulesOf(schema), []);
    return check.ignoredKeysOrThrow();
  }

  #parameterRulesOf(row: OperationRow): KeyRules {
    let rules = this.#parameterRules.get(row);
    if (rules === undefined) this.#parameterRules.set(row, (rules = parameterRules(row)));
    return rules;
  }

  #rulesOf(schema: NamedSchema, answeredApart?: NamedSchema): KeyRules | null {
    if (schema === answeredApart) return null;
    const cachedRules = this.#rules.get(schema);
    if (cachedRules !== undefined) return cachedRules;
    const rules = this.#compile(schema.schema, answeredApart);
    const namedRules = rules && { ...rules, readOnly: new Set(schema.readOnly) };
    this.#rules.set(schema, namedRules);
    return namedRules;
  }

  #compile(schema: Schema, answeredApart?: NamedSchema): KeyRules | null {
    const { $ref, properties, items, allOf, anyOf, additionalProperties } = schema;
    if (typeof $ref === 'string') {
      const namedSchema = this.#schemaByRef.get($ref);
      return namedSchema ? this.#rulesOf(namedSchema, answeredApart) : null;
    }
    const partRules = [...((allOf ?? []) as Schema[]), ...((anyOf ?? []) as Schema[])]
      .map((part) => this.#compile(part, answeredApart))
      .filter((part) => part !== null);
    if (properties === undefined && items === undefined && partRules.length === 0) return null;
    const ownKeys = Object.entries((properties ?? {}) as Record<string, Schema>).map(
      ([key, member]) => [key, this.#compile(member, answeredApart)] as const,
    );
    return {
      keys: new Map([...partRules.flatMap((part) => [...part.keys]), ...ownKeys]),
      readOnly: new Set(partRules.flatMap((part) => [...part.readOnly])),
      isClosed: additionalProperties === false,
      items: items === undefined ? (partRules.find((part) => part.items)?.items ?? null) : this.#compile(items as Schema, answeredApart), // prettier-ignore
    };
  }
}

const noKeyRules: KeyRules = { keys: new Map(), readOnly: new Set(), isClosed: false, items: null };

function parameterRules({ query = {} }: OperationRow): KeyRules {
  const names = [...Object.keys(query), 'access_token'];
  return { ...noKeyRules, keys: new Map(names.map((name) => [name, null])) };
}

/** Whether the request has `Prefer: handling=strict` (RFC 7240, section 4.4). */
function prefersStrictHandling(request: ApiRequest): boolean {
  return preferenceOf(request, 'handling')?.toLowerCase() === 'strict';
}

type KeyPath = readonly (string | number)[];

/** The check of the keys of one request. */
class KeyCheck {
  readonly #isStrict: boolean;
  readonly #errors = new Map<string, string[]>();
  readonly #ignored: string[] = [];
  /**
   * For each set of rules, the names that can be suggested for a misspelt key. They are computed at the first unknown key and then reused,
   * because a body may have tens of thousands of unknown keys.
   */
  readonly #knownNames = new Map<KeyRules, KnownNames>();

  constructor(isStrict: boolean) {
    this.#isStrict = isStrict;
  }

  checkValue(value: unknown, rules: KeyRules | null, path: KeyPath): void {
    if (rules === null) return;
    if (Array.isArray(value)) {
      if (rules.items)
        value.forEach((member, i) => this.checkValue(member, rules.items, [...path, i]));
      return;
    }
    if (!isObject(value)) return;
    if (rules.items && rules.keys.size === 0) return this.#checkMembers(value, rules.items, path);
    for (const [key, member] of Object.entries(value)) {
      const keyRules = rules.keys.get(key);
      if (keyRules !== undefined) this.checkValue(member, keyRules, [...path, key]);
      else if (rules.readOnly.has(key)) this.#ignored.push(pathText([...path, key]));
      else this.#checkUnknownKey(key, member, rules, path);
    }
  }

  /**
   * Checks an object that a client sent in place of a list of objects: it is either the only element of the list, or has the elements as
   * members, keyed by name (contract 10.2).
   */
  #checkMembers(value: Readonly<Record<string, unknown>>, items: KeyRules, path: KeyPath): void {
    const isMember = Object.keys(value).some((key) => items.keys.has(key));
    if (isMember && !Object.values(value).every(isObject))
      return this.checkValue(value, items, path);
    for (const [key, member] of Object.entries(value))
      this.checkValue(member, items, [...path, key]);
  }

  #checkUnknownKey(key: string, member: unknown, rules: KeyRules, path: KeyPath): void {
    const isGiven = member !== null && member !== undefined;
    const knownNames =
      this.#knownNames.get(rules) ?? new KnownNames(rules.keys.keys(), keySynonyms);
    this.#knownNames.set(rules, knownNames);
    const suggestion = knownNames.suggestionFor(key);
    const isRefused = this.#isStrict || (isGiven && (rules.isClosed || suggestion !== undefined));
    if (!isRefused) {
      this.#ignored.push(pathText([...path, key]));
      return;
    }
    const [topKey = key] = path;
    const message = path.length === 0 ? 'Unknown key' : `Unknown key ${pathText([...path, key])}`;
    const advice = suggestion === undefined ? knownKeysText(rules) : didYouMean(suggestion);
    const errorKey = String(topKey).slice(0, 100);
    const messages = this.#errors.get(errorKey) ?? [];
    messages.push(`${message}.${advice}`);
    this.#errors.set(errorKey, messages);
  }

  ignoredKeysOrThrow(): readonly string[] {
    if (this.#errors.size === 0) return this.#ignored;
    const keyList = [...this.#errors.keys()].join(', ');
    throw new AppError('invalid', `unknown keys: ${keyList}`, Object.fromEntries(this.#errors));
  }
}

function knownKeysText({ keys }: KeyRules): string {
  return keys.size === 0 ? ' No keys are known here.' : ` Known keys: ${[...keys.keys()].join(', ')}.`; // prettier-ignore
}

/** Returns a path as messages and the header write it: `target_fields[0].titel`, in characters that a header may have. */
function pathText(path: KeyPath): string {
  return path
    .map((part, i) => {
      if (typeof part === 'number') return `[${part}]`;
      const name = encodeURIComponent(part.slice(0, 100).toWellFormed());
      return i === 0 ? name : `.${name}`;
    })
    .join('');
}

/** Names that other interfaces have for keys of this one, in lower case without separators. */
const keySynonyms: Synonyms = {
  where: ['filters'],
  filterby: ['filters'],
  conditions: ['filters'],
  sort: ['ordering'],
  sortby: ['ordering'],
  order: ['ordering'],
  orderby: ['ordering'],
  select: ['fields'],
  columns: ['fields'],
  includefields: ['fields'],
  exclude: ['exclude_fields'],
  omit: ['exclude_fields'],
  search: ['query'],
  querystring: ['query'],
  aggs: ['facets'],
  aggregations: ['facets'],
  groupby: ['facets'],
  top: ['limit'],
  take: ['limit'],
  perpage: ['limit'],
  maxresults: ['limit'],
  skip: ['offset'],
  startat: ['offset'],
  build: ['genome_build'],
  assembly: ['genome_build'],
  genome: ['genome_build'],
  name: ['filename'],
  type: ['object_type', 'data_type'],
  parent: ['parent_object_id', 'vault_parent_object_id'],
  parentid: ['parent_object_id', 'vault_parent_object_id'],
  folder: ['parent_object_id', 'vault_parent_object_id'],
  folderid: ['parent_object_id', 'vault_parent_object_id'],
  vault: ['vault_id'],
  fileid: ['object_id'],
  rows: ['data_records'],
  mode: ['commit_mode'],
};

/** The header that names the keys of a request that had no effect. */
const ignoredHeader = 'Ignored-Keys';

/** The maximum number of names that one check adds to the header `Ignored-Keys`; the debug log has all of them. */
const maxReportedKeys = 30;

/** Adds the names of ignored keys to the header `Ignored-Keys` of the answer and writes them to the debug log. */
export function reportIgnoredKeys(
  { config, log }: AppContext,
  request: ApiRequest,
  reply: ApiReply,
  ignored: readonly string[],
): void {
  if (ignored.length === 0) return;
  const earlierKeys = [reply.getHeader(ignoredHeader) ?? []].flat().map(String);
  const shownKeys = [...earlierKeys, ...ignored.slice(0, maxReportedKeys), ...(ignored.length > maxReportedKeys ? ['...'] : [])]; // prettier-ignore
  reply.header(ignoredHeader, shownKeys.join(', '));
  if (config.log !== 'debug') return;
  log(formatLogLine('ignored keys', { request: request.id, keys: ignored.join(', ') }));
}

/**
 * Refuses unknown keys in every request to a handler that is not public, or reports the keys that have no effect, before the handler runs
 * and after its access was checked.
 */
@Injectable()
export class KnownKeysGuard implements CanActivate {
  constructor(
    private readonly context: AppContext,
    private readonly knownKeys: KnownKeys,
  ) {}

  canActivate(execution: ExecutionContext): boolean {
    const handler = execution.getHandler();
    const rule: AccessRule | undefined = Reflect.getMetadata(accessMetadataKey, handler);
    const operation: string | undefined = Reflect.getMetadata(operationMetadataKey, handler);
    if (operation === undefined || rule?.kind === 'public') return true;
    const http = execution.switchToHttp();
    const request = http.getRequest<ApiRequest>();
    const reply = http.getResponse<ApiReply>();
    if (prefersStrictHandling(request)) reportAppliedPreference(reply, 'handling=strict');
    reportIgnoredKeys(
      this.context,
      request,
      reply,
      this.knownKeys.checkRequest(operation, request),
    );
    return true;
  }
}
