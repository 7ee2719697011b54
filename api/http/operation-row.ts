import type { NamedSchema } from './json-schema.js';

/** One operation of the interface, from which its route, its OpenAPI description and its entry in docs/coverage.md are made. */
export interface OperationRow {
  /** The id, `<resource>.<action>` or the action alone; the `operationId` in OpenAPI is made from it. */
  readonly id: string;
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** All spellings of the path; the documentation uses the first. */
  readonly paths: readonly [string, ...string[]];
  /** The HTTP status code of a successful answer. */
  readonly status: number;
  readonly tag: string;
  readonly summary: string;
  /** The parameters of the paths, without those that name one of the resources listed at the path before them. */
  readonly pathParams?: Readonly<Record<string, RequestParameter>>;
  readonly query?: QueryDeclaration;
  readonly body?: NamedSchema | RawContent;
  /**
   * The schema of those members of the body that the handler checks and answers one by one, so that a mistake in one member refuses only
   * that member.
   */
  readonly answeredApart?: NamedSchema;
  readonly answer: NamedSchema | ListAnswer | RawContent;
}

/** A parameter of a path or of a query string. */
export interface RequestParameter {
  readonly description: string;
  /** An example of the value as it stands in an address; absent only if the server refuses every value. */
  readonly example?: string | undefined;
  readonly required?: boolean;
  /** The values of other parameters without which this one has no effect. */
  readonly with?: Readonly<Record<string, string>>;
}

/**
 * The query parameters of an operation. One that has only a description has the example of the field of that name in the answer or in the
 * listed resources; `sameAs` declares another name of a parameter.
 */
type QueryDeclaration = Readonly<
  Record<string, RequestParameter | string | { readonly sameAs: string }>
>;

/** A body or an answer that is not JSON with a declared schema. */
export interface RawContent {
  readonly description: string;
  /** An example for each media type that the content may have, or the beginning of one; none if the body is empty. */
  readonly examples: Readonly<Record<string, string>>;
}

/** Declares an answer without a body. */
export function emptyAnswer(description: string): RawContent {
  return { description, examples: {} };
}

/** The envelope of a list (contract 3.1). */
export interface ListAnswer {
  readonly listOf: NamedSchema;
}

/** An operation as a resource declares it: without the id; unless given, the status is 200 and the tag that of the resource. */
export type OperationDeclaration = Omit<OperationRow, 'id' | 'status' | 'tag'> & {
  readonly status?: number;
  readonly tag?: string;
};

/** Declares the operations of a resource; their ids are `<resource>.<key>`, or the key alone without a resource. */
export function declareOperations<K extends string>(
  resource: string,
  tag: string,
  declarations: Readonly<Record<K, OperationDeclaration>>,
): Readonly<Record<K, OperationRow>> {
  const entries = Object.entries(declarations) as [K, OperationDeclaration][];
  return Object.fromEntries(
    entries.map(([key, declaration]) => [
      key,
      { tag, status: 200, ...declaration, id: resource === '' ? key : `${resource}.${key}` },
    ]),
  ) as Record<K, OperationRow>;
}

/** The query parameters by which a list is read in pages. */
export const pagingParams = {
  limit: { description: 'Page size, 1 to 10,000.', example: '10' },
  page: { description: 'Page number, from 1.', example: '1' },
  offset: { description: 'Number of rows to skip; takes precedence over page.', example: '0' },
};

/** The six usual operations on a resource. */
type CrudAction = 'create' | 'list' | 'get' | 'put' | 'patch' | 'delete';
export type CrudOperations = Readonly<Record<CrudAction, OperationRow>>;

/** The data from which the usual operations on a resource are described. */
interface CrudDescription {
  readonly tag: string;
  /** The path of the list, for example `/v2/vaults`. */
  readonly path: string;
  /** All spellings of the path of one resource; `<path>/:id` by default. */
  readonly paths?: readonly [string, ...string[]];
  /** The resource with its article, for example `a vault`. */
  readonly noun: string;
  readonly resource: {
    readonly schema: NamedSchema;
    readonly createSchema: NamedSchema;
    readonly updateSchema: NamedSchema;
  };
  /** The query parameters of the list, except those of paging. */
  readonly query: QueryDeclaration;
  /** Summaries that replace the general ones of the usual operations; PUT has that of `patch`, and `put` has no effect. */
  readonly summaries?: Partial<Readonly<Record<CrudAction, string>>>;
}

/** Describes the six usual operations on a resource. */
export function crudOperations(name: string, description: CrudDescription): CrudOperations {
  const { tag, path, noun, resource, query, summaries = {} } = description;
  const answer = resource.schema;
  const resourcePaths = description.paths ?? ([`${path}/:id`] as const);
  const updateSummary = summaries.patch ?? updateDescription;
  return declareOperations(name, tag, {
    create: {
      method: 'POST',
      paths: [path],
      summary: summaries.create ?? `Creates ${noun}.`,
      body: resource.createSchema,
      status: 201,
      answer,
    },
    list: {
      method: 'GET',
      paths: [path],
      summary: summaries.list ?? `Lists what the user may read.`,
      query: { ...query, ...pagingParams },
      answer: { listOf: answer },
    },
    get: {
      method: 'GET',
      paths: resourcePaths,
      summary: summaries.get ?? `Returns ${noun}.`,
      answer,
    },
    put: {
      method: 'PUT',
      paths: resourcePaths,
      summary: updateSummary,
      body: resource.updateSchema,
      answer,
    },
    patch: {
      method: 'PATCH',
      paths: resourcePaths,
      summary: updateSummary,
      body: resource.updateSchema,
      answer,
    },
    delete: {
      method: 'DELETE',
      paths: resourcePaths,
      summary: summaries.delete ?? `Deletes ${noun} and returns it as it was.`,
      answer,
    },
  });
}

/** The summary of the operations PUT and PATCH, unless a resource declares another one. */
export const updateDescription = 'Changes the given keys; PUT and PATCH do the same.';

/** Whether a path matches a pattern, in which `:name` stands for one segment of the path. */
export function matchesPath(pattern: string, path: string): boolean {
  const patternParts = pattern.split('/');
  const pathParts = path.split('/');
  return (
    patternParts.length === pathParts.length &&
    patternParts.every((part, i) =>
      part.startsWith(':') ? pathParts[i] !== '' : part === pathParts[i],
    )
  );
}
